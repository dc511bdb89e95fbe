// A communicator: a group of ranks, the order of their operations, and the schedules of its calls.
//
// Thread safety: none; call with the process's engine held.
#pragma once

#include <string>

#include "communicator/request.h"
#include "communicator/schedule_cache.h"

namespace weft {

class Process;

class Communicator {
  public:
    // `group` has this process's rank at position `rank`.
    Communicator(Process& process, Group group, Rank rank, std::string name);
    ~Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    Rank rank() const { return place_.rank; }
    Rank ranks() const { return place_.ranks; }
    const std::string& name() const { return name_; }
    Group& group() { return group_; }

    // Starts a collective. The request is given back by settle().
    Result<Request*> start(const Call& call);

    // The outcome of a request whose run is done; afterwards its handles are invalid.
    Status settle(Request& request);

    // Requests that are not settled, and whoever else needs it, keep a freed communicator: the last
    // one to let go of it ends it.
    void keep() { ++keepers_; }
    void let_go();

    // The answer to a call that `failure` ended.
    Status broken_status(const char* what, const Failure& failure) const;

  private:
    friend class Process;

    Process& process_;
    Group group_;
    Place place_;
    std::string name_;
    Stream calls_;  // stream 0: the nonblocking calls in the order they are made
    ScheduleCache schedules_;
    std::uint32_t place_in_table_ = 0;
    std::uint32_t keepers_ = 0;
    bool freed_ = false;
};

}  // namespace weft
