// A random program of processes of several jobs, which this starts: CASE PATIENCE_SECONDS ["plant"].
// Ends with status 1 and a sentence when a result or an answer is wrong, or when a process hangs.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "conformance/forked_groups.h"
#include "support/random/public_calls.h"
#include "support/random/rank_run.h"
#include "support/random/watchdog.h"

namespace weft::test::random {
namespace {

// Communicators that were made before the program, by their members' bits.
using Early = std::map<unsigned, weft_comm>;

class GroupCalls final : public PublicCalls {
  public:
    GroupCalls(weft_comm all, Early early) : PublicCalls(all), early_(std::move(early)) {}

    weft_status comm_group(const std::vector<int>& members, weft_comm* made) override {
        GroupPlace place(members);
        const auto found = early_.find(place.bits());
        if (found == early_.end()) return make_group(place, made);
        *made = found->second;
        early_.erase(found);
        return WEFT_OK;
    }

  private:
    Early early_;
};

// The seed decides which processes are jobs of their own, and in which order pairs and all of them
// meet: so, who shares a job.
GroupCalls meet(const Case& c) {
    Prng random(c.seed * 17 + 3);
    std::vector<Members> groups(1);
    for (int process = 0; process < c.ranks; ++process) {
        groups[0].push_back(process);
        if (random.one_in(4) && process == world_rank) EXPECT(weft_init() == WEFT_OK);
    }
    for (int process = 1; process < c.ranks; ++process)
        if (!random.one_in(3)) groups.push_back({process - 1, process});
    for (std::size_t i = groups.size(); i > 1; --i)
        std::swap(groups[i - 1], groups[random.below(i)]);
    Early made;
    weft_comm all = WEFT_COMM_NULL;
    for (const Members& members : groups) {
        GroupPlace place(members);
        if (!place.is_member()) continue;
        weft_comm comm = WEFT_COMM_NULL;
        EXPECT(make_group(place, &comm) == WEFT_OK);
        if (place.ranks() == c.ranks)
            all = comm;
        else
            made[place.bits()] = comm;
    }
    return GroupCalls(all, std::move(made));
}

void play(const Case& c, const Program& program, int patience_s, bool plant) {
    GroupCalls calls = meet(c);
    RankRun run(calls, c, program,
                {.algorithms_forced = std::getenv("WEFT_ALGORITHM") != nullptr,
                 .may_poll = false,
                 .may_own = true,
                 .plant = plant});
    {
        Watchdog watchdog({&run}, patience_s, c.text());
        run.run();
    }
    if (!run.wrong().empty()) {
        std::fprintf(stderr, "wrong: %s\n", run.wrong().c_str());
        std::exit(1);
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

int main(int argc, char** argv) {
    Case c;
    if (argc < 3 || !Case::parse(argv[1], c) || c.ranks > processes_max) {
        std::fprintf(stderr, "usage: CASE PATIENCE_SECONDS [plant]\n");
        return 2;
    }
    const Program program = generate(c);
    const std::vector<pid_t> ids = fork_processes(c.ranks, [&](int) {
        setting = argv[1];
        alarm(100);
        play(c, program, std::atoi(argv[2]), argc > 3);
    });
    bool is_well = true;
    for (const pid_t id : ids) {
        int status = -1;
        EXPECT(waitpid(id, &status, 0) == id);
        is_well &= status == 0;
    }
    end_sharing();
    return is_well ? 0 : 1;
}

}  // namespace
}  // namespace weft::test::random

int main(int argc, char** argv) { return weft::test::random::main(argc, argv); }
