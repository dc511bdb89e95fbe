#include "sim/structure.h"

#include <algorithm>

#include "base/hash.h"

namespace weft::simulate {
namespace {

// To a simulation both orders of operands are one.
OpKind kind_of(const Op& op) { return op.kind == OpKind::reduce_right ? OpKind::reduce : op.kind; }

std::uint64_t word_of(Edge edge) { return std::uint64_t{edge.to} << 4 | edge.distance; }

}  // namespace

OpInstance LaneMessages::message(std::size_t lane, std::uint64_t index) const {
    std::uint32_t i = begin_[lane + 1] - 1;
    while (stretches_[i].first > index) --i;
    const Stretched& in = stretches_[i];
    const std::uint64_t offset = index - in.first;
    if (offset < in.ops.size()) return {in.ops[offset], 0};
    return {in.ops[offset % in.ops.size()], static_cast<std::int64_t>(offset / in.ops.size())};
}

Structure::Structure(const Schedule& schedule, std::vector<std::uint64_t> key)
    : schedule_(schedule), key_(std::move(key)) {
    const std::size_t ops = schedule_.ops().size();
    const bool has_repeats = !schedule_.repeats().empty();
    lane_of_.resize(ops);
    counter_of_.resize(ops, no_counter);
    std::vector<std::int32_t> number_of(schedule_.lanes().size(), -1);
    // By direction and lane: the messages in stretches.
    std::vector<std::vector<LaneMessages::Stretched>> sends;
    std::vector<std::vector<LaneMessages::Stretched>> recvs;
    std::vector<const Repeat*> repeat_of_last;  // by lane of the schedule: of its last stretch
    repeat_of_last.resize(number_of.size());
    std::vector<std::uint64_t> messages(number_of.size());  // so far, all iterations
    counts_in_bytes_ = !has_repeats;
    for (OpId id = 0; id < ops; ++id) {
        const Op& op = schedule_.ops()[id];
        const Repeat* const repeat = schedule_.repeat_of(id);
        instances_ += repeat ? static_cast<std::uint64_t>(repeat->iterations) : 1;
        if (has_repeats || schedule_.in_degree()[id] > 1) counter_of_[id] = counters_++;
        counts_in_bytes_ &= schedule_.in_degree()[id] <= 0xff;
        op_bytes_max_ = std::max(op_bytes_max_, op.bytes);
        if (!op.is_message()) continue;
        bytes_max_ = std::max(bytes_max_, op.bytes);
        const auto lane = static_cast<std::size_t>(schedule_.lane_of(id));
        auto& lanes = op.kind == OpKind::send ? sends : recvs;
        if (number_of[lane] < 0) {
            number_of[lane] = static_cast<std::int32_t>(lanes.size());
            lanes.emplace_back();
        }
        lane_of_[id] = static_cast<std::uint32_t>(number_of[lane]);
        auto& stretches = lanes[lane_of_[id]];
        if (stretches.empty() || repeat_of_last[lane] != repeat) {
            stretches.push_back({messages[lane], {}});
            repeat_of_last[lane] = repeat;
        }
        stretches.back().ops.push_back(id);
        messages[lane] += repeat ? static_cast<std::uint64_t>(repeat->iterations) : 1;
    }
    for (const auto& [lists, into] : {std::pair{&sends, &sends_}, std::pair{&recvs, &recvs_}}) {
        for (auto& list : *lists) {
            std::ranges::move(list, std::back_inserter(into->stretches_));
            into->begin_.push_back(static_cast<std::uint32_t>(into->stretches_.size()));
        }
    }
}

Interned StructureTable::intern(const Schedule& schedule) {
    key_.assign(1, schedule.ops().size());
    to_.clear();
    from_.clear();
    number_of_.assign(schedule.lanes().size(), -1);
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        const Op& op = schedule.ops()[id];
        std::uint64_t lane = 0;
        if (op.is_message()) {
            std::int32_t& number = number_of_[static_cast<std::size_t>(schedule.lane_of(id))];
            std::vector<Rank>& peers = op.kind == OpKind::send ? to_ : from_;
            if (number < 0) {
                number = static_cast<std::int32_t>(peers.size());
                peers.push_back(op.peer);
            }
            lane = static_cast<std::uint32_t>(number);
        }
        const std::span<const Edge> after = schedule.after_completion(id);
        key_.push_back(static_cast<std::uint64_t>(kind_of(op)) << 56 |
                       std::uint64_t{after.size()} << 28 | lane);
        key_.push_back(static_cast<std::uint64_t>(op.bytes));
        key_.push_back(word_of(schedule.after_issue(id)));
        for (const Edge edge : after) key_.push_back(word_of(edge));
    }
    for (const Repeat& repeat : schedule.repeats()) {
        const std::uint64_t words[] = {repeat.first,
                                       repeat.ops,
                                       repeat.entry,
                                       repeat.exit,
                                       repeat.window,
                                       static_cast<std::uint64_t>(repeat.iterations),
                                       static_cast<std::uint64_t>(repeat.short_bytes)};
        key_.insert(key_.end(), std::begin(words), std::end(words));
    }
    if (!last_ || last_->key() != key_) {
        Hash hash;
        for (const std::uint64_t word : key_) hash.add(word);
        last_ = nullptr;
        const auto [begin, end] = by_hash_.equal_range(hash.value());
        for (auto it = begin; it != end && !last_; ++it) {
            if (it->second->key() == key_) last_ = it->second;
        }
        if (!last_) {
            last_ = &structures_.emplace_back(schedule, key_);
            by_hash_.emplace(hash.value(), last_);
        }
    }
    return {last_, to_, from_};
}

}  // namespace weft::simulate
