#include "process/members.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "transport/link_limit.h"

namespace weft {
namespace {

// Numbers that differ in few bits get contexts that differ in many (the finalizer of splitmix64).
std::uint64_t context_for(std::uint64_t number) {
    number ^= number >> 30;
    number *= 0xbf58476d1ce4e5b9u;
    number ^= number >> 27;
    number *= 0x94d049bb133111ebu;
    number ^= number >> 31;
    return LinkLimit::hashed_context(number);
}

// Those who may have the communicator, because they do not have the other one that keeps this rank
// from making it.
void tell_of_taken(Executor& executor, std::uint64_t context, std::span<const Rank> members,
                   const std::vector<Rank>& members_of_other) {
    std::vector<Rank> told;
    for (const Rank member : members) {
        if (std::ranges::find(members_of_other, member) == members_of_other.end())
            told.push_back(member);
    }
    if (told.empty()) return;
    executor.tell_of_taken(FailureNotices::reserve_telling(told.size()), context, told);
}

}  // namespace

Result<Communicator*> make_from_members(Process& process, Members members) {
    Group group;
    group.context = context_for(members.number);
    if (Communicator* other = process.find_context(group.context)) {
        tell_of_taken(process.executor(), group.context, members.ranks, other->group().members);
        return failure(WEFT_REFUSED_ARGUMENT,
                       "number = %llu is that of %s, or has the same hash; expected one that no "
                       "communicator has",
                       static_cast<unsigned long long>(members.number), other->name().c_str());
    }
    // Others may have the communicator already. If this rank cannot make it, it must be able to say
    // so.
    group.members.assign(members.ranks.begin(), members.ranks.end());
    auto telling = FailureNotices::reserve_telling(group.members.size());
    CommunicatorSettings settings = process.world().settings();
    settings.links = 0;
    try {
        Communicator& made = process.add(
            group, members.rank, "communicator " + std::to_string(members.number), settings);
        made.set_neighbors(std::move(members.neighbors));
        const Failure failed = made.group().broken;
        if (failed.code == WEFT_OK) return &made;
        // One of its ranks has died, or has broken it.
        const Status broken = made.broken_status("comm_from_members", failed);
        process.free(made);
        return broken;
    } catch (const std::bad_alloc&) {
        Executor& executor = process.executor();
        executor.break_unmade(std::move(telling), group.context, group.members);
        return process.world().broken_status("comm_from_members", executor.out_of_memory());
    }
}

}  // namespace weft
