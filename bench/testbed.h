// Where the ranks of a measurement run, and over which transport.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct Testbed {
    int ranks = 2;
    std::string bind = "core";  // as `weft run --bind`; ignored with `cores`
    std::string transport = "auto";
    int nodes = 0;  // of an emulated cluster; 0: all ranks on this machine
    std::string rate = "1gbit";
    int links = 1;           // of each node
    int gso_bytes = 0;       // as `weft run --gso`; 0: the system's default
    std::string cores = "";  // as `weft run --cores`; "": all

    // By rank, starting over at the end; empty: ranks are not bound to one core each.
    std::vector<int> cores_of_ranks() const;
    // ... which no other is bound to. For the launcher: a rank may only know its own core.
    bool gives_each_rank_a_core() const;
};

// As options of `weft bench`.
std::vector<std::string> arguments(const Testbed& testbed);

// The options of the emulated cluster, which `weft bench` and `weft run` share.
std::vector<std::string> cluster_arguments(const Testbed& testbed);

// "2 ranks on 2 emulated nodes, links of 1gbit"
std::string description(const Testbed& testbed);

}  // namespace weft::bench
