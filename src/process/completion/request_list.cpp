#include "process/completion/request_list.h"

#include <cstdio>
#include <new>
#include <string>

namespace weft {

// --- Handles -------------------------------------------------------------------------------------

// Null: WEFT_REQUEST_NULL, or not a request, or no longer one.
Request* RequestList::find(std::size_t i) const {
    if (requests_[i] == WEFT_REQUEST_NULL) return nullptr;
    return process_->requests().find(reinterpret_cast<std::uintptr_t>(requests_[i]));
}

RequestList::State RequestList::state(std::size_t i) const { return state(i, find(i)); }

// `request`: as find(i) returns it.
RequestList::State RequestList::state(std::size_t i, const Request* request) const {
    if (requests_[i] == WEFT_REQUEST_NULL) return State::inactive;
    if (!request) return State::finished;
    if (!request->active) return State::inactive;
    return request->is_done() ? State::finished : State::pending;
}

// Appends to the sentence which request it is about.
Status RequestList::refuse(Status status, std::size_t i) const {
    if (!single_) append_detail(" at requests[%zu]", i);
    return status;
}

// Refuses entries that are neither null nor a request.
Status RequestList::check_handles() const {
    if (!requests_ && single_) {
        return failure(WEFT_REFUSED_HANDLE, "request = null; expected a request's address");
    }
    if (!requests_ && count_ > 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "requests = null; expected %zu requests", count_);
    }
    for (std::size_t i = 0; i < count_; ++i) {
        if (requests_[i] == WEFT_REQUEST_NULL || find(i)) continue;
        return refuse(
            failure(WEFT_REFUSED_HANDLE, "request = %p; expected a request that has not completed",
                    static_cast<void*>(requests_[i])),
            i);
    }
    return ok;
}

// --- Start and free ------------------------------------------------------------------------------

// Marks them as active, so that a request named twice is detected.
Status RequestList::check_starts() {
    Status status = ok;
    std::size_t good = 0;
    try {
        for (; good < count_ && status.is_ok(); ++good) status = check_start(good);
    } catch (const std::bad_alloc&) {
        status = failure(WEFT_REFUSED_MEMORY, "out of memory");
        ++good;
    }
    if (status.is_ok()) return ok;
    --good;
    for (std::size_t i = 0; i < good; ++i) find(i)->active = false;
    return refuse(status, good);
}

Status RequestList::check_start(std::size_t i) {
    Request* request = find(i);
    if (!request) {
        return failure(WEFT_REFUSED_HANDLE,
                       "request = WEFT_REQUEST_NULL; expected a persistent request");
    }
    WEFT_RETURN_IF_NOT_OK(request->communicator->check_start(*request));
    request->active = true;
    return ok;
}

Status RequestList::start() {
    WEFT_RETURN_IF_NOT_OK(check_handles());
    WEFT_RETURN_IF_NOT_OK(check_starts());
    for (std::size_t i = 0; i < count_; ++i) {
        Request& request = *find(i);
        request.communicator->start(request);
    }
    return ok;
}

Status RequestList::free() {
    WEFT_RETURN_IF_NOT_OK(check_handles());
    if (requests_[0] == WEFT_REQUEST_NULL) return ok;
    Request& request = *find(0);
    if (request.active) {
        return failure(WEFT_REFUSED_OUTSTANDING, "%s is active; expected an inactive request",
                       description_of(request).c_str());
    }
    request.communicator->free(request);
    requests_[0] = WEFT_REQUEST_NULL;
    return ok;
}

// --- Finish --------------------------------------------------------------------------------------

// Whether one has finished or none is active. Looks only if a run has ended since the last look in
// vain.
bool RequestList::any_finished() {
    if (seen_finished_ == process_->executor().finished()) return false;
    bool none_active = true;
    for (std::size_t i = 0; i < count_; ++i) {
        State now = state(i);
        if (now == State::finished) return true;
        none_active &= now == State::inactive;
    }
    if (!none_active) seen_finished_ = process_->executor().finished();
    return none_active;
}

bool RequestList::all_finished() {
    if (count_ == 1) return state(0) != State::pending;
    const bool looks_at_all = first_pending_ == 0;
    while (first_pending_ < count_ && state(first_pending_) != State::pending) ++first_pending_;
    if (first_pending_ < count_) return false;
    if (looks_at_all) return true;
    // Since an earlier look another thread may have completed a persistent one and restarted it.
    for (std::size_t i = 0; i < count_; ++i) {
        if (state(i) != State::pending) continue;
        first_pending_ = i;
        return false;
    }
    return true;
}

Status RequestList::timed_out() const {
    std::string text;
    std::uint32_t pending = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const Request* request = find(i);
        if (!request || state(i) != State::pending) continue;
        if (pending > 0) text += "; ";
        if (pending++ == listed_max) {
            text += "...";
            break;
        }
        text += description_of(*request);
        if (std::string awaited = request->awaited(); !awaited.empty()) text += " " + awaited;
    }
    return failure(WEFT_TIMED_OUT, "%s", text.c_str());
}

Status RequestList::test(Enough enough) {
    WEFT_RETURN_IF_NOT_OK(check_handles());
    if (!process_ || finished(enough)) return ok;
    process_->engine().progress();
    return finished(enough) ? ok : Status{WEFT_PENDING};
}

Status RequestList::wait(Enough enough, Engine::Patience patience) {
    WEFT_RETURN_IF_NOT_OK(check_handles());
    if (!process_) return ok;
    if (count_ == 1) patience.run = find(0);
    weft_status waited = process_->engine().wait_until([&] { return finished(enough); }, patience);
    if (waited == WEFT_INTERRUPTED) return failure(waited, "a wait was interrupted");
    return waited == WEFT_TIMED_OUT ? timed_out() : ok;
}

// --- Settle --------------------------------------------------------------------------------------

// Completes a request that has finished. The second entry of a request named twice is refused as if
// another thread had completed it.
// `request`: as find(i) returns it.
Status RequestList::settle(std::size_t i, Request* request) {
    if (!request) {
        Status lost =
            failure(WEFT_REFUSED_HANDLE, "request = %p was completed by another thread meanwhile",
                    static_cast<void*>(requests_[i]));
        requests_[i] = WEFT_REQUEST_NULL;
        return lost;
    }
    const bool stays = request->is_persistent();
    Status outcome = request->communicator->settle(*request);
    if (!stays) requests_[i] = WEFT_REQUEST_NULL;
    return outcome;
}

// Combines the outcomes of several requests: the first bad one. Takes no memory: the others would
// be lost with it.
class RequestList::Outcomes {
  public:
    void add(Status status) {
        if (status.is_ok() || bad_++ > 0) return;
        first_bad_ = status;
        std::snprintf(detail_, sizeof detail_, "%s", last_detail());
    }

    Status answer() const {
        if (bad_ == 0) return ok;
        const Status first = failure_of_rank(first_bad_.code, first_bad_.rank, "%s", detail_);
        if (bad_ > 1) append_detail("; %zu requests failed", bad_);
        return first;
    }

  private:
    Status first_bad_ = ok;
    char detail_[detail_bytes];
    std::size_t bad_ = 0;
};

Status RequestList::settle_all(weft_status* statuses) {
    Outcomes outcomes;
    for (std::size_t i = 0; i < count_; ++i) {
        Request* const request = find(i);
        Status status = state(i, request) == State::finished ? settle(i, request) : ok;
        if (statuses) statuses[i] = status.code;
        outcomes.add(status);
    }
    return outcomes.answer();
}

Status RequestList::settle_first(std::size_t* index) {
    *index = WEFT_NONE;
    for (std::size_t i = 0; i < count_; ++i) {
        Request* const request = find(i);
        if (state(i, request) != State::finished) continue;
        *index = i;
        return settle(i, request);
    }
    return ok;
}

Status RequestList::settle_finished(std::size_t* completed, std::size_t* indices,
                                    weft_status* statuses) {
    Outcomes outcomes;
    std::size_t settled = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        Request* const request = find(i);
        if (state(i, request) != State::finished) continue;
        Status status = settle(i, request);
        if (statuses) statuses[settled] = status.code;
        indices[settled++] = i;
        outcomes.add(status);
    }
    *completed = settled > 0 ? settled : WEFT_NONE;
    return outcomes.answer();
}

}  // namespace weft
