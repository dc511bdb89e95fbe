#include "weft/cluster.h"

#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/fd.h"
#include "weft/amounts.h"
#include "weft/iproute.h"
#include "weft/machine.h"
#include "weft/namespaces.h"
#include "weft/switch/echo.h"
#include "weft/switch/tap.h"
#include "weft/switch/tcp_buffers.h"

namespace weft {
namespace {

constexpr int bridge_host = 254;  // its number in every subnet; the nodes' begin with 1
constexpr std::int64_t bias_max_ns = 100'000;      // more is not the switch, but a busy machine
const std::string tap_queue = " txqueuelen 4096";  // frames; those that find it full are lost

std::string number(int value) { return std::to_string(value); }

// In tc's words.
std::string size(int bytes) {
    return bytes % 1024 == 0 ? number(bytes / 1024) + "kb" : number(bytes);
}

std::string ipv4(int link, int host) { return "10.77." + number(link) + "." + number(host); }
std::string ipv6(int link, int host) {
    return "fd77:6566:740" + number(link) + "::" + number(host);
}

std::string ipv6_network(int link) { return "fd77:6566:740" + number(link) + "::/64"; }

std::string node_name(int node) { return "node" + number(node); }
std::string bridge(int link) { return "br" + number(link); }
std::string interface(int link) { return "eth" + number(link); }
std::string bridge_end(int node, int link) { return node_name(node) + "-" + interface(link); }

bool kernel_has_ipv6() {
    int is_disabled = 1;
    std::ifstream("/proc/sys/net/ipv6/conf/all/disable_ipv6") >> is_disabled;
    return is_disabled == 0;
}

bool has_cubic() {
    std::ifstream list("/proc/sys/net/ipv4/tcp_available_congestion_control");
    for (std::string name; list >> name;) {
        if (name == "cubic") return true;
    }
    return false;
}

bool is_running(const Fd& control, const std::string& name) {
    ifreq request{};
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name.c_str());
    return ::ioctl(control.get(), SIOCGIFFLAGS, &request) == 0 &&
           (request.ifr_flags & IFF_RUNNING) != 0;
}

struct Commands {
    std::vector<std::string> ip;
    std::vector<std::string> tc;

    void address(const std::string& device, int link, int host, bool has_ipv6) {
        ip.push_back("address add " + ipv4(link, host) + "/24 dev " + device);
        if (has_ipv6) {  // nodad: usable at once
            ip.push_back("address add " + ipv6(link, host) + "/64 dev " + device + " nodad");
        }
    }
    // New connections over the device have this congestion control; the setting of a network may
    // not name all that the routes may.
    void control_congestion(const std::string& device, int link, int host, bool has_ipv6) {
        const std::string rest = " dev " + device + " proto kernel congctl cubic";
        ip.push_back("route replace " + ipv4(link, 0) + "/24 scope link src " + ipv4(link, host) +
                     rest);
        if (has_ipv6) ip.push_back("route replace " + ipv6_network(link) + " metric 256" + rest);
    }
    void cut_packets(const std::string& device, const ClusterOptions& options) {
        if (options.gso_bytes == 0) return;
        ip.push_back("link set dev " + device + " gso_max_size " + number(options.gso_bytes));
    }
    void limit(const std::string& device, const ClusterOptions& options) {
        cut_packets(device, options);
        if (options.rate.empty()) return;
        tc.push_back("qdisc add dev " + device + " root tbf rate " + options.rate + " burst " +
                     size(options.burst_bytes) + " latency 50ms");
    }
    Status run(int network = -1, const std::vector<int>& lent = {}) const {
        WEFT_RETURN_IF_NOT_OK(iproute("ip", ip, network, lent));
        return tc.empty() ? ok : iproute("tc", tc, network);
    }
};

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::build(const ClusterOptions& options) {
    std::unique_ptr<Cluster> cluster(new Cluster(options));
    WEFT_RETURN_IF_NOT_OK(leave_for_own_network());
    cluster->has_ipv6_ = kernel_has_ipv6();
    if (!cluster->has_ipv6_) {
        std::fprintf(stderr, "weft run: IPv6 is off here: the nodes have IPv4 addresses only\n");
    }
    cluster->has_sysfs_ = mount_own_sysfs();
    if (!cluster->has_sysfs_) {
        std::fprintf(stderr, "weft run: the nodes have the machine's /sys: %s\n",
                     std::strerror(errno));
    }
    WEFT_RETURN_IF_NOT_OK(cluster->make_networks());
    WEFT_RETURN_IF_NOT_OK(options.distance ? cluster->plug_into_switch() : cluster->lay_cables());
    for (int node = 0; node < options.nodes; ++node) {
        WEFT_RETURN_IF_NOT_OK(cluster->bring_up(node));
    }
    for (int node = 0; node < options.nodes; ++node) {
        WEFT_RETURN_IF_NOT_OK(cluster->wait_until_running(node));
    }
    if (options.distance) WEFT_RETURN_IF_NOT_OK(cluster->set_distance());
    WEFT_RETURN_IF_NOT_OK(cluster->guard_.start(cluster->networks_));
    return cluster;
}

Cluster::~Cluster() {
    switch_.finish();
    guard_.sweep();
    for (int network : networks_) ::close(network);
    if (agent_ >= 0) ::close(agent_);
}

Status Cluster::make_networks() {
    for (int node = 0; node <= options_.nodes; ++node) {
        const int network = node < options_.nodes ? new_network() : this_network();
        if (network < 0) {
            return failure(WEFT_REFUSED_UNSUPPORTED,
                           "cannot make the network namespace of node %d of %d: %s", node,
                           options_.nodes, std::strerror(errno));
        }
        networks_.push_back(network);
    }
    return ok;
}

Status Cluster::lay_cables() const {
    Commands commands;
    commands.ip.push_back("link set lo up");
    for (int link = 0; link < options_.links; ++link) {
        commands.ip.push_back("link add " + bridge(link) + " type bridge");
        commands.address(bridge(link), link, bridge_host, has_ipv6_);
        commands.ip.push_back("link set " + bridge(link) + " up");
        for (int node = 0; node < options_.nodes; ++node) {
            const std::string end = bridge_end(node, link);
            commands.ip.push_back("link add " + end + " type veth peer name " + interface(link) +
                                  " netns /proc/self/fd/" +
                                  number(networks_[static_cast<std::size_t>(node)]));
            commands.ip.push_back("link set " + end + " master " + bridge(link) + " up");
            commands.limit(end, options_);
        }
    }
    return commands.run(-1, networks_);
}

// The devices have the names that veth's have without a switch, the launcher's that of a bridge.
Status Cluster::plug_into_switch() {
    std::vector<SwitchPort> ports;
    Commands commands;
    commands.ip.push_back("link set lo up");
    for (int link = 0; link < options_.links; ++link) {
        for (int node = 0; node <= options_.nodes; ++node) {
            SwitchPort port;
            port.link = link;
            const bool is_launcher = node == options_.nodes;
            WEFT_RETURN_IF_NOT_OK(make_tap(networks_[static_cast<std::size_t>(node)],
                                           is_launcher ? bridge(link) : interface(link))
                                      .move_to(port.tap));
            ports.push_back(std::move(port));
        }
        commands.address(bridge(link), link, bridge_host, has_ipv6_);
        commands.ip.push_back("link set " + bridge(link) + " up" + tap_queue);
        if (has_cubic()) {
            commands.control_congestion(bridge(link), link, bridge_host, has_ipv6_);
        }
        commands.cut_packets(bridge(link), options_);
    }
    WEFT_RETURN_IF_NOT_OK(switch_.start(std::move(ports),
                                        {bits_per_second(options_.rate), options_.burst_bytes},
                                        options_.switch_core));
    return commands.run();
}

Status Cluster::bring_up(int node) const {
    Commands commands;
    commands.ip.push_back("link set lo up");
    for (int link = 0; link < options_.links; ++link) {
        commands.address(interface(link), link, node + 1, has_ipv6_);
        commands.ip.push_back("link set " + interface(link) + " up" +
                              (options_.distance ? tap_queue : ""));
        if (options_.distance && has_cubic()) {
            commands.control_congestion(interface(link), link, node + 1, has_ipv6_);
        }
        commands.limit(interface(link), options_);
    }
    return commands.run(networks_[static_cast<std::size_t>(node)]);
}

// The bias is measured with a short delay: it is the same with any.
Status Cluster::set_distance() {
    const Distance asked = *options_.distance;
    const std::int64_t buffer_bytes = tcp_buffer_bytes(bits_per_second(options_.rate), asked);
    bool has_buffers = true;
    for (int network : networks_) has_buffers &= raise_tcp_buffers(network, buffer_bytes);
    if (!has_buffers) {
        std::fprintf(stderr,
                     "weft run: TCP may not fill the links: the limits of its buffers "
                     "(net.ipv4.tcp_wmem, tcp_rmem) cannot be raised to %lld bytes on the nodes\n",
                     static_cast<long long>(buffer_bytes));
    }
    const std::int64_t tried_ns = std::min<std::int64_t>(asked.delay_ns, 1'000'000);
    WEFT_RETURN_IF_NOT_OK(switch_.adopt({tried_ns, 0, 0}, 0));
    const Echo echo = measure_echo(networks_.back(), networks_.front(), ipv4(0, 1));
    if (echo.half_round_trip_ns == 0) {
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "the launcher and node 0 do not reach each other through the switch");
    }
    report_.delay_ns = asked.delay_ns;
    report_.congestion = echo.congestion;
    report_.core = options_.switch_core;
    return switch_.adopt(
        asked, std::clamp<std::int64_t>(echo.half_round_trip_ns - tried_ns, 0, bias_max_ns));
}

SwitchReport Cluster::end_switch() {
    if (const std::optional<SwitchUse> use = switch_.finish()) {
        report_.is_complete = true;
        report_.bias_ns = use->bias_ns;
        report_.late_max_ns = use->counts.late_max_ns;
        report_.bytes = use->counts.bytes;
        report_.cpu_ns = use->cpu_ns;
        report_.elapsed_ns = use->elapsed_ns;
    }
    return report_;
}

// The kernel reports a link as running with a delay, and UCX ignores links that are not.
Status Cluster::wait_until_running(int node) const {
    const Fd control(socket_in(networks_[static_cast<std::size_t>(node)], SOCK_DGRAM));
    if (!control)
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot look at the links of node %d: %s", node,
                       std::strerror(errno));
    const std::int64_t deadline_ns = now_ns() + 10'000'000'000;
    for (int link = 0; link < options_.links; ++link) {
        while (!is_running(control, interface(link))) {
            if (now_ns() > deadline_ns)
                return failure(WEFT_REFUSED_UNSUPPORTED,
                               "the link %s of node %d was not up after 10 s",
                               interface(link).c_str(), node);
            ::usleep(200);
        }
    }
    return ok;
}

void Cluster::offer_links() const {
    if (options_.links == 1) return;
    std::string names = interface(0);
    for (int link = 1; link < options_.links; ++link) names += "," + interface(link);
    ::setenv("WEFT_INTERFACES", names.c_str(), 0);
}

bool Cluster::enter(int node) const {
    return enter_network(networks_[static_cast<std::size_t>(node)], node_name(node), has_sysfs_);
}

// A script that is called like ssh: a launcher passes options before an address.
std::string Cluster::agent_script(const std::vector<std::vector<int>>& cores) const {
    const std::string launcher = "/proc/" + number(::getpid());
    std::string script =
        "#!/bin/sh\n"
        "# [options of ssh] ADDRESS COMMAND...: runs the command in a node of this cluster.\n"
        "while :; do\n"
        "    case $1 in\n"
        "    --) shift; break ;;\n"
        "    -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;\n"
        "    -*) shift ;;\n"
        "    *) break ;;\n"
        "    esac\n"
        "done\n"
        "address=${1##*@}\n"
        "[ $# -eq 0 ] || shift\n"
        "case $address in\n";
    for (int node = 0; node < options_.nodes; ++node) {
        const std::size_t at = static_cast<std::size_t>(node);
        script += node_name(node);
        for (int link = 0; link < options_.links; ++link) {
            script += "|" + ipv4(link, node + 1);
            if (has_ipv6_) script += "|" + ipv6(link, node + 1);
        }
        script += ") set -- ";
        if (has_sysfs_) script += "--sysfs ";
        if (!cores[at].empty()) script += "--cores " + comma_list(cores[at]) + " ";
        script += "-- " + launcher + "/fd/" + number(networks_[at]) + " " + node_name(node) +
                  " \"${*:-exec sh}\" ;;\n";
    }
    script +=
        "*) echo \"weft: no node of this cluster has the address '$address'\" >&2; exit 255 ;;\n"
        "esac\n"
        "exec " +
        launcher + "/exe enter-node \"$@\"\n";
    return script;
}

Status Cluster::offer(const std::vector<std::vector<int>>& cores) {
    const std::string script = agent_script(cores);
    agent_ = ::memfd_create("weft-agent", MFD_CLOEXEC);
    if (agent_ < 0 ||
        ::write(agent_, script.data(), script.size()) != static_cast<ssize_t>(script.size())) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot write the agent of --exec-per-node: %s",
                       std::strerror(errno));
    }
    std::string nodes;
    for (int node = 0; node < options_.nodes; ++node) {
        nodes += (node > 0 ? "," : "") + ipv4(0, node + 1);
    }
    const std::string agent = "/proc/" + number(::getpid()) + "/fd/" + number(agent_);
    ::setenv("WEFT_CLUSTER_AGENT", agent.c_str(), 1);
    ::setenv("WEFT_CLUSTER_NODES", nodes.c_str(), 1);
    ::setenv("WEFT_CLUSTER_ADDRESS", ipv4(0, bridge_host).c_str(), 1);
    ::setenv("WEFT_CLUSTER_INTERFACE", bridge(0).c_str(), 1);
    ::setenv("WEFT_CLUSTER_SUBNET", (ipv4(0, 0) + "/24").c_str(), 1);
    offer_links();
    return ok;
}

}  // namespace weft
