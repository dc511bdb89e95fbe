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
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    Rank rank() const { return place_.rank; }
    Rank ranks() const { return place_.ranks; }
    const std::string& name() const { return name_; }

    // Starts a collective. The request is given back by settle().
    Result<Request*> start(const Call& call);

    // The outcome of a request whose run is done; afterwards its handles are invalid.
    Status settle(Request& request);

  private:
    Status broken_status(const char* what, const Failure& failure) const;

    Process& process_;
    Group group_;
    Place place_;
    std::string name_;
    Stream calls_;  // stream 0: the nonblocking calls in the order they are made
    ScheduleCache schedules_;
};

}  // namespace weft
