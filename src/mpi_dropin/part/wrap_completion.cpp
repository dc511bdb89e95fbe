// Completion functions. They first settle Weft's operations that are over: then the MPI's own
// function sees these as complete, and treats them like any request. Null addresses go to the MPI,
// which reports them.
#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/progress_hook.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

// A list that allocates nothing while it is short.
template <typename Value>
class ShortList {
  public:
    explicit ShortList(int most) {
        if (most <= static_cast<int>(std::size(few_))) return;
        many_ = std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(most));
        values_ = many_.get();
    }
    void add(Value value) { values_[size_++] = value; }
    void truncate(std::size_t size) { size_ = size; }
    std::size_t size() const { return size_; }
    Value* begin() const { return values_; }
    Value* end() const { return values_ + size_; }
    Value& operator[](std::size_t i) const { return values_[i]; }

  private:
    Value few_[128];
    std::unique_ptr<Value[]> many_;
    Value* values_ = few_;
    std::size_t size_ = 0;
};

// Whether a request names an operation that the program has already completed (it kept a copy of
// the handle): the generalized request waits for the next one, and must stay as it is. The MPI
// would wait for it forever.
bool is_stale(const Operation& operation) {
    return operation.is_freed || (operation.keeps_handle && !operation.is_active);
}

int refuse_stale() { return refuse_request(nullptr, Misuse::has_old_copy); }

// The entries of a request list that belong to operations of Weft.
class Watched {
  public:
    Watched(int count, const MPI_Request* requests) : operations_(count), indices_(count) {
        if (!requests) return;  // the MPI reports a bad list
        const OperationLookup lookup;
        for (int i = 0; i < count; ++i) {
            if (requests[i] == MPI_REQUEST_NULL) continue;
            Operation* const operation = lookup.of(requests[i]);
            if (operation && operation->is_constructor) {
                constructions_.push_back({i, operation});
            } else if (operation && operation->is_active && !operation->is_freed) {
                operations_.add(operation);
                indices_.add(i);
                continue;
            }
            has_stale_ |= operation && is_stale(*operation);
            has_others_ = true;
        }
    }
    // Whether the list must be refused: a request names an operation that the program has already
    // completed.
    bool has_stale() const { return has_stale_; }
    bool is_empty() const { return operations_.size() == 0 && constructions_.empty(); }
    // Whether there is anything that only the MPI can complete.
    bool has_others() const { return has_others_; }
    bool knows(int index) const {
        return std::binary_search(indices_.begin(), indices_.end(), index);
    }
    bool has_operations_left() const { return operations_.size() > 0; }
    std::span<Operation* const> operations() const {
        return {operations_.begin(), operations_.size()};
    }

    ~Watched() { show_all(); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    // Whether all of Weft's operations are over.
    bool are_complete() {
        bool all = true;
        for (Operation* operation : operations_) all &= is_complete(*operation);
        return all;
    }
    // ... and tells the MPI of those that are.
    bool settle_all() {
        show_all();
        bool all = true;
        for (Operation* operation : operations_) all &= settle(*operation);
        return all;
    }
    // Hides those that are over: the MPI may complete some or all of them.
    void hide_all() {
        for (Operation* operation : operations_) hide(*operation);
        for (const auto& [index, operation] : constructions_) hide(*operation);
    }

    std::span<const int> indices() const { return {indices_.begin(), indices_.size()}; }

    // Once all are over: completes without the MPI those that it can, and sets their requests to
    // null. The MPI is told of the others, which stay here.
    void finish_all(MPI_Request* requests, bool wants_statuses) {
        if (wants_statuses) finished_.reserve(operations_.size());
        std::size_t left = 0;
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            Operation* const operation = operations_[i];
            const int index = indices_[i];
            if (!can_finish(*operation)) {
                settle(*operation);
                operations_[left] = operation;
                indices_[left++] = index;
                has_others_ = true;
                continue;
            }
            requests[index] = MPI_REQUEST_NULL;
            const OperationOutcome outcome = finish(*operation);
            if (outcome.code != MPI_SUCCESS) failed_.emplace_back(index, outcome);
            if (wants_statuses) finished_.push_back(index);
        }
        operations_.truncate(left);
        indices_.truncate(left);
    }
    // The statuses of what finish_all() has completed.
    void fill_statuses(MPI_Status* statuses) const {
        for (const int index : finished_) fill(statuses + index);
    }
    // The list with null requests in place of Weft's operations.
    std::vector<MPI_Request> others(int count, const MPI_Request* requests) const {
        std::vector<MPI_Request> list(requests, requests + count);
        for (const int index : indices_) list[static_cast<std::size_t>(index)] = MPI_REQUEST_NULL;
        return list;
    }
    // The MPI has completed the rest, or is about to.
    void retire_all() {
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            const OperationOutcome outcome = retire(*operations_[i]);
            if (outcome.code != MPI_SUCCESS) failed_.emplace_back(indices_[i], outcome);
        }
        operations_.truncate(0);
    }
    // ... or completes it, one by one.
    void finish_rest(MPI_Request* requests) {
        finished_.insert(finished_.end(), indices_.begin(), indices_.end());
        retire_all();
        for (const int index : indices_) mpi.Wait(requests + index, MPI_STATUS_IGNORE);
        indices_.truncate(0);
    }
    // Lets the MPI complete one that it has been told of, but which its tests do not see yet.
    // Returns its index; -1: there is none.
    int complete_one(MPI_Request* requests, MPI_Status* status, int* error) const {
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            if (!operations_[i]->is_told) continue;
            *error = mpi.Wait(requests + indices_[i], status);
            return indices_[i];
        }
        return -1;
    }
    const std::vector<std::pair<int, OperationOutcome>>& failed() const { return failed_; }
    // The MPI has completed requests[index].
    OperationOutcome retire_one(int index) {
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            if (indices_[i] != index) continue;
            const OperationOutcome outcome = retire(*operations_[i]);
            for (std::size_t k = i + 1; k < operations_.size(); ++k) {
                operations_[k - 1] = operations_[k];
                indices_[k - 1] = indices_[k];
            }
            operations_.truncate(operations_.size() - 1);
            indices_.truncate(indices_.size() - 1);
            return outcome;
        }
        for (auto of = constructions_.begin(); of != constructions_.end(); ++of) {
            if (of->first != index) continue;
            finish_construction(*of->second);
            constructions_.erase(of);
            break;
        }
        return {};
    }
    // Finishes constructions whose requests the MPI has completed.
    void finish_constructions(const MPI_Request* requests) {
        std::erase_if(constructions_, [&](const auto& construction) {
            if (requests[construction.first] != MPI_REQUEST_NULL) return false;
            finish_construction(*construction.second);
            return true;
        });
    }
    // The program may have learned that some are complete, without completing them.
    void take_made_ones(const MPI_Request* requests) const {
        for (const auto& [index, operation] : constructions_) {
            int flag = 0;
            mpi.Request_get_status(requests[index], &flag, MPI_STATUS_IGNORE);
            if (flag) take_made(*operation);
        }
    }

  private:
    void show_all() {
        for (Operation* operation : operations_) show(*operation);
        for (const auto& [index, operation] : constructions_) show(*operation);
    }

    ShortList<Operation*> operations_;
    ShortList<int> indices_;  // of operations_
    std::vector<std::pair<int, Operation*>> constructions_;
    std::vector<int> finished_;
    std::vector<std::pair<int, OperationOutcome>> failed_;
    bool has_others_ = false;
    bool has_stale_ = false;
    const WithoutPolls quiet_;
};

// The return value of a completion function for several requests, some of which failed in Weft.
int with_failures(int error, const std::vector<std::pair<int, OperationOutcome>>& failed, int count,
                  MPI_Status* statuses, const std::vector<int>& place_of = {}) {
    if (failed.empty()) return error;
    const bool has_statuses = statuses != MPI_STATUSES_IGNORE;
    if (has_statuses && error == MPI_SUCCESS) {
        for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    int code = error;
    for (const auto& [index, outcome] : failed) {
        const int place = place_of.empty() ? index : place_of[static_cast<std::size_t>(index)];
        if (has_statuses) statuses[place].MPI_ERROR = outcome.code;
        raise(outcome);
        code = has_statuses ? MPI_ERR_IN_STATUS : outcome.code;
    }
    return code;
}

int with_failure(int error, const OperationOutcome& outcome, MPI_Status* status) {
    if (outcome.code == MPI_SUCCESS) return error;
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = outcome.code;
    return raise(outcome);
}

// Null: a request that only the MPI knows, or a null address, which the MPI reports.
Operation* operation_at(const MPI_Request* request) {
    return request ? operation_of(*request) : nullptr;
}

int finish_one(Operation& operation, MPI_Request* request, MPI_Status* status) {
    *request = MPI_REQUEST_NULL;
    fill(status);
    return with_failure(MPI_SUCCESS, finish(operation), status);
}

int Wait(MPI_Request* request, MPI_Status* status) {
    if (!has_operations()) [[likely]]
        return mpi.Wait(request, status);
    Operation* const operation = operation_at(request);
    if (!operation) return mpi.Wait(request, status);
    if (operation->is_constructor) {
        hide(*operation);
        const int error = mpi.Wait(request, status);
        finish_construction(*operation);
        return error;
    }
    if (is_stale(*operation)) return refuse_stale();
    if (!operation->is_active) return mpi.Wait(request, status);
    if (!operation->is_over) await_all({&operation, 1});
    if (can_finish(*operation)) return finish_one(*operation, request, status);
    settle(*operation);
    const OperationOutcome outcome = retire(*operation);
    return with_failure(mpi.Wait(request, status), outcome, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (!has_operations() || !flag) [[likely]]
        return mpi.Test(request, flag, status);
    Operation* const operation = operation_at(request);
    if (!operation) return mpi.Test(request, flag, status);
    if (operation->is_constructor) {
        hide(*operation);
        const int error = mpi.Test(request, flag, status);
        if (error == MPI_SUCCESS && *flag)
            finish_construction(*operation);
        else
            show(*operation);
        return error;
    }
    if (is_stale(*operation)) return refuse_stale();
    if (!operation->is_active) return mpi.Test(request, flag, status);
    if (!is_complete(*operation)) {
        *flag = 0;
        drive();
        return MPI_SUCCESS;
    }
    if (can_finish(*operation)) {
        *flag = 1;
        return finish_one(*operation, request, status);
    }
    settle(*operation);
    const OperationOutcome outcome = retire(*operation);
    // The MPI has all that it needs, but Intel MPI's tests may see it only after some calls.
    *flag = 1;
    return with_failure(mpi.Wait(request, status), outcome, status);
}

// All of Weft's operations are over.
int finish_list(Watched& watched, int count, MPI_Request* requests, MPI_Status* statuses) {
    watched.finish_all(requests, statuses != MPI_STATUSES_IGNORE);
    watched.retire_all();
    int error = MPI_SUCCESS;
    // It also gives null requests their statuses.
    if (watched.has_others() || statuses != MPI_STATUSES_IGNORE) {
        watched.hide_all();
        error = mpi.Waitall(count, requests, statuses);
    }
    watched.fill_statuses(statuses);
    watched.finish_constructions(requests);
    return with_failures(error, watched.failed(), count, statuses);
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    if (!has_operations()) [[likely]]
        return mpi.Waitall(count, requests, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Waitall(count, requests, statuses);
    await_all(watched.operations());
    return finish_list(watched, count, requests, statuses);
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    if (!has_operations() || !flag) [[likely]]
        return mpi.Testall(count, requests, flag, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Testall(count, requests, flag, statuses);
    *flag = 0;
    if (!watched.are_complete()) {
        drive();
        return MPI_SUCCESS;
    }
    if (!watched.has_others()) {
        *flag = 1;
        return finish_list(watched, count, requests, statuses);
    }
    // Only the MPI's Testall completes all of the others or none. (MPICH 5.0.2's
    // MPI_Request_get_status discards the status of a persistent request.)
    const bool has_statuses = statuses != MPI_STATUSES_IGNORE;
    std::vector<int> places;
    std::vector<MPI_Request> others;
    std::vector<MPI_Status> found;
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL || watched.knows(i)) continue;
        places.push_back(i);
        others.push_back(requests[i]);
        if (has_statuses) found.push_back(statuses[i]);
    }
    watched.hide_all();
    const int error = mpi.Testall(static_cast<int>(others.size()), others.data(), flag,
                                  has_statuses ? found.data() : MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < others.size(); ++i) requests[places[i]] = others[i];
    if (error == MPI_SUCCESS && !*flag) return error;
    if (error != MPI_SUCCESS) {
        // A request failed, or the list was refused and nothing has completed.
        int kind = MPI_SUCCESS;
        mpi.Error_class(error, &kind);
        if (has_statuses ? kind != MPI_ERR_IN_STATUS : kind == MPI_ERR_REQUEST) return error;
    }
    for (int i = 0; has_statuses && i < count; ++i) {
        MPI_Request none = MPI_REQUEST_NULL;
        mpi.Wait(&none, statuses + i);
        if (error != MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    for (std::size_t i = 0; i < found.size(); ++i) statuses[places[i]] = found[i];
    *flag = 1;
    watched.finish_constructions(requests);
    watched.finish_all(requests, true);
    watched.finish_rest(requests);
    if (has_statuses) watched.fill_statuses(statuses);
    return with_failures(error, watched.failed(), count, statuses);
}

// Waits until one of Weft's operations is over or, by `test`, any of the MPI's requests is
// complete. Returns when test() does not return 0.
template <typename Test>
int wait_for_any(Watched& watched, Test test) {
    constexpr std::int64_t first_ns = 2'000, last_ns = 200'000;
    const TimedWait timed(watched.operations());
    for (std::int64_t slice_ns = first_ns;; slice_ns = std::min(2 * slice_ns, last_ns)) {
        watched.settle_all();
        watched.hide_all();
        if (const int result = test()) return result;
        await_any(watched.operations(), now_ns() + slice_ns);
    }
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    if (!has_operations() || !index || !flag) [[likely]]
        return mpi.Testany(count, requests, index, flag, status);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Testany(count, requests, index, flag, status);
    watched.settle_all();
    watched.hide_all();
    *flag = 0;  // in case the MPI refuses the list
    *index = MPI_UNDEFINED;
    int error = mpi.Testany(count, requests, index, flag, status);
    if (!*flag && error == MPI_SUCCESS) {
        if (const int found = watched.complete_one(requests, status, &error); found >= 0) {
            *flag = 1;
            *index = found;
        }
    }
    if (!*flag || *index == MPI_UNDEFINED) return error;
    return with_failure(error, watched.retire_one(*index), status);
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    if (!has_operations() || !index) [[likely]]
        return mpi.Waitany(count, requests, index, status);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Waitany(count, requests, index, status);
    int error = MPI_SUCCESS;
    *index = MPI_UNDEFINED;  // in case the MPI refuses the list
    if (!watched.has_operations_left()) {
        error = mpi.Waitany(count, requests, index, status);
    } else {
        wait_for_any(watched, [&] {
            int flag = 0;
            error = mpi.Testany(count, requests, index, &flag, status);
            return flag || error != MPI_SUCCESS;
        });
    }
    if (*index == MPI_UNDEFINED) return error;
    return with_failure(error, watched.retire_one(*index), status);
}

// The requests that Testsome or Waitsome has completed.
int retire_some(Watched& watched, int error, int completed, const int* indices, int count,
                MPI_Status* statuses) {
    if (completed == MPI_UNDEFINED) return error;
    std::vector<std::pair<int, OperationOutcome>> failed;
    for (int i = 0; i < completed; ++i) {
        const OperationOutcome outcome = watched.retire_one(indices[i]);
        if (outcome.code != MPI_SUCCESS) failed.emplace_back(i, outcome);
    }
    return with_failures(error, failed, std::min(completed, count), statuses);
}

int Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    if (!has_operations() || !completed || !indices) [[likely]]
        return mpi.Testsome(count, requests, completed, indices, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Testsome(count, requests, completed, indices, statuses);
    watched.settle_all();
    watched.hide_all();
    *completed = 0;  // in case the MPI refuses the list
    int error = mpi.Testsome(count, requests, completed, indices, statuses);
    if (*completed == 0 && error == MPI_SUCCESS) {
        const int found = watched.complete_one(
            requests, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses, &error);
        if (found >= 0) indices[(*completed)++] = found;
    }
    return retire_some(watched, error, *completed, indices, count, statuses);
}

int Waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    if (!has_operations() || !completed || !indices) [[likely]]
        return mpi.Waitsome(count, requests, completed, indices, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Waitsome(count, requests, completed, indices, statuses);
    int error = MPI_SUCCESS;
    *completed = 0;  // in case the MPI refuses the list
    if (!watched.has_operations_left()) {
        error = mpi.Waitsome(count, requests, completed, indices, statuses);
    } else {
        wait_for_any(watched, [&] {
            error = mpi.Testsome(count, requests, completed, indices, statuses);
            return *completed != 0 || error != MPI_SUCCESS;
        });
    }
    return retire_some(watched, error, *completed, indices, count, statuses);
}

// --- Asking without completing ------------------------------------------------------------------

// The MPI is not told: in MPICH 5.0.2 a persistent request that it finds complete here counts as
// inactive.
int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    Operation* const operation = flag ? operation_of(request) : nullptr;
    if (operation && is_stale(*operation)) return refuse_stale();
    if (operation && operation->is_active) {
        *flag = is_complete(*operation);
        *flag ? fill(status) : drive();
        return MPI_SUCCESS;
    }
    const int error = mpi.Request_get_status(request, flag, status);
    if (operation && operation->is_constructor && error == MPI_SUCCESS && *flag)
        take_made(*operation);
    return error;
}

// MPICH's own. Unlike the others it does not let the MPI poll, which may itself have called the
// program.
int Request_is_complete(MPI_Request request) {
    Operation* const operation = operation_of(request);
    if (!operation || operation->is_constructor) return mpi.Request_is_complete(request);
    if (is_stale(*operation) || !operation->is_active) return 1;
    if (is_inside_weft()) return operation->is_over;
    const InsidePoll quiet;
    return is_complete(*operation);
}

int Request_get_status_all(int count, const MPI_Request* requests, int* flag,
                           MPI_Status* statuses) {
    if (!has_operations() || !flag) [[likely]]
        return mpi.Request_get_status_all(count, requests, flag, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Request_get_status_all(count, requests, flag, statuses);
    const bool are_complete = watched.are_complete();
    const std::vector<MPI_Request> others = watched.others(count, requests);
    const int error = mpi.Request_get_status_all(count, others.data(), flag, statuses);
    *flag = *flag && are_complete;
    if (!*flag) drive();
    if (*flag && statuses != MPI_STATUSES_IGNORE) {
        for (const int index : watched.indices()) fill(statuses + index);
    }
    watched.take_made_ones(requests);
    return error;
}

int Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
    if (!has_operations() || !index || !flag) [[likely]]
        return mpi.Request_get_status_any(count, requests, index, flag, status);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty()) return mpi.Request_get_status_any(count, requests, index, flag, status);
    for (std::size_t i = 0; i < watched.operations().size(); ++i) {
        if (!is_complete(*watched.operations()[i])) continue;
        *index = watched.indices()[i];
        *flag = 1;
        fill(status);
        return MPI_SUCCESS;
    }
    const std::vector<MPI_Request> others = watched.others(count, requests);
    const int error = mpi.Request_get_status_any(count, others.data(), index, flag, status);
    if (*index == MPI_UNDEFINED && watched.has_operations_left())
        *flag = 0;  // none of the others is active
    if (!*flag) drive();
    watched.take_made_ones(requests);
    return error;
}

int Request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                            MPI_Status* statuses) {
    if (!has_operations() || !completed || !indices) [[likely]]
        return mpi.Request_get_status_some(count, requests, completed, indices, statuses);
    Watched watched(count, requests);
    if (watched.has_stale()) return refuse_stale();
    if (watched.is_empty())
        return mpi.Request_get_status_some(count, requests, completed, indices, statuses);
    const std::vector<MPI_Request> others = watched.others(count, requests);
    const int error =
        mpi.Request_get_status_some(count, others.data(), completed, indices, statuses);
    if (*completed == MPI_UNDEFINED && watched.has_operations_left()) *completed = 0;
    for (std::size_t i = 0; i < watched.operations().size(); ++i) {
        if (!is_complete(*watched.operations()[i])) continue;
        if (statuses != MPI_STATUSES_IGNORE) fill(statuses + *completed);
        indices[(*completed)++] = watched.indices()[i];
    }
    if (*completed == 0) drive();
    watched.take_made_ones(requests);
    return error;
}

// --- Persistent requests, and ends ---------------------------------------------------------------

int Start(MPI_Request* request) {
    Operation* const operation = operation_at(request);
    if (operation && is_stale(*operation)) return refuse_stale();
    return operation && !operation->is_constructor ? start(*operation) : mpi.Start(request);
}

int Startall(int count, MPI_Request* requests) {
    if (count < 0 || !requests) return mpi.Startall(count, requests);
    for (int i = 0; i < count; ++i) {
        if (const int error = Start(requests + i)) return error;
    }
    return MPI_SUCCESS;
}

#ifdef OPEN_MPI
constexpr bool refuses_to_free_active = true;
#else
constexpr bool refuses_to_free_active = false;
#endif

int Request_free(MPI_Request* request) {
    Operation* const operation = operation_at(request);
    if (operation && is_stale(*operation)) return refuse_stale();
    if (!operation || operation->is_constructor) return mpi.Request_free(request);
    const bool is_persistent = operation->is_persistent;
    OperationOutcome outcome;
    if (operation->is_active && !is_complete(*operation)) {
        // MPI does not allow this. Each MPI keeps its own answer.
        if (refuses_to_free_active) {
            return refuse_request(operation->comm, Misuse::frees_active);
        }
        abandon(*operation);
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    if (operation->is_active) outcome = complete_now(*operation);
    if (is_persistent) {
        forget(*operation);
        mpi.Request_free(request);
    }
    *request = MPI_REQUEST_NULL;
    return raise(outcome);
}

int Cancel(MPI_Request* request) {
    Operation* const operation = operation_at(request);
    if (operation && is_stale(*operation)) return refuse_stale();
    if (!operation || operation->is_constructor) return mpi.Cancel(request);
    return refuse_request(operation->comm, Misuse::cancels);
}

const Wrapper completion_wrappers[] = {
#define WRAPPER(name) wrapper_of<name>("MPI_" #name)
    WRAPPER(Wait),
    WRAPPER(Test),
    WRAPPER(Waitall),
    WRAPPER(Testall),
    WRAPPER(Waitany),
    WRAPPER(Testany),
    WRAPPER(Waitsome),
    WRAPPER(Testsome),
    WRAPPER(Request_get_status),
    wrapper_of<Request_is_complete>("MPIX_Request_is_complete"),
    WRAPPER(Request_get_status_all),
    WRAPPER(Request_get_status_any),
    WRAPPER(Request_get_status_some),
    WRAPPER(Start),
    WRAPPER(Startall),
    WRAPPER(Request_free),
    WRAPPER(Cancel),
#undef WRAPPER
};

}  // namespace

AnyFunction completion_wrapper(const char* name) {
    return found_in(std::begin(completion_wrappers), std::end(completion_wrappers), name);
}

}  // namespace weft::dropin
