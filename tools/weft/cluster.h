// An emulated cluster: every node is a network namespace with its own addresses and host name.
// Bridges in the launcher's own namespace connect the nodes, over links of a limited rate; if the
// nodes are a distance apart, a switch in a process of its own does. Not thread safe. The machine's
// own network is not touched. The nodes end with the last process in them, and Guard ends these
// processes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/guard.h"
#include "weft/switch/report.h"
#include "weft/switch/switch.h"

namespace weft {

inline constexpr int cluster_nodes_max = 250;
inline constexpr int cluster_links_max = 8;

struct ClusterOptions {
    int nodes = 0;      // 0: no cluster
    std::string rate;   // of each link and direction, in tc's words; empty: unlimited
    int gso_bytes = 0;  // gso_max_size of each link: the largest packet; 0: the system's default
    int burst_bytes = 128 * 1024;  // that a link passes at once after a pause, beyond its rate
    int links = 1;                 // per node, each with its own bridge and subnet
    std::optional<Distance> distance;
    int switch_core = -1;  // where the switch stays; -1: anywhere
};

class Cluster {
  public:
    // Moves this process into the bridges' namespace for good, even if it fails.
    static Result<std::unique_ptr<Cluster>> build(const ClusterOptions& options);
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    // Sets WEFT_INTERFACES, unless it is set, so that a rank of Weft uses all links of its node.
    void offer_links() const;

    // Ends the links of a cluster whose nodes are a distance apart, and says how they were.
    SwitchReport end_switch();

    // Moves the calling process, a child of the builder, into a node. False and errno on failure.
    bool enter(int node) const;

    // Sets environment variables that tell a launcher where the nodes are and how to start
    // processes there. These are bound to `cores[node]`; none: not bound. Call it once.
    Status offer(const std::vector<std::vector<int>>& cores);

  private:
    explicit Cluster(const ClusterOptions& options) : options_(options) {}
    Status make_networks();
    Status lay_cables() const;
    Status plug_into_switch();
    Status bring_up(int node) const;
    Status set_distance();
    Status wait_until_running(int node) const;
    std::string agent_script(const std::vector<std::vector<int>>& cores) const;

    const ClusterOptions options_;
    bool has_sysfs_ = false;
    bool has_ipv6_ = false;
    std::vector<int> networks_;  // the nodes', then the bridges'
    int agent_ = -1;             // a script without a name
    Switch switch_;
    SwitchReport report_;  // so far
    Guard guard_;
};

}  // namespace weft
