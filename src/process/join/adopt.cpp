#include "process/join/adopt.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "process/offer.h"
#include "startup/oob.h"

namespace weft {
namespace {

// What each rank tells the others.
struct Announcement {
    char job[40] = {};
    Rank rank = -1;
    // As in a constructor's proposal (construct.cpp): rank 0 of the group chooses a new one.
    std::uint32_t context = 0;
    DedicatedShare dedicated{};
};

Status check_announcements(const std::vector<Announcement>& records) {
    std::set<Rank> members;
    for (std::size_t r = 0; r < records.size(); ++r) {
        const auto rank = static_cast<Rank>(r);
        if (std::strcmp(records[r].job, records.front().job) != 0) {
            return failure_of_rank(
                WEFT_REFUSED_STATE, rank,
                "rank %d of the group is in another Weft job than its rank 0; expected one job, or "
                "no weft_init before",
                rank);
        }
        if (members.insert(records[r].rank).second) continue;
        return failure_of_rank(WEFT_REFUSED_ARGUMENT, rank,
                               "rank %d of the group is rank %d of the job, and so is another one",
                               rank, records[r].rank);
    }
    if (records.front().context != 0) return ok;
    return failure_of_rank(WEFT_REFUSED_MEMORY, records.front().rank,
                           "rank %d of the job has no number left for a new communicator",
                           records.front().rank);
}

}  // namespace

Status agree_on_membership(const weft_oob& oob, Membership mine) {
    std::vector<Membership> all(static_cast<std::size_t>(oob.ranks));
    WEFT_RETURN_IF_NOT_OK(OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                                std::as_writable_bytes(std::span(all))));
    const auto left = std::ranges::find(all, Membership::left);
    if (left != all.end()) {
        const auto rank = static_cast<Rank>(left - all.begin());
        return failure_of_rank(WEFT_REFUSED_STATE, rank,
                               "rank %d of the group has finalized Weft; a process can join its "
                               "job only once",
                               rank);
    }
    const auto other = std::ranges::find_if(all, [&](auto m) { return m != all.front(); });
    if (other == all.end()) return ok;
    const auto rank = static_cast<Rank>(other - all.begin());
    const bool first_is = all.front() == Membership::member;
    return failure_of_rank(WEFT_REFUSED_STATE, rank,
                           "Weft is initialized in rank %d of the group but not in rank %d; "
                           "expected all or none",
                           first_is ? 0 : rank, first_is ? rank : 0);
}

Result<Communicator*> adopt(Process& process, const weft_oob& oob) {
    Announcement mine{.rank = process.rank()};
    WEFT_ASSERT(process.job().size() < sizeof mine.job);
    std::memcpy(mine.job, process.job().data(), process.job().size());
    std::optional<Offer> offer;
    {
        Engine::Hold hold(process.engine());
        // Others may use the communicator before this rank has it.
        process.executor().expect_group();
        if (oob.rank == 0) mine.context = process.take_context();
        offer.emplace(process);
        mine.dedicated = offer->dedicated();
    }
    std::vector<Announcement> records(static_cast<std::size_t>(oob.ranks));
    Status status = OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                          std::as_writable_bytes(std::span(records)));
    if (status.is_ok()) status = check_announcements(records);

    Engine::Hold hold(process.engine());
    Communicator* made = nullptr;
    if (status.is_ok()) {
        Group group;
        group.context = records.front().context;
        std::vector<DedicatedShare> dedicated;
        for (const Announcement& record : records) {
            group.members.push_back(record.rank);
            dedicated.push_back(record.dedicated);
        }
        group.dedicated = agreed_streams(dedicated);
        offer->keep(group.dedicated);
        made = &process.add(std::move(group), oob.rank, "communicator of an out-of-band group",
                            process.world().settings());
        if (const Failure failed = made->group().broken; failed.code != WEFT_OK) {
            status = made->broken_status("comm_from_oob", failed);
            process.free(*made);
        }
    }
    offer.reset();
    process.executor().group_decided();
    if (!status.is_ok()) return status;
    return made;
}

}  // namespace weft
