#include "weft/switch/switch.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/cores.h"
#include "weft/background.h"

namespace weft {
namespace {

constexpr timeval patience{10, 0};  // until it has answered

// On the socket to the process. Its end asks for the use.
struct Order {
    Distance distance;
    std::int64_t bias_ns;
};

std::int64_t cpu_ns() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// Before programs that compute; else every time slice of theirs is a delay. Only root may, mostly.
void come_first() {
    sched_param priority{};
    priority.sched_priority = 1;
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        ::setpriority(PRIO_PROCESS, 0, PRIO_MIN);
    }
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}

[[noreturn]] void be_switch(Fd control, std::vector<SwitchPort> ports, LinkRate rate, int core,
                            pid_t launcher) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(0);  // it died before the line above
    std::vector<int> fds{control.get()};
    for (const SwitchPort& port : ports) fds.push_back(port.tap.get());
    go_to_background("weft-switch", std::move(fds));
    if (core >= 0) bind_to({core});
    come_first();

    Forwarder forwarder(std::move(ports), rate);
    std::int64_t cpu_before_ns = cpu_ns();
    std::int64_t begin_ns = now_ns();
    Order order;
    for (;;) {
        forwarder.run(control.get());
        if (::recv(control.get(), &order, sizeof order, 0) != sizeof order) break;
        forwarder.adopt(order.distance, order.bias_ns);
        cpu_before_ns = cpu_ns();
        begin_ns = now_ns();
    }
    const SwitchUse use{forwarder.counts(), forwarder.bias_ns(), cpu_ns() - cpu_before_ns,
                        now_ns() - begin_ns};
    ::send(control.get(), &use, sizeof use, MSG_NOSIGNAL);
    ::_exit(0);
}

}  // namespace

Status Switch::start(std::vector<SwitchPort> ports, LinkRate rate, int core) {
    int ends[2] = {-1, -1};
    const pid_t launcher = ::getpid();
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        control_ = Fd(ends[0]);
        Fd other(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0) be_switch(std::move(other), std::move(ports), rate, core, launcher);
    }
    if (pid_ > 0) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "cannot start the switch of the nodes: %s",
                   std::strerror(errno));
}

Status Switch::adopt(const Distance& distance, std::int64_t bias_ns) {
    const Order order{distance, bias_ns};
    if (::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL) == sizeof order) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "the switch of the nodes has ended: %s",
                   std::strerror(errno));
}

std::optional<SwitchUse> Switch::finish() {
    if (pid_ <= 0) return std::nullopt;
    ::setsockopt(control_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::shutdown(control_.get(), SHUT_WR);
    SwitchUse use;
    const bool is_told = ::recv(control_.get(), &use, sizeof use, 0) == sizeof use;
    const pid_t pid = std::exchange(pid_, -1);
    if (!is_told) return std::nullopt;  // it may have been reaped: nobody may signal this number
    ::waitpid(pid, nullptr, 0);
    return use;
}

}  // namespace weft
