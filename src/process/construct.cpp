#include "process/construct.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "communicator/communicator.h"
#include "process/process.h"
#include "transport/link_limit.h"
#include "weft/comm.h"

namespace weft {
namespace {

// What each rank tells the others. The ranks agreed on version and environment when they joined the
// job; the constructor and its settings may differ.
struct Proposal {
    Construction call;
    // An unused context, from the parent's rank 0; others' are ignored. A rank's contexts
    // interleave with those of other ranks and never repeat, so every constructor gets its own,
    // even if threads make communicators from several parents at once and ranks call these
    // constructors in different orders. (The largest of all ranks' next free numbers could then be
    // the same for two.) All groups of a split share it: no rank is in two of them. 0: rank 0 has
    // none left.
    // (Of a group with processes of other jobs, whose numbers would repeat: it is random.)
    std::uint64_t context = 0;
    std::uint64_t settings = 0;  // CommunicatorSettings::digest(); 0: not understood
    DedicatedShare dedicated;
};

const char* name_of(Construction::Kind kind) {
    constexpr std::array names = {"comm_dup",        "comm_dup_with", "comm_split",
                                  "comm_split_node", "comm_cart",     "comm_graph"};
    return names[static_cast<std::size_t>(kind)];
}

// While it lives, messages of unknown contexts are kept: faster ranks may already use the new
// communicator.
class Expecting {
  public:
    explicit Expecting(Executor& executor) : executor_(executor) { executor_.expect_group(); }
    ~Expecting() { executor_.group_decided(); }
    Expecting(const Expecting&) = delete;
    Expecting& operator=(const Expecting&) = delete;

  private:
    Executor& executor_;
};

// All ranks see the same proposals, so all of them refuse, or none.
Status check_proposals(const std::vector<Proposal>& proposals, const Group& group) {
    const Construction::Kind expected = proposals.front().call.kind;
    for (std::size_t rank = 0; rank < proposals.size(); ++rank) {
        const Construction& call = proposals[rank].call;
        const Construction::Kind kind = call.kind;
        const bool has_same_settings = proposals[rank].settings == proposals.front().settings;
        const bool has_same_grid = call.grid == proposals.front().call.grid;
        if (kind == expected && has_same_settings && has_same_grid && !call.is_refused) continue;
        const NamedRank who = name_of(group, group.members[rank]);
        const NamedRank first = name_of(group, group.members.front());
        if (kind == expected && call.is_refused) {
            return failure_of_rank(WEFT_REFUSED_ARGUMENT, group.members[rank],
                                   "rank %d of the %s gave arguments that weft_%s refuses there",
                                   who.rank, who.of, name_of(kind));
        }
        if (kind == expected && !has_same_grid) {
            return failure_of_rank(WEFT_REFUSED_ARGUMENT, group.members[rank],
                                   "rank %d of the %s gave another grid than rank %d; expected "
                                   "the same on every rank",
                                   who.rank, who.of, first.rank);
        }
        if (kind == expected) {
            return failure_of_rank(WEFT_REFUSED_ARGUMENT, group.members[rank],
                                   "rank %d of the %s gave other settings than rank %d; expected "
                                   "the same on every rank",
                                   who.rank, who.of, first.rank);
        }
        return failure_of_rank(WEFT_REFUSED_ARGUMENT, group.members[rank],
                               "rank %d of the %s called weft_%s where rank %d called weft_%s; "
                               "expected the same call on every rank",
                               who.rank, who.of, name_of(kind), first.rank, name_of(expected));
    }
    if (proposals.front().context == 0) {
        const NamedRank who = name_of(group, group.members.front());
        return failure_of_rank(WEFT_REFUSED_MEMORY, group.members.front(),
                               "rank %d of the %s has no number left for a new communicator",
                               who.rank, who.of);
    }
    return ok;
}

// What a rank has found out about the edges from another rank to itself.
struct EdgeVerdict {
    Rank source = no_rank;  // whose number of edges differs; no_rank: all agree
    std::int32_t listed_here = 0;
    std::int32_t listed_there = 0;
};

std::vector<std::int32_t> edges_by_rank(std::span<const Rank> neighbors, Rank ranks) {
    std::vector<std::int32_t> edges(static_cast<std::size_t>(ranks));
    for (const Rank neighbor : neighbors) ++edges[static_cast<std::size_t>(neighbor)];
    return edges;
}

// Both ends of each edge of a graph must list it. All ranks refuse, or none.
Status compare_edges(Communicator& parent, const Neighborhood& mine) {
    const char* const what = name_of(Construction::Kind::graph);
    try {
        const auto to_others = edges_by_rank(mine.destinations, parent.ranks());
        const auto from_others = edges_by_rank(mine.sources, parent.ranks());
        std::vector<std::int32_t> told(to_others.size());
        WEFT_RETURN_IF_NOT_OK(
            call_and_wait(parent, what,
                          {.collective = WEFT_COLLECTIVE_ALLTOALL,
                           .op = WEFT_OP_NULL,
                           .root = 0,
                           .send = bytes_at(to_others.data(), sizeof told.front()),
                           .recv = bytes_at(told.data(), sizeof told.front())}));
        EdgeVerdict verdict;
        for (std::size_t r = 0; r < told.size() && verdict.source == no_rank; ++r) {
            if (told[r] == from_others[r]) continue;
            verdict = {static_cast<Rank>(r), from_others[r], told[r]};
        }
        std::vector<EdgeVerdict> verdicts(told.size());
        WEFT_RETURN_IF_NOT_OK(
            allgather_and_wait(parent, what, &verdict, verdicts.data(), sizeof verdict));
        const Group& group = parent.group();
        for (std::size_t r = 0; r < verdicts.size(); ++r) {
            const EdgeVerdict& found = verdicts[r];
            if (found.source == no_rank) continue;
            const Rank source = group.members[static_cast<std::size_t>(found.source)];
            const NamedRank who = name_of(group, source);
            return failure_of_rank(WEFT_REFUSED_ARGUMENT, source,
                                   "rank %d of the %s lists rank %d %d times as a destination, "
                                   "which lists it %d times as a source; expected equally many",
                                   who.rank, who.of, name_of(group, group.members[r]).rank,
                                   found.listed_there, found.listed_here);
        }
        return ok;
    } catch (const std::bad_alloc&) {
        return parent.run_out_of_memory(what);
    }
}

// The parent's ranks that get the same communicator as `rank`, in their order there. Takes no
// memory: `ranks` has room.
void choose_ranks(const std::vector<Proposal>& proposals, Rank rank, std::vector<Rank>& ranks) {
    const Construction& own = proposals[static_cast<std::size_t>(rank)].call;
    for (std::size_t r = 0; r < proposals.size(); ++r) {
        if (proposals[r].call.color == own.color) ranks.push_back(static_cast<Rank>(r));
    }
    std::ranges::sort(ranks, {}, [&](Rank r) {
        return std::pair(proposals[static_cast<std::size_t>(r)].call.key, r);
    });
}

// "split 3 of dup of world"; only the nearest of many ancestors.
std::string child_name(const Construction& call, const std::string& parent) {
    constexpr std::size_t parent_length_max = 60;
    std::string name = "dup of ";
    if (call.kind == Construction::Kind::split)
        name = "split " + std::to_string(call.color) + " of ";
    if (call.kind == Construction::Kind::cart) name = "grid of ";
    if (call.kind == Construction::Kind::graph) name = "graph of ";
    if (call.kind == Construction::Kind::split_node)
        name = "node " + std::to_string(call.color) + " of ";
    if (parent.size() <= parent_length_max) return name + parent;
    return name + parent.substr(0, parent_length_max) + "...";
}

// What the proposals say about the new group, from this rank's place.
Communicator& make(Process& process, const Communicator& parent, const Construction& mine,
                   const std::vector<Proposal>& proposals, std::span<const Rank> chosen,
                   Offer& offer, Group group, const CommunicatorSettings& settings) {
    std::vector<DedicatedShare> dedicated;
    for (Rank r : chosen) dedicated.push_back(proposals[static_cast<std::size_t>(r)].dedicated);
    group.dedicated = agreed_streams(dedicated);
    auto rank = static_cast<Rank>(std::ranges::find(chosen, parent.rank()) - chosen.begin());
    Communicator& made =
        process.add(std::move(group), rank, child_name(mine, parent.name()), settings);
    offer.keep(made.group().dedicated);
    return made;
}

// The parent's settings with these changes.
Result<CommunicatorSettings> changed_settings(Communicator& parent, const char* settings) {
    Result<CommunicatorSettings> changed = parent.settings().changed(settings);
    if (!changed.is_ok() || changed->links == 0 || parent.group().bridge == 0) return changed;
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "links = %u; expected all: the group has processes of several jobs",
                   changed->links);
}

}  // namespace

Result<Communicator*> construct(Process& process, Communicator& parent, Construction mine,
                                const char* settings,
                                std::unique_ptr<const Neighborhood> neighbors) {
    WEFT_RETURN_IF_NOT_OK(parent.check_starter());
    Result<CommunicatorSettings> wanted = changed_settings(parent, settings);
    if (mine.kind == Construction::Kind::split_node)
        mine.color = parent.topology().node_of(parent.rank());
    const bool is_dup =
        mine.kind == Construction::Kind::dup || mine.kind == Construction::Kind::dup_with;
    if (is_dup && parent.neighbors())
        neighbors = std::make_unique<const Neighborhood>(*parent.neighbors());
    Keeping keeping(parent);
    Expecting expecting(process.executor());
    Offer offer(process);
    // Once the proposals are swapped, others may have the communicator. If this rank cannot make
    // it, it must still be able to say so.
    Group group;
    std::vector<Rank> chosen;
    group.members.reserve(static_cast<std::size_t>(parent.ranks()));
    chosen.reserve(group.members.capacity());
    const bool is_outside = parent.group().bridge != 0;
    if (is_outside) group.parent_members = parent.group().members;
    auto telling = FailureNotices::reserve_telling(group.members.capacity());
    // Words that this rank does not understand: the others must not wait for it in vain.
    const bool takes = parent.rank() == 0 && wanted.is_ok();
    const std::uint64_t context = !takes       ? 0
                                  : is_outside ? Process::random_context()
                                               : process.take_context(wanted->links);
    const Proposal proposal{mine, context, wanted.is_ok() ? wanted->digest() : 0,
                            is_outside ? DedicatedShare{} : offer.dedicated()};
    std::vector<Proposal> proposals(static_cast<std::size_t>(parent.ranks()));
    WEFT_RETURN_IF_NOT_OK(allgather_and_wait(parent, name_of(mine.kind), &proposal,
                                             proposals.data(), sizeof proposal));
    if (!wanted.is_ok()) return changed_settings(parent, settings).status();  // and its sentence
    WEFT_RETURN_IF_NOT_OK(check_proposals(proposals, parent.group()));
    if (mine.kind == Construction::Kind::graph)
        WEFT_RETURN_IF_NOT_OK(compare_edges(parent, *neighbors));

    group.context = proposals.front().context;
    group.parent = parent.group().context;
    group.number = ++parent.group().made;
    group.bridge = parent.group().bridge;
    if (mine.color == WEFT_COLOR_NONE) return static_cast<Communicator*>(nullptr);
    choose_ranks(proposals, parent.rank(), chosen);
    for (Rank r : chosen)
        group.members.push_back(parent.group().members[static_cast<std::size_t>(r)]);
    const auto make_it = [&]() -> Communicator& {
        Communicator& made = make(process, parent, mine, proposals, chosen, offer, group, *wanted);
        made.set_neighbors(std::move(neighbors));
        return made;
    };
    return make_or_tell(process, &parent, name_of(mine.kind), group, std::move(telling), make_it);
}

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
    const auto make_it = [&]() -> Communicator& {
        Communicator& made = process.add(
            group, members.rank, "communicator " + std::to_string(members.number), settings);
        made.set_neighbors(std::move(members.neighbors));
        return made;
    };
    return make_or_tell(process, nullptr, "comm_from_members", group, std::move(telling), make_it);
}

}  // namespace weft
