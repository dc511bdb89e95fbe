#include "communicator/own/check_schedules.h"

#include <algorithm>
#include <new>
#include <utility>

#include "communicator/communicator.h"
#include "schedule/check/check.h"
#include "schedule/pack.h"

namespace weft {

namespace {

// All ranks' schedules. The others wait for this rank's: if this rank runs out of memory, the
// communicator breaks.
Result<std::vector<Schedule>> swap_schedules(Communicator& communicator,
                                             std::vector<std::byte> mine,
                                             const std::vector<std::size_t>& sizes) try {
    const std::size_t ranks = sizes.size();
    const std::size_t largest = *std::ranges::max_element(sizes);
    mine.resize(largest);
    std::vector<std::byte> all(largest * ranks);
    WEFT_RETURN_IF_NOT_OK(
        allgather_and_wait(communicator, "schedule_check", mine.data(), all.data(), largest));

    // A rank may exit as soon as it has its verdict, so it first waits until all ranks have the
    // schedules. A failure in the meantime changes no verdict.
    const std::byte here{};
    std::vector<std::byte> all_here(ranks);
    const Status met =
        allgather_and_wait(communicator, "schedule_check", &here, all_here.data(), 1);
    if (!met.is_ok() && !met.is_broken()) return met;

    std::vector<Schedule> schedules;
    for (std::size_t r = 0; r < ranks; ++r) {
        Result<Schedule> schedule = unpack(std::span(all).subspan(r * largest, sizes[r]),
                                           static_cast<Rank>(r), communicator.ranks());
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
} catch (const std::bad_alloc&) {
    return communicator.run_out_of_memory("schedule_check");
}

}  // namespace

Result<std::vector<Schedule>> collect_schedules(const OwnSchedule& own) {
    Communicator& communicator = own.communicator();
    WEFT_RETURN_IF_NOT_OK(communicator.check_starter());
    Keeping keeping(communicator);
    std::vector<std::byte> mine = pack(own.schedule());

    const std::size_t size = mine.size();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(communicator.ranks()));
    WEFT_RETURN_IF_NOT_OK(
        allgather_and_wait(communicator, "schedule_check", &size, sizes.data(), sizeof size));
    return swap_schedules(communicator, std::move(mine), sizes);
}

Status check_schedules(std::span<const Schedule> schedules) {
    const Verdict verdict = check(schedules);
    if (verdict.holds()) return ok;
    const Finding& first = verdict.findings.front();
    return failure(WEFT_REFUSED_ARGUMENT, "%s: %s", flaw_name(first.flaw), first.sentence.c_str());
}

}  // namespace weft
