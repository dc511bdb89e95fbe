#include "bench/waits/situation.h"

namespace weft::bench {

std::span<const Situation> situations() {
    using Kind = Situation::Kind;
    const std::vector<std::string> several = {"ibcast", "ialltoall", "iallreduce"};
    static const Situation list[] = {
        {Kind::late,
         "late",
         2,
         several,
         false,
         "64K,1M,4M",
         {0},
         "A late rank",
         "Rank 0 starts the operation and computes for 10 ms. Rank 1 comes 300 us later, starts it "
         "and waits.\nTimes: from the later start to the end of rank 1's wait."},
        {Kind::chain,
         "chain",
         4,
         {"ibcast"},
         true,
         "64K,1M",
         {0},
         "A chain",
         "Broadcast along the chain 0, 1, 2, 3. Rank 3 starts it and waits. The others start it, "
         "rank 0 after 5 ms,\nand compute for 60 ms. Times: from the last start to the end of rank "
         "3's wait."},
        {Kind::test,
         "test",
         0,
         several,
         false,
         "64K,1M,4M",
         {2, 20, 200},
         "Tests",
         "All ranks start the operation, and compute between calls of weft_test until it is "
         "complete. Times: from\nthe start to the end, of the slowest rank."},
        {Kind::skew,
         "skew",
         0,
         {"ibcast", "igather", "iallgather", "ialltoall", "iallreduce"},
         false,
         "64K,256K,1M,4M",
         {0},
         "Skewed starts",
         "Every rank comes at a random time, starts the operation, computes as long as the "
         "operation takes, and\nwaits. Times: from a rank's start to the end of its wait, of the "
         "slowest rank."},
    };
    return list;
}

Result<const Situation*> find_situation(const std::string& name) {
    std::string known;
    for (const Situation& situation : situations()) {
        if (name == situation.name) return &situation;
        known += known.empty() ? situation.name : std::string(", ") + situation.name;
    }
    return failure(WEFT_REFUSED_ARGUMENT, "situation = \"%s\"; expected one of %s", name.c_str(),
                   known.c_str());
}

}  // namespace weft::bench
