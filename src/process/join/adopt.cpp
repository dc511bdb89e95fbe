#include "process/join/adopt.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <span>
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
    std::uint64_t context = 0;
    DedicatedShare dedicated{};
};

Status check_announcements(const std::vector<Announcement>& records) {
    for (std::size_t r = 0; r < records.size(); ++r) {
        const auto rank = static_cast<Rank>(r);
        if (std::strcmp(records[r].job, records.front().job) != 0) {
            return failure_of_rank(
                WEFT_REFUSED_STATE, rank,
                "rank %d of the group is in another Weft job than its rank 0; expected one job, or "
                "no weft_init before",
                rank);
        }
        const auto earlier = std::span(records).first(r);
        if (std::ranges::find(earlier, records[r].rank, &Announcement::rank) == earlier.end())
            continue;
        return failure_of_rank(WEFT_REFUSED_ARGUMENT, rank,
                               "rank %d of the group is rank %d of the job, and so is another one",
                               rank, records[r].rank);
    }
    if (records.front().context != 0) return ok;
    return failure_of_rank(WEFT_REFUSED_MEMORY, records.front().rank,
                           "rank %d of the job has no number left for a new communicator",
                           records.front().rank);
}

Communicator& make(Process& process, Rank rank, const std::vector<Announcement>& records,
                   Group group, Offer& offer) {
    std::vector<DedicatedShare> dedicated;
    for (const Announcement& record : records) dedicated.push_back(record.dedicated);
    group.dedicated = agreed_streams(dedicated);
    Communicator& made = process.add(std::move(group), rank, "communicator of an out-of-band group",
                                     process.world().settings());
    offer.keep(made.group().dedicated);
    return made;
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
    // What this rank needs to tell the others that it cannot make the communicator.
    const auto ranks = static_cast<std::size_t>(oob.ranks);
    auto telling = FailureNotices::reserve_telling(ranks);
    std::vector<Announcement> records(ranks);
    Group group;
    group.members.reserve(ranks);
    std::optional<Offer> offer;
    {
        Engine::Hold hold(process.engine());
        // Others may use the communicator before this rank has it.
        process.executor().expect_group();
        if (oob.rank == 0) mine.context = process.take_context(process.world().settings().links);
        offer.emplace(process);
        mine.dedicated = offer->dedicated();
    }
    Status status = OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                          std::as_writable_bytes(std::span(records)));

    Engine::Hold hold(process.engine());
    Communicator* made = nullptr;
    if (status.is_ok()) status = check_announcements(records);
    if (status.is_ok()) {
        group.context = records.front().context;
        for (const Announcement& record : records) group.members.push_back(record.rank);
    }
    try {
        if (status.is_ok()) made = &make(process, oob.rank, records, group, *offer);
    } catch (const std::bad_alloc&) {
        process.executor().break_unmade(std::move(telling), group.context, group.members);
        status = process.world().broken_status("comm_from_oob", process.executor().out_of_memory());
    }
    if (made != nullptr && made->group().broken.code != WEFT_OK) {
        status = made->broken_status("comm_from_oob", made->group().broken);
        process.free(*made);
    }
    offer.reset();
    process.executor().group_decided();
    if (!status.is_ok()) return status;
    return made;
}

}  // namespace weft
