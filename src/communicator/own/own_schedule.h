// A schedule that the program builds itself. Operations can be added until it is sealed; then it
// makes persistent requests. Every function refuses mistakes with a sentence.
//
// Process::make_schedule keeps the communicator alive for it. Its requests keep what they need, so
// it can be freed before them.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "communicator/communicator.h"
#include "schedule/builder.h"

namespace weft {

class OwnSchedule {
  public:
    // `number` distinguishes its nodes from those of other schedules.
    OwnSchedule(Communicator& communicator, std::uint32_t number);
    OwnSchedule(const OwnSchedule&) = delete;
    OwnSchedule& operator=(const OwnSchedule&) = delete;

    Communicator& communicator() const { return communicator_; }

    // The program's name of an operation; 0: none.
    using Node = std::uint64_t;

    Result<Node> send(Region from, Rank peer);
    Result<Node> recv(Region into, Rank peer);
    // copy, reduce or reduce_right
    Result<Node> local(OpKind kind, Region from, Region into);
    Result<Node> call(Region data, UserCall call);
    Result<Node> join();
    Status order(Node before, Node after);
    Result<Region> scratch(std::int64_t bytes);

    Status seal();
    Status check_sealed() const;
    // REQUIRES: sealed.
    const Schedule& schedule() const { return prepared_->schedule; }
    Result<Request*> make_request(const void* send_buf, void* recv_buf, weft_type type, weft_op op);

    // Releases everything that is kept for it. It must not be used afterwards.
    void free();

  private:
    friend class Process;

    Node node_of(OpId id) const { return std::uint64_t{number_} << 32 | (id + 1); }
    Status check_open() const;
    Status check_peer(Rank peer) const;
    Status check_region(const char* name, Region region, bool written) const;
    Status check_node(const char* name, Node node) const;
    Result<Reduction> bind(weft_type type, weft_op op) const;

    Communicator& communicator_;
    std::uint32_t number_;
    ScheduleBuilder builder_;
    std::int64_t scratch_bytes_ = 0;
    OpId ops_ = 0;
    std::vector<UserCall> calls_;
    CachedSchedule* prepared_ = nullptr;  // once sealed
    std::uint32_t place_in_table_ = 0;
};

// The schedules of all ranks, by rank. Collective. Releases the engine meanwhile; another thread
// may free `own`. REQUIRES: sealed.
Result<std::vector<Schedule>> collect_schedules(const OwnSchedule& own);

// Refuses schedules with a flaw; the sentence names the operations. Needs no engine.
Status check_schedules(std::span<const Schedule> schedules);

}  // namespace weft
