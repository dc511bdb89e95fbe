// Builds a schedule: each call adds an operation and names the operations it waits for.
//
//   OpId ready = schedule.recv(data, parent);
//   for (Rank child : children) schedule.send(data, child, {ready});
//
// Predecessors must have been added before; no_op and schedule.start() stand for none. Operations
// on one lane are posted in the order of the calls. A send and a receive may have zero bytes.
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

    OpId start() const { return no_op; }
    OpId send(Region from, Rank peer, After after = {});
    OpId recv(Region into, Rank peer, After after = {});
    OpId copy(Region from, Region into, After after = {});
    OpId reduce(Region from, Region into, After after = {});        // into = from (op) into
    OpId reduce_right(Region from, Region into, After after = {});  // into = into (op) from
    OpId call(Region into, std::int32_t index, After after = {});   // see Binding::calls
    OpId join(std::span<const OpId> after);
    OpId join(After after) { return join(std::span(after.begin(), after.size())); }

    // An operation as it is stored.
    OpId add(Op op, std::span<const OpId> after = {});

    // While the result lives, peers are numbered by their place in `members`, which are numbered as
    // peers were before: to build an algorithm among some of the ranks.
    class [[nodiscard]] Within {
      public:
        Within(ScheduleBuilder& builder, std::vector<Rank> members)
            : builder_(builder), outer_(std::exchange(builder.members_, std::move(members))) {}
        ~Within() { builder_.members_ = std::move(outer_); }
        Within(const Within&) = delete;
        Within& operator=(const Within&) = delete;

      private:
        ScheduleBuilder& builder_;
        std::vector<Rank> outer_;
    };
    Within within(std::span<const Rank> members);

    // What is added from now on waits for everything that was added before. Not inside a repeat.
    void fence();

    // One more predecessor of an operation that exists.
    void order(OpId before, OpId after, std::uint32_t distance = 0);

    // Room for `bytes` of scratch, aligned to 64 bytes. Inside a repeat: the room of one window
    // slot; all of it is multiplied by the window when the repeat ends.
    Region scratch(std::int64_t bytes);

    // Between repeat_begin and repeat_end the calls describe iteration 0 of a repeated block.
    // `total_bytes` is cut into blocks of `block_bytes`, of which an iteration takes the next
    // `per_iteration`; every region inside must have block_bytes bytes and moves on by so many
    // blocks per iteration. With one block an iteration the last one may be shorter; with several
    // the iterations must be whole, and the rest belongs behind the repeat.
    // repeat_end returns the operation that completes when all iterations have; operations inside
    // the repeat can not be named afterwards.
    struct Blocks {
        std::int64_t total_bytes = 0;
        std::int64_t block_bytes = 0;
        std::uint32_t window = 4;
        std::int64_t per_iteration = 1;
    };
    void repeat_begin(Blocks blocks, After after = {});
    OpId repeat_end();

    // Derives lanes, issue order and in-degrees, and hands the schedule out; the builder is empty
    // afterwards. Refuses a cycle, a peer that is no other rank of the communicator, and a negative
    // offset or size, with a sentence.
    Result<Schedule> seal();

  private:
    struct Dependency {
        OpId before;
        OpId after;
        std::uint32_t distance;
    };

    void derive_lanes();
    void compress_edges();
    bool has_cycle() const;

    Rank peer_of(Rank member) const;

    Schedule schedule_;
    std::vector<Rank> members_;  // peers by number; empty: all ranks
    std::vector<Dependency> dependencies_;
    OpId fence_ = no_op;
    bool in_repeat_ = false;
    bool may_have_cycle_ = false;
    std::int64_t block_bytes_ = 0;  // of the open repeat
};

}  // namespace weft
