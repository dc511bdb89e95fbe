// A schedule that the program builds itself: open for more operations until it is sealed, then the
// origin of persistent requests. Every function refuses what is wrong with a sentence.
//
// Its communicator is kept for it (see Process::make_schedule). Its requests keep what they need of
// it, so that it can be freed first.
//
// Thread safety: none; used with the process's engine held.
#pragma once

#include <cstdint>
#include <vector>

#include "communicator/communicator.h"
#include "schedule/builder.h"

namespace weft {

class OwnSchedule {
  public:
    // `number` tells its nodes from those of other schedules.
    OwnSchedule(Communicator& communicator, std::uint32_t number);
    OwnSchedule(const OwnSchedule&) = delete;
    OwnSchedule& operator=(const OwnSchedule&) = delete;

    Communicator& communicator() const { return communicator_; }

    // An operation as the program names it; 0: none.
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

    // Lets go of everything that is kept for it. It must not be used any more.
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
    Prepared* prepared_ = nullptr;  // once sealed
    std::uint32_t place_in_table_ = 0;
};

}  // namespace weft
