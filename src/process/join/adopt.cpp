#include "process/join/join.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "process/construct.h"
#include "process/process.h"
#include "startup/oob.h"

namespace weft {
namespace {

// What each rank tells the others.
struct Announcement {
    char job[40] = {};
    Rank rank = -1;
    std::uint64_t process = 0;
    // As in a constructor's proposal (construct.cpp): rank 0 of the group chooses a new one.
    std::uint64_t context = 0;
    std::uint64_t random_context = 0;  // for a group with processes of several jobs
    DedicatedShare dedicated{};
    // This rank has not joined a job, and why.
    weft_status refusal = WEFT_OK;
    char sentence[160] = {};
};

bool are_of_one_job(const std::vector<Announcement>& records) {
    return std::ranges::all_of(records, [&](const Announcement& record) {
        return std::strcmp(record.job, records.front().job) == 0;
    });
}

Status check_announcements(const std::vector<Announcement>& records) {
    for (std::size_t r = 0; r < records.size(); ++r) {
        const auto rank = static_cast<Rank>(r);
        if (records[r].refusal != WEFT_OK) {
            return failure_of_rank(records[r].refusal, rank, "rank %d of the group: %s", rank,
                                   records[r].sentence);
        }
        const auto earlier = std::span(records).first(r);
        const auto twice = std::ranges::find_if(earlier, [&](const Announcement& other) {
            return other.rank == records[r].rank && std::strcmp(other.job, records[r].job) == 0;
        });
        if (twice == earlier.end()) continue;
        return failure_of_rank(WEFT_REFUSED_ARGUMENT, rank,
                               "rank %d of the group is rank %d of the job, and so is another one",
                               rank, records[r].rank);
    }
    if (records.front().context != 0) return ok;
    return failure_of_rank(WEFT_REFUSED_MEMORY, records.front().rank,
                           "rank %d of the job has no number left for a new communicator",
                           records.front().rank);
}

Result<Communicator*> make(Process& process, const Group& group, Rank rank, Offer& offer,
                           std::unique_ptr<FailureNotices::Telling> telling) {
    const auto make_it = [&]() -> Communicator& {
        Communicator& made = process.add(group, rank, "communicator of an out-of-band group",
                                         process.world().settings());
        offer.keep(made.group().dedicated);
        return made;
    };
    return make_or_tell(process, nullptr, "comm_from_oob", group, std::move(telling), make_it);
}

// What the announcements mean for a group with processes of several jobs.
Result<Communicator*> adopt_announced(Process& process, const weft_oob& oob,
                                      const std::vector<Announcement>& records) {
    GroupAcrossJobs group{.context = records.front().random_context};
    for (const Announcement& record : records) group.processes.push_back(record.process);
    return adopt_across_jobs(process, oob, group);
}

// The group is there, or it will not be.
class Decided {
  public:
    explicit Decided(Executor& executor) : executor_(executor) {}
    ~Decided() { executor_.group_decided(); }
    Decided(const Decided&) = delete;
    Decided& operator=(const Decided&) = delete;

  private:
    Executor& executor_;
};

}  // namespace

Result<Communicator*> adopt(Process& process, const weft_oob& oob) {
    Announcement mine{.rank = process.rank(), .process = process.outside().process()};
    WEFT_ASSERT(process.job().size() < sizeof mine.job);
    std::memcpy(mine.job, process.job().data(), process.job().size());
    // What this rank needs to tell the others that it cannot make the communicator.
    const auto ranks = static_cast<std::size_t>(oob.ranks);
    auto telling = FailureNotices::reserve_telling(ranks);
    std::vector<Announcement> records(ranks);
    Group group;
    group.members.reserve(ranks);
    std::vector<DedicatedShare> dedicated;
    dedicated.reserve(ranks);
    std::optional<Offer> offer;
    process.engine().call([&] {
        // Others may use the communicator before this rank has it.
        process.executor().expect_group();
        if (oob.rank == 0) {
            mine.context = process.take_context(process.world().settings().links);
            mine.random_context = Process::random_context();
        }
        offer.emplace(process);
        mine.dedicated = offer->dedicated();
    });
    Status status = OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                          std::as_writable_bytes(std::span(records)));
    if (status.is_ok()) status = check_announcements(records);
    const bool is_across_jobs = status.is_ok() && !are_of_one_job(records);

    Result<Communicator*> adopted = process.engine().call([&]() -> Result<Communicator*> {
        const Decided decided(process.executor());
        if (!status.is_ok() || is_across_jobs) {
            offer.reset();
            return is_across_jobs ? Result<Communicator*>(static_cast<Communicator*>(nullptr))
                                  : status;
        }
        group.context = records.front().context;
        for (const Announcement& record : records) {
            group.members.push_back(record.rank);
            dedicated.push_back(record.dedicated);
        }
        group.dedicated = agreed_streams(dedicated);
        Result<Communicator*> made = make(process, group, oob.rank, *offer, std::move(telling));
        offer.reset();
        return made;
    });
    return is_across_jobs ? adopt_announced(process, oob, records) : adopted;
}

Status refuse_group(const weft_oob& oob, const Status& why) {
    Announcement mine{.refusal = why.code};
    std::snprintf(mine.sentence, sizeof mine.sentence, "%s", last_detail());
    std::vector<Announcement> records(static_cast<std::size_t>(oob.ranks));
    const KeptDetail kept;
    (void)OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                std::as_writable_bytes(std::span(records)));
    return why;
}

Result<Communicator*> adopt_job(Process& process) {
    return process.engine().call([&] {
        const Decided decided(process.executor());
        Offer offer(process);
        Group group;
        group.context = process.take_first_context();
        group.members = process.world().group().members;
        group.dedicated = process.job_dedicated();
        auto telling = FailureNotices::reserve_telling(group.members.size());
        return make(process, group, process.rank(), offer, std::move(telling));
    });
}

}  // namespace weft
