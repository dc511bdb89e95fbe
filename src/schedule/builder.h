// Builds a schedule: each call adds an operation and names those it waits for.
//
//   OpId ready = schedule.recv(data, parent);
//   for (Rank child : children) schedule.send(data, child, {ready});
//
// Predecessors must already have been added; no_op and schedule.start() stand for none. Messages of
// a lane are posted in the order of the calls. A message may have zero bytes.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

class ScheduleBuilder {
  public:
    using After = std::initializer_list<OpId>;

    ScheduleBuilder(Rank rank, Rank ranks);

    // Reserves room for so many more operations. An algorithm that knows their number saves
    // reallocations.
    void expect(std::size_t ops);

    OpId start() const { return no_op; }
    OpId send(Region from, Rank peer, After after = {});
    OpId recv(Region into, Rank peer, After after = {});
    OpId copy(Region from, Region into, After after = {});
    OpId reduce(Region from, Region into, After after = {});        // into = from (op) into
    OpId reduce_right(Region from, Region into, After after = {});  // into = into (op) from
    OpId scale(Region from, Region into, After after = {});         // see OpKind::scale
    OpId widen(Region from, Region into, After after = {});         // of twice the bytes
    OpId narrow(Region from, Region into, After after = {});        // of half the bytes
    OpId encode(Region from, Region into, After after = {});        // see OpKind::encode; only the
    OpId decode(Region from, Region into, After after = {});        // bytes of float32 count
    OpId call(Region into, std::int32_t index, After after = {});   // see Binding::calls
    OpId join(std::span<const OpId> after);
    OpId join(After after) { return join(std::span(after.begin(), after.size())); }

    // Adds an operation in its stored form.
    OpId add(const Op& op, std::span<const OpId> after = {});

    // Builds among some of the ranks: while the result lives, peer i means members[i], and all
    // operations except receives wait for `after`, or, if it is no_op, for the `after` of an outer
    // Within.
    class [[nodiscard]] Within {
      public:
        Within(ScheduleBuilder& builder, std::vector<Rank> members, OpId after)
            : builder_(builder),
              outer_(std::exchange(builder.members_, std::move(members))),
              outer_after_(builder.within_after_) {
            if (after != no_op) builder.within_after_ = after;
        }
        ~Within() {
            builder_.members_ = std::move(outer_);
            builder_.within_after_ = outer_after_;
        }
        Within(const Within&) = delete;
        Within& operator=(const Within&) = delete;

      private:
        ScheduleBuilder& builder_;
        std::vector<Rank> outer_;
        OpId outer_after_;
    };
    Within within(std::span<const Rank> members, OpId after = no_op);

    // Completes when all operations so far that write any of `region` have. A repeat that writes
    // the buffer counts as a whole.
    OpId written(Region region);

    // Operations from `first` on that use any of `region` wait for `before`, which writes it; of a
    // repeat that uses the buffer, all. REQUIRES: no repeat is open.
    void order_users(OpId before, Region region, OpId first);

    // All later operations wait for all earlier ones. Not inside a repeat.
    void fence();

    // Adds a predecessor to an existing operation.
    void order(OpId before, OpId after, std::uint32_t distance = 0);

    // Reserves `bytes` of scratch, aligned to 64 bytes. Inside a repeat this is per slot of the
    // window; the end of the repeat multiplies it by the window.
    Region scratch(std::int64_t bytes);

    // Reserves scratch that stands in for the caller's send or receive buffer, of `bytes`, in all
    // operations. The caller's own is then given_send or given_recv. At most once for each.
    Region stand_in(Buffer buffer, std::int64_t bytes);

    // Between repeat_begin and repeat_end the calls describe iteration 0 of a repeated block.
    // `total_bytes` is cut into blocks of `block_bytes`; an iteration takes the next
    // `per_iteration` of them. Every region inside must have block_bytes bytes; each iteration
    // shifts it by `per_iteration` blocks. With one block per iteration the last may be shorter;
    // with several, all iterations must be whole, and the remainder belongs after the repeat.
    // repeat_end returns the operation that completes when all iterations have. Operations inside
    // the repeat cannot be named afterwards.
    struct Repetition {
        std::int64_t total_bytes = 0;
        std::int64_t block_bytes = 0;
        std::uint32_t window = 4;
        std::int64_t per_iteration = 1;
    };
    void repeat_begin(Repetition blocks, After after = {});
    OpId repeat_end();

    // Derives lanes, issue order and in-degrees, and returns the schedule; the builder is empty
    // afterwards. Refuses a cycle, a peer that is not another rank of the communicator, and a
    // negative offset or size, with a sentence.
    Result<Schedule> seal();

  private:
    struct Dependency {
        OpId before;
        Edge after;
    };

    Op& next(OpKind kind, std::int64_t bytes);
    OpId added(std::span<const OpId> after);
    OpId local(OpKind kind, const Region& from, const Region& into, After after);

    void derive_lanes();
    void compress_edges();
    bool has_cycle() const;

    Rank peer_of(Rank member) const;
    bool has_wrong_peer(const Op& op) const;
    Status refuse() const;

    Schedule schedule_;
    std::vector<Rank> members_;  // peers by number; empty: all ranks
    OpId within_after_ = no_op;
    std::vector<Dependency> dependencies_;
    OpId fence_ = no_op;
    bool in_repeat_ = false;
    bool may_have_cycle_ = false;
    bool may_be_refused_ = false;
    std::int64_t block_bytes_ = 0;  // of the open repeat
};

}  // namespace weft
