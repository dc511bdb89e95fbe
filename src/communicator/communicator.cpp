#include "communicator/communicator.h"

#include "communicator/process.h"

namespace weft {

Communicator::Communicator(Process& process, Group group, Rank rank, std::string name)
    : process_(process),
      group_(std::move(group)),
      place_{rank, static_cast<Rank>(group_.members.size())},
      name_(std::move(name)),
      calls_(group_, 0),
      schedules_(process.requests()) {
    process_.executor().add_group(group_);
}

Result<Request*> Communicator::start(const Call& call) {
    if (group_.broken.code != WEFT_OK) {
        return broken_status(collective_name(call.collective), group_.broken);
    }
    Result<Checked> checked = check(call, place_);
    if (!checked.is_ok()) return checked.status();
    Prepared* prepared = schedules_.find(checked->signature);
    if (!prepared) {
        Result<Schedule> schedule = build_schedule(checked->signature, place_, process_.selector());
        if (!schedule.is_ok()) return schedule.status();
        prepared = &schedules_.insert(checked->signature, std::move(*schedule));
    }
    Request& request = prepared->take();
    request.communicator = this;
    keep();
    process_.executor().start(request, calls_, checked->binding);
    return &request;
}

Status Communicator::settle(Request& request) {
    WEFT_ASSERT(request.is_done());
    Failure failed = request.failure();
    const char* what = collective_name(request.home.signature.collective);
    schedules_.give_back(request);
    Status status = failed.code == WEFT_OK ? ok : broken_status(what, failed);
    let_go();
    return status;
}

void Communicator::let_go() {
    if (--keepers_ == 0 && freed_) process_.end(*this);
}

Status Communicator::broken_status(const char* what, const Failure& failed) const {
    switch (failed.code) {
        case WEFT_BROKEN_RANK:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the job died or left", what, name_.c_str(),
                                   failed.rank);
        case WEFT_BROKEN_MESSAGE:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the job sent %lld bytes where %lld were "
                                   "expected; the calls do not match",
                                   what, name_.c_str(), failed.rank,
                                   static_cast<long long>(failed.sent_bytes),
                                   static_cast<long long>(failed.expected_bytes));
        default:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: the transport to rank %d of the job failed", what,
                                   name_.c_str(), failed.rank);
    }
}

}  // namespace weft
