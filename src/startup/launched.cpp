// Startup under `weft run`: the launcher distributes the cards over a socket.
#include "base/clock.h"
#include "startup/kinds.h"
#include "startup/served.h"

namespace weft {
namespace {

// How long the launcher may take to report the end of a rank.
constexpr std::int64_t notice_patience_ns = 1'000'000'000;

class Launched final : public Served {
  public:
    Launched(const JobRank& place, Fd server) : Served(place, std::move(server)) {}

    // Starts another exchange, which fails if a rank has ended.
    Status cause_of(const Status& seen) override {
        const bool is_about_an_end =
            seen.code == WEFT_BROKEN_RANK || seen.code == WEFT_REFUSED_STATE;
        if (seen.rank < 0 || !is_about_an_end) return seen;
        const std::string sentence = last_detail();
        std::vector<std::string> cards;
        const Status told = swap("", notice_patience_ns, cards);
        if (!told.is_ok() && told.rank >= 0 && told.rank != seen.rank)
            return failure_of_rank(seen.code, told.rank,
                                   "rank %d ended before all ranks had joined the job", told.rank);
        return failure_of_rank(seen.code, seen.rank, "%s", sentence.c_str());
    }

  private:
    Status gone() const override {
        return failure(WEFT_REFUSED_STATE,
                       "the launcher (weft run) ended before all ranks had started");
    }
    Status foreign() const override {
        return failure(WEFT_REFUSED_STATE, "what answers on WEFT_STARTUP_FD = %d is not weft run",
                       server().get());
    }
};

}  // namespace

std::unique_ptr<Startup> startup_by_weft_run(const JobRank& place, int fd) {
    return std::make_unique<Launched>(place, Fd(fd));
}

}  // namespace weft
