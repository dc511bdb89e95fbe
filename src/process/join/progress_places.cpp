#include "process/join/progress_places.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace weft {
namespace {

// The cores on which ranks of this machine may compute, and their hyperthreads; nullopt: unknown.
std::optional<std::set<int>> computing_cores(const std::vector<RankCard>& cards,
                                             const std::string& machine,
                                             std::vector<int> (*siblings)(int)) {
    std::set<int> cores;
    std::set<int> computing;
    for (const RankCard& card : cards) {
        if (card.machine != machine) continue;
        if (card.cores.empty()) return std::nullopt;
        cores.insert(card.cores.begin(), card.cores.end());
    }
    for (const int core : cores) {
        if (!computing.insert(core).second) continue;
        for (const int sibling : siblings(core)) computing.insert(sibling);
    }
    return computing;
}

bool meet(const ProgressPlace& one, const ProgressPlace& other) {
    return std::ranges::any_of(
        one.cores, [&](int core) { return std::ranges::binary_search(other.cores, core); });
}

}  // namespace

std::vector<ProgressPlace> progress_places(const std::vector<RankCard>& cards, Rank own,
                                           std::vector<int> (*siblings)(int)) {
    using Kind = ProgressCores::Kind;
    std::vector<ProgressPlace> places(cards.size());
    const std::string& machine = cards[static_cast<std::size_t>(own)].machine;
    const auto wishes = [&](const RankCard& card) {
        return card.machine == machine && card.progress.kind != Kind::anywhere;
    };
    if (std::ranges::none_of(cards, wishes)) return places;
    const std::optional<std::set<int>> computing = computing_cores(cards, machine, siblings);
    const auto is_shared = [&](int core) { return !computing || computing->contains(core); };
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (!wishes(cards[r])) continue;
        const ProgressCores& wish = cards[r].progress;
        ProgressPlace& place = places[r];
        if (wish.kind == Kind::spare) {
            std::ranges::remove_copy_if(wish.cores, std::back_inserter(place.cores), is_shared);
        } else {
            place.cores = wish.cores;
            std::ranges::copy_if(wish.cores, std::back_inserter(place.shared), is_shared);
        }
    }
    for (ProgressPlace& place : places) {
        const auto threads = std::ranges::count_if(
            places, [&](const ProgressPlace& other) { return meet(place, other); });
        place.has_own_core =
            place.is_set_aside() && std::cmp_less_equal(threads, place.cores.size());
    }
    return places;
}

std::string why_not_set_aside(const std::vector<RankCard>& cards, Rank own,
                              const std::vector<ProgressPlace>& places) {
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (cards[r].machine != cards[static_cast<std::size_t>(own)].machine) continue;
        const auto wished = [&] { return cores_text(cards[r].progress.cores); };
        const ProgressPlace& place = places[r];
        if (cards[r].progress.kind == ProgressCores::Kind::spare && place.cores.empty())
            return "WEFT_PROGRESS_CPUS=spare: none of the cores " + wished() +
                   " is spare, because ranks may compute on all of them, or on their hyperthreads; "
                   "bind ranks to cores";
        if (!place.shared.empty())
            return "WEFT_PROGRESS_CPUS=" + wished() + " of rank " + std::to_string(r) +
                   ": its progress thread shares cores " + cores_text(place.shared) +
                   " with ranks that may compute there, or on their hyperthreads; expected "
                   "cores on which no rank computes";
    }
    return "";
}

}  // namespace weft
