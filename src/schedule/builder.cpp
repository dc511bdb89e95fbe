#include "schedule/builder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t scratch_alignment = 64;

std::int64_t aligned(std::int64_t bytes) {
    return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

// As one word if possible: compilers write one field of an edge after the other, and read what was
// there before.
Edge edge_to(OpId op, std::uint32_t distance = 0) {
    if constexpr (std::endian::native == std::endian::little)
        return std::bit_cast<Edge>(op | distance << 28);
    else
        return {op & Schedule::no_issue, distance & 15u};
}

bool has_negative(const Op& op) { return (op.bytes | op.from_offset | op.into_offset) < 0; }

// True also if both are empty and at the same place: messages of zero bytes have an order, too.
bool overlap(Region a, Region b) {
    if (a.buffer != b.buffer) return false;
    return a.offset == b.offset || (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(Rank rank, Rank ranks) {
    schedule_.rank_ = rank;
    schedule_.ranks_ = ranks;
    expect(64);
}

void ScheduleBuilder::expect(std::size_t ops) {
    schedule_.ops_.reserve(schedule_.ops_.size() + ops);
    dependencies_.reserve(dependencies_.size() + 2 * ops);
}

// Operations are filled in place. Copying one right after its members were written stalls on store
// forwarding.
Op& ScheduleBuilder::next(OpKind kind, std::int64_t bytes) {
    Op& op = schedule_.ops_.emplace_back();
    op.kind = kind;
    op.bytes = bytes;
    return op;
}

OpId ScheduleBuilder::add(const Op& op, std::span<const OpId> after) {
    schedule_.ops_.push_back(op);
    return added(after);
}

OpId ScheduleBuilder::added(std::span<const OpId> after) {
    const Op& op = schedule_.ops_.back();
    if (in_repeat_ && op.kind != OpKind::join) WEFT_ASSERT(op.bytes == block_bytes_);
    const auto id = static_cast<OpId>(schedule_.ops_.size() - 1);
    WEFT_ASSERT(id < Schedule::no_issue);
    may_be_refused_ |= has_negative(op) || has_wrong_peer(op);
    for (OpId before : after) order(before, id);
    if (fence_ != no_op && !in_repeat_) order(fence_, id);
    if (within_after_ != no_op && op.kind != OpKind::recv) order(within_after_, id);
    return id;
}

Rank ScheduleBuilder::peer_of(Rank member) const {
    if (members_.empty()) return member;
    WEFT_ASSERT(member >= 0 && static_cast<std::size_t>(member) < members_.size());
    return members_[static_cast<std::size_t>(member)];
}

ScheduleBuilder::Within ScheduleBuilder::within(std::span<const Rank> members, OpId after) {
    std::vector<Rank> peers;
    for (const Rank member : members) peers.push_back(peer_of(member));
    return Within(*this, std::move(peers), after);
}

OpId ScheduleBuilder::written(Region region) {
    std::vector<OpId> writers;
    for (OpId id = 0; id < schedule_.ops_.size(); ++id) {
        const Op& op = schedule_.ops_[id];
        if (!op.writes()) continue;
        if (const Repeat* const repeat = schedule_.repeat_of(id)) {
            const bool is_new = writers.empty() || writers.back() != repeat->exit;
            if (op.into_buffer == region.buffer && is_new) writers.push_back(repeat->exit);
        } else if (overlap(op.into(), region)) {
            writers.push_back(id);
        }
    }
    return join(writers);
}

void ScheduleBuilder::order_users(OpId before, Region region, OpId first) {
    WEFT_ASSERT(!in_repeat_);
    const Repeat* last = nullptr;  // of those that wait already
    for (OpId id = first; id < schedule_.ops_.size(); ++id) {
        const Op& op = schedule_.ops_[id];
        const Repeat* const repeat = schedule_.repeat_of(id);
        const auto uses = [&](Region used) {
            return repeat ? used.buffer == region.buffer : used.bytes > 0 && overlap(used, region);
        };
        if (!(op.reads() && uses(op.from())) && !(op.writes() && uses(op.into()))) continue;
        if (!repeat)
            order(before, id);
        else if (repeat != last)
            order(before, repeat->entry);
        if (repeat) last = repeat;
    }
}

void ScheduleBuilder::fence() {
    WEFT_ASSERT(!in_repeat_);
    std::vector<OpId> before;
    const auto end = static_cast<OpId>(schedule_.ops_.size());
    for (OpId id = fence_ == no_op ? 0 : fence_ + 1; id < end; ++id) {
        if (!schedule_.repeat_of(id)) before.push_back(id);
    }
    fence_ = join(before);
}

OpId ScheduleBuilder::send(Region from, Rank peer, After after) {
    Op& op = next(OpKind::send, from.bytes);
    op.peer = peer_of(peer);
    op.from_buffer = from.buffer;
    op.from_offset = from.offset;
    return added(std::span(after.begin(), after.size()));
}

OpId ScheduleBuilder::recv(Region into, Rank peer, After after) {
    Op& op = next(OpKind::recv, into.bytes);
    op.peer = peer_of(peer);
    op.into_buffer = into.buffer;
    op.into_offset = into.offset;
    return added(std::span(after.begin(), after.size()));
}

OpId ScheduleBuilder::local(OpKind kind, const Region& from, const Region& into, After after) {
    WEFT_ASSERT(from.bytes == into.bytes);
    Op& op = next(kind, from.bytes);
    op.from_buffer = from.buffer;
    op.from_offset = from.offset;
    op.into_buffer = into.buffer;
    op.into_offset = into.offset;
    return added(std::span(after.begin(), after.size()));
}

OpId ScheduleBuilder::copy(Region from, Region into, After after) {
    return local(OpKind::copy, from, into, after);
}

OpId ScheduleBuilder::reduce(Region from, Region into, After after) {
    return local(OpKind::reduce, from, into, after);
}

OpId ScheduleBuilder::reduce_right(Region from, Region into, After after) {
    return local(OpKind::reduce_right, from, into, after);
}

OpId ScheduleBuilder::scale(Region from, Region into, After after) {
    return local(OpKind::scale, from, into, after);
}

OpId ScheduleBuilder::widen(Region from, Region into, After after) {
    WEFT_ASSERT(into.bytes == 2 * from.bytes);
    return local(OpKind::widen, from, into.part(0, from.bytes), after);
}

OpId ScheduleBuilder::narrow(Region from, Region into, After after) {
    WEFT_ASSERT(from.bytes == 2 * into.bytes);
    return local(OpKind::narrow, from.part(0, into.bytes), into, after);
}

OpId ScheduleBuilder::encode(Region from, Region into, After after) {
    return local(OpKind::encode, from, into.part(0, from.bytes), after);
}

OpId ScheduleBuilder::decode(Region from, Region into, After after) {
    return local(OpKind::decode, from.part(0, into.bytes), into, after);
}

OpId ScheduleBuilder::call(Region into, std::int32_t index, After after) {
    Op& op = next(OpKind::call, into.bytes);
    op.peer = index;
    op.into_buffer = into.buffer;
    op.into_offset = into.offset;
    return added(std::span(after.begin(), after.size()));
}

OpId ScheduleBuilder::join(std::span<const OpId> after) { return add(Op{}, after); }

void ScheduleBuilder::order(OpId before, OpId after, std::uint32_t distance) {
    if (before == no_op) return;
    WEFT_ASSERT(distance < 16);
    WEFT_ASSERT(before < schedule_.ops_.size() && after < schedule_.ops_.size());
    if (before >= after && distance == 0) may_have_cycle_ = true;
    if (schedule_.repeats_.empty()) [[likely]] {
        WEFT_ASSERT(distance == 0);
    } else if (in_repeat_) {
        // An operation before the repeat holds back all of it.
        Repeat& repeat = schedule_.repeats_.back();
        if (after >= repeat.first && before < repeat.first) {
            if (before == repeat.entry) return;
            after = repeat.entry;
        }
        WEFT_ASSERT(distance < repeat.window);
    } else {
        WEFT_ASSERT(distance == 0 && !schedule_.repeat_of(before));
    }
    dependencies_.push_back({before, edge_to(after, distance)});
}

Region ScheduleBuilder::scratch(std::int64_t bytes) {
    Region region{Buffer::scratch, schedule_.scratch_bytes_, bytes};
    schedule_.scratch_bytes_ += aligned(bytes);
    return region;
}

Region ScheduleBuilder::stand_in(Buffer buffer, std::int64_t bytes) {
    WEFT_ASSERT(!in_repeat_ && buffer <= Buffer::recv && schedule_.stand_in(buffer) < 0);
    const Region place = scratch(bytes);
    (buffer == Buffer::send ? schedule_.send_stand_in_ : schedule_.recv_stand_in_) = place.offset;
    return place;
}

void ScheduleBuilder::repeat_begin(Repetition blocks, After after) {
    WEFT_ASSERT(!in_repeat_ && blocks.block_bytes > 0 && blocks.window > 0);
    Repeat repeat;
    repeat.entry = join(after);
    repeat.first = static_cast<OpId>(schedule_.ops_.size());
    repeat.window = blocks.window;
    repeat.stride = blocks.block_bytes * blocks.per_iteration;
    repeat.iterations = (blocks.total_bytes + repeat.stride - 1) / repeat.stride;
    repeat.short_bytes = repeat.iterations * repeat.stride - blocks.total_bytes;
    // The last iteration shortens all its blocks alike, so it may have only one.
    WEFT_ASSERT(blocks.per_iteration == 1 || repeat.short_bytes == 0);
    repeat.scratch_begin = schedule_.scratch_bytes_;
    block_bytes_ = blocks.block_bytes;
    schedule_.repeats_.push_back(repeat);
    in_repeat_ = true;
}

OpId ScheduleBuilder::repeat_end() {
    WEFT_ASSERT(in_repeat_);
    in_repeat_ = false;
    Repeat& repeat = schedule_.repeats_.back();
    repeat.ops = static_cast<std::uint32_t>(schedule_.ops_.size()) - repeat.first;
    repeat.scratch_stride = schedule_.scratch_bytes_ - repeat.scratch_begin;
    OpId entry = repeat.entry;
    if (repeat.iterations == 0 || repeat.ops == 0) {
        schedule_.ops_.resize(repeat.first);
        schedule_.scratch_bytes_ = repeat.scratch_begin;
        std::erase_if(dependencies_, [&](const Dependency& d) {
            return d.before >= repeat.first || d.after.to >= repeat.first;
        });
        schedule_.repeats_.pop_back();
        return entry;
    }
    repeat.window =
        static_cast<std::uint32_t>(std::min<std::int64_t>(repeat.window, repeat.iterations));
    schedule_.scratch_bytes_ = repeat.scratch_begin + repeat.window * repeat.scratch_stride;
    // With a window of one, iterations follow one another anyway.
    std::uint32_t window = repeat.window;
    std::erase_if(dependencies_,
                  [window](const Dependency& d) { return d.after.distance >= window; });
    return repeat.exit = add(Op{}, {});
}

namespace {

// By peer, and at each the sends first.
std::size_t lane_key(const Op& message) {
    return std::size_t{2} * static_cast<std::uint32_t>(message.peer) +
           (message.kind == OpKind::recv ? 1 : 0);
}

// Numbers the lanes of a schedule in the order of their keys.
class LaneNumbers {
  public:
    explicit LaneNumbers(const Schedule& schedule) {
        const std::size_t possible = 2 * static_cast<std::size_t>(schedule.ranks());
        is_table_ = possible <= 4 * schedule.ops().size();
        if (is_table_) words_.resize(possible);
        for (const Op& op : schedule.ops()) {
            if (!op.is_message()) continue;
            const auto key = static_cast<std::uint32_t>(lane_key(op));
            if (is_table_) {
                words_[key] = 1;
            } else if (words_.empty() || words_.back() != key) {
                words_.push_back(key);
            }
        }
        if (is_table_) {
            for (std::uint32_t& word : words_) word = lanes_ += word;
        } else {
            std::ranges::sort(words_);
            words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
            lanes_ = static_cast<std::uint32_t>(words_.size());
        }
    }
    std::size_t lanes() const { return lanes_; }
    std::size_t of(const Op& message) const {
        const std::size_t key = lane_key(message);
        if (is_table_) return words_[key] - 1;
        return static_cast<std::size_t>(std::ranges::lower_bound(words_, key) - words_.begin());
    }

  private:
    // Whether words_ has the number of each lane plus 1, by key; else it has the keys, sorted.
    bool is_table_;
    std::vector<std::uint32_t> words_;
    std::uint32_t lanes_ = 0;
};

}  // namespace

// Orders each lane's messages as in the schedule: which is issued after which.
void ScheduleBuilder::derive_lanes() {
    Schedule& s = schedule_;
    s.issue_.resize(s.ops_.size());
    s.lane_of_.resize(s.ops_.size());
    s.in_degree_.resize(s.ops_.size());
    const LaneNumbers numbers(s);
    s.lanes_.resize(numbers.lanes());
    const auto issue_next = [&](OpId message, OpId next, std::uint32_t distance = 0) {
        s.issue_[message] = edge_to(next, distance);
        ++s.in_degree_[next];
    };
    // By lane: its first message in the repeat that holds its last one so far.
    std::vector<OpId> first_in_repeat(s.repeats_.empty() ? 0 : numbers.lanes());
    // An iteration's last message of a lane is issued before the next iteration's first.
    const auto close_repeat = [&](const Repeat* repeat, std::size_t number, OpId last) {
        if (repeat && repeat->window > 1) issue_next(last, first_in_repeat[number], 1);
    };
    const auto n = static_cast<OpId>(s.ops_.size());
    for (OpId id = 0; id < n; ++id) {
        s.issue_[id] = edge_to(Schedule::no_issue);
        const Op& op = s.ops_[id];
        const bool is_message = op.is_message();
        const std::size_t number = is_message ? numbers.of(op) : 0;
        s.lane_of_[id] = is_message ? static_cast<std::int32_t>(number) : -1;
        if (!is_message) continue;
        ScheduleLane& lane = s.lanes_[number];
        const Repeat* const repeat = s.repeat_of(id);
        const OpId entrance = repeat ? repeat->entry : id;
        const OpId previous = std::exchange(lane.last, id);
        if (previous == no_op) {
            lane = {op.peer, op.kind == OpKind::send, entrance, id};
        } else if (const Repeat* const before = s.repeat_of(previous); !before) {
            issue_next(previous, entrance);
        } else if (before == repeat) {
            issue_next(previous, id);
            continue;
        } else {
            close_repeat(before, number, previous);
            dependencies_.push_back({before->exit, edge_to(entrance)});
        }
        if (repeat) first_in_repeat[number] = id;
    }
    if (s.repeats_.empty()) return;
    for (std::size_t number = 0; number < s.lanes_.size(); ++number) {
        const OpId last = s.lanes_[number].last;
        close_repeat(s.repeat_of(last), number, last);
    }
}

// Compresses the list of dependencies and counts in-degrees.
void ScheduleBuilder::compress_edges() {
    Schedule& s = schedule_;
    const std::size_t n = s.ops_.size();
    // First, one place further on, how many edges begin at each operation; then where the next of
    // them goes.
    s.edge_begin_.resize(n + 2);
    for (const Dependency& d : dependencies_) ++s.edge_begin_[d.before + 2];
    std::partial_sum(s.edge_begin_.begin(), s.edge_begin_.end(), s.edge_begin_.begin());
    s.edges_.resize(dependencies_.size());
    for (const Dependency& d : dependencies_) {
        s.edges_[s.edge_begin_[d.before + 1]++] = d.after;
        ++s.in_degree_[d.after.to];
    }
    s.edge_begin_.pop_back();
    for (const Repeat& repeat : s.repeats_) ++s.in_degree_[repeat.exit];  // the repeat itself
    s.roots_.resize(static_cast<std::size_t>(std::ranges::count(s.in_degree_, 0u)));
    std::size_t roots = 0;
    for (OpId id = 0; id < n; ++id) {
        if (s.in_degree_[id] == 0 && !s.repeat_of(id)) s.roots_[roots++] = id;
    }
    s.roots_.resize(roots);
}

// Edges to later iterations cannot close a cycle and are left out.
bool ScheduleBuilder::has_cycle() const {
    const Schedule& s = schedule_;
    std::vector<std::uint32_t> left(s.in_degree_);
    std::vector<OpId> ready;
    auto discount_carried = [&](const Edge& edge) {
        if (edge.to != Schedule::no_issue && edge.distance > 0) --left[edge.to];
    };
    for (const Edge& edge : s.edges_) discount_carried(edge);
    for (const Edge& edge : s.issue_) discount_carried(edge);
    for (const Repeat& repeat : s.repeats_) {
        left[repeat.exit] += repeat.ops - 1;
        for (OpId id = repeat.first; id < repeat.first + repeat.ops; ++id) ++left[id];
    }
    for (OpId id = 0; id < s.ops_.size(); ++id) {
        if (left[id] == 0) ready.push_back(id);
    }
    std::size_t done = 0;
    auto release = [&](OpId id) {
        if (--left[id] == 0) ready.push_back(id);
    };
    while (done < ready.size()) {
        OpId id = ready[done++];
        for (const Edge& edge : s.after_completion(id)) {
            if (edge.distance == 0) release(edge.to);
        }
        Edge issue = s.issue_[id];
        if (issue.to != Schedule::no_issue && issue.distance == 0) release(issue.to);
        for (const Repeat& repeat : s.repeats_) {
            if (repeat.holds(id)) release(repeat.exit);
            if (repeat.entry == id) {
                for (OpId o = repeat.first; o < repeat.first + repeat.ops; ++o) release(o);
            }
        }
    }
    return done != s.ops_.size();
}

bool ScheduleBuilder::has_wrong_peer(const Op& op) const {
    return op.is_message() &&
           (op.peer == schedule_.rank_ ||
            static_cast<std::uint32_t>(op.peer) >= static_cast<std::uint32_t>(schedule_.ranks_));
}

// Says which operation is refused. (One may be gone with a repeat that has no iterations.)
Status ScheduleBuilder::refuse() const {
    for (OpId id = 0; id < schedule_.ops_.size(); ++id) {
        const Op& op = schedule_.ops_[id];
        if (has_negative(op)) {
            return failure(
                WEFT_REFUSED_ARGUMENT,
                "operation %u has bytes = %lld at offsets %lld and %lld; expected 0 or more", id,
                static_cast<long long>(op.bytes), static_cast<long long>(op.from_offset),
                static_cast<long long>(op.into_offset));
        }
        if (has_wrong_peer(op)) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "operation %u has peer = %d; expected 0..%d other than this rank, %d",
                           id, op.peer, schedule_.ranks_ - 1, schedule_.rank_);
        }
    }
    return ok;
}

Result<Schedule> ScheduleBuilder::seal() {
    WEFT_ASSERT(!in_repeat_ && members_.empty() && within_after_ == no_op);
    if (may_be_refused_) WEFT_RETURN_IF_NOT_OK(refuse());
    derive_lanes();
    compress_edges();
    if (may_have_cycle_ && has_cycle()) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "the schedule's operations wait for each other in a cycle");
    }
    Schedule sealed = std::exchange(schedule_, Schedule{});
    dependencies_.clear();
    fence_ = no_op;
    may_have_cycle_ = false;
    may_be_refused_ = false;
    return sealed;
}

}  // namespace weft
