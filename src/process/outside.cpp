#include "process/outside.h"

#include <algorithm>
#include <utility>

namespace weft {

std::vector<std::uint64_t> Outside::reaching(std::span<const std::uint64_t> processes) const {
    std::vector<std::uint64_t> all;
    for (auto bridge = known_.rbegin(); bridge != known_.rend(); ++bridge) {
        const bool reaches = std::ranges::all_of(processes, [&](std::uint64_t process) {
            return std::ranges::find(bridge->processes, process) != bridge->processes.end();
        });
        const bool is_whole = std::ranges::all_of(
            bridge->numbers, [&](Rank number) { return !executor_.has_lost(number); });
        if (reaches && is_whole) all.push_back(bridge->id);
    }
    return all;
}

Outside::Bridge& Outside::find(std::uint64_t id) {
    const auto place = std::ranges::find(known_, id, &Bridge::id);
    WEFT_ASSERT(place != known_.end());
    return *place;
}

Status Outside::add(Bridge bridge, std::unique_ptr<Bridges::Bridge> transports, Rank own_rank,
                    std::span<const std::string> nodes) {
    for (const auto& transport : transports->transports) {
        if (!engine_.signals_arrivals() || transport->abilities().can_signal) continue;
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "what arrives over transport %s from processes of other jobs sends no "
                       "signals, which a thread asked for (weft_scheduler_signal); expected tcp",
                       transport->name());
    }
    if (!bridges_) {
        Result<std::unique_ptr<Bridges>> made = Bridges::create();
        if (!made.is_ok()) return made.status();
        executor_.add_transport(**made);
        bridges_ = std::move(*made);
    }
    known_.reserve(known_.size() + 1);
    const std::size_t ranks = bridge.processes.size();
    bridge.numbers = executor_.reserve_numbers(ranks - 1);
    bridge.numbers.insert(bridge.numbers.begin() + own_rank, executor_.rank());
    transports->numbers = bridge.numbers;

    std::vector<Rank> places = nodes_;
    std::vector<std::string> names = node_names_;
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto number = static_cast<std::size_t>(bridge.numbers[r]);
        auto name = std::ranges::find(names, nodes[r]);
        if (name == names.end()) name = names.insert(names.end(), nodes[r]);
        if (number >= places.size()) places.resize(number + 1);
        places[number] = static_cast<Rank>(name - names.begin());
    }
    // Which cores ranks of other jobs stay on is not exchanged.
    std::vector<Rank> cores = cores_;
    if (!cores.empty()) cores.resize(places.size(), Topology::unknown_core);
    Topology topology(places, std::move(cores));

    const Bridges::Bridge* const added = transports.get();
    WEFT_RETURN_IF_NOT_OK(bridges_->add(std::move(transports)));
    for (std::size_t r = 0; r < ranks; ++r) {
        if (added->routes[r] != nullptr) executor_.add_peer(*bridges_, bridge.numbers[r]);
    }
    nodes_ = std::move(places);
    node_names_ = std::move(names);
    topology_ = std::move(topology);
    bridge.transports = added;
    known_.push_back(std::move(bridge));
    engine_.signal_arrivals_of(*bridges_);
    engine_.sources_changed();
    return ok;
}

std::vector<std::unique_ptr<Bridges::Bridge>> Outside::take_unused() {
    std::vector<std::unique_ptr<Bridges::Bridge>> taken;
    taken.reserve(known_.size());
    auto kept = static_cast<std::size_t>(std::ranges::count(known_, 0u, &Bridge::users));
    std::erase_if(known_, [&](const Bridge& bridge) {
        if (kept <= unused_max || bridge.users > 0 || Bridges::has_work(*bridge.transports))
            return false;
        --kept;
        for (std::size_t r = 0; r < bridge.numbers.size(); ++r) {
            if (bridge.transports->routes[r] != nullptr) executor_.remove_peer(bridge.numbers[r]);
        }
        taken.push_back(bridges_->remove(*bridge.transports));
        return true;
    });
    return taken;
}

}  // namespace weft
