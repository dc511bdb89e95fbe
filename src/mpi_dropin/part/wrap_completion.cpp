// Completion functions. Those of Weft's operations that are over are settled first: then the MPI's own function sees
// them as complete, and does what it does with any request.
#include <algorithm>
#include <utility>
#include <vector>

#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

// Those of a list of requests that are not the MPI's alone.
class Watched {
  public:
    Watched(int count, const MPI_Request* requests) {
        if (!has_operations()) return;
        for (int i = 0; i < count; ++i) {
            Operation* const operation = operation_of(requests[i]);
            if (!operation) continue;
            if (operation->construction) {
                constructions_.push_back({i, operation});
            } else if (operation->is_active) {
                operations_.push_back(operation);
                indices_.push_back(i);
            }
        }
    }
    bool is_empty() const { return operations_.empty() && constructions_.empty(); }
    bool has_operations_left() const { return !operations_.empty(); }
    const std::vector<Operation*>& operations() const { return operations_; }

    ~Watched() { show_all(); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    // Whether all of Weft's operations are over; tells the MPI of those that are.
    bool settle_all() {
        show_all();
        bool all = true;
        for (Operation* operation : operations_) all &= settle(*operation);
        return all;
    }
    // The MPI may complete those that are over, or some of them.
    void hide_all() {
        for (Operation* operation : operations_) hide(*operation);
    }

    // The MPI has completed all requests, or is about to.
    std::vector<std::pair<int, Outcome>> retire_all() {
        std::vector<std::pair<int, Outcome>> failed;
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            const Outcome outcome = retire(*operations_[i]);
            if (outcome.code != MPI_SUCCESS) failed.emplace_back(indices_[i], outcome);
        }
        operations_.clear();
        return failed;
    }
    // The MPI has completed requests[index].
    Outcome retire_one(int index) {
        for (std::size_t i = 0; i < operations_.size(); ++i) {
            if (indices_[i] != index) continue;
            const Outcome outcome = retire(*operations_[i]);
            operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(i));
            indices_.erase(indices_.begin() + static_cast<std::ptrdiff_t>(i));
            return outcome;
        }
        for (const auto& [at, operation] : constructions_) {
            if (at == index) finish_construction(*operation);
        }
        return {};
    }
    void finish_constructions() const {
        for (const auto& [index, operation] : constructions_) finish_construction(*operation);
    }

  private:
    void show_all() {
        for (Operation* operation : operations_) show(*operation);
    }

    std::vector<Operation*> operations_;
    std::vector<int> indices_;  // of operations_
    std::vector<std::pair<int, Operation*>> constructions_;
};

// What a completion function returns for several requests, some of which failed on Weft.
int with_failures(int error, const std::vector<std::pair<int, Outcome>>& failed, int count,
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

int with_failure(int error, const Outcome& outcome, MPI_Status* status) {
    if (outcome.code == MPI_SUCCESS) return error;
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = outcome.code;
    return raise(outcome);
}

int Wait(MPI_Request* request, MPI_Status* status) {
    Operation* const operation = operation_of(*request);
    if (!operation) return mpi.Wait(request, status);
    if (operation->construction) {
        const int error = mpi.Wait(request, status);
        finish_construction(*operation);
        return error;
    }
    if (!operation->is_active) return mpi.Wait(request, status);
    if (!operation->is_over) await_all({&operation, 1});
    settle(*operation);
    const Outcome outcome = retire(*operation);
    return with_failure(mpi.Wait(request, status), outcome, status);
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    Operation* const operation = operation_of(*request);
    if (!operation) return mpi.Test(request, flag, status);
    if (operation->construction) {
        const int error = mpi.Test(request, flag, status);
        if (error == MPI_SUCCESS && *flag) finish_construction(*operation);
        return error;
    }
    if (!operation->is_active) return mpi.Test(request, flag, status);
    if (!settle(*operation)) {
        *flag = 0;
        drive();
        return MPI_SUCCESS;
    }
    const Outcome outcome = retire(*operation);
    return with_failure(mpi.Test(request, flag, status), outcome, status);
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Waitall(count, requests, statuses);
    await_all(watched.operations());
    watched.settle_all();
    const auto failed = watched.retire_all();
    const int error = mpi.Waitall(count, requests, statuses);
    watched.finish_constructions();
    return with_failures(error, failed, count, statuses);
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Testall(count, requests, flag, statuses);
    if (!watched.settle_all()) {
        *flag = 0;
        drive();
        return MPI_SUCCESS;
    }
    // Not by the MPI's Testall: MPICH 5.0.2's fails if a persistent collective is its own and another request is not.
    for (int i = 0; i < count; ++i) {
        const int error = mpi.Request_get_status(requests[i], flag, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS || !*flag) return error;
    }
    watched.hide_all();
    *flag = 1;
    const int error = mpi.Waitall(count, requests, statuses);
    const auto failed = watched.retire_all();
    watched.finish_constructions();
    return with_failures(error, failed, count, statuses);
}

// Waits for what comes first: one of Weft's operations, or, by `test`, any of the MPI's. Returns when test() does
// not return 0.
template <typename Test>
int wait_for_any(Watched& watched, Test test) {
    constexpr std::int64_t first_ns = 2'000, last_ns = 200'000;
    for (std::int64_t slice_ns = first_ns;; slice_ns = std::min(2 * slice_ns, last_ns)) {
        watched.settle_all();
        watched.hide_all();
        if (const int result = test()) return result;
        await_any(watched.operations(), now_ns() + slice_ns);
    }
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Testany(count, requests, index, flag, status);
    watched.settle_all();
    watched.hide_all();
    const int error = mpi.Testany(count, requests, index, flag, status);
    if (!*flag || *index == MPI_UNDEFINED) return error;
    return with_failure(error, watched.retire_one(*index), status);
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Waitany(count, requests, index, status);
    int error = MPI_SUCCESS;
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
    std::vector<std::pair<int, Outcome>> failed;
    for (int i = 0; i < completed; ++i) {
        const Outcome outcome = watched.retire_one(indices[i]);
        if (outcome.code != MPI_SUCCESS) failed.emplace_back(i, outcome);
    }
    return with_failures(error, failed, std::min(completed, count), statuses);
}

int Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Testsome(count, requests, completed, indices, statuses);
    watched.settle_all();
    watched.hide_all();
    const int error = mpi.Testsome(count, requests, completed, indices, statuses);
    return retire_some(watched, error, *completed, indices, count, statuses);
}

int Waitsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
    Watched watched(count, requests);
    if (watched.is_empty()) return mpi.Waitsome(count, requests, completed, indices, statuses);
    int error = MPI_SUCCESS;
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

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    if (Operation* const operation = operation_of(request)) {
        if (operation->is_active) settle(*operation);
    }
    return mpi.Request_get_status(request, flag, status);
}

int Request_get_status_all(int count, const MPI_Request* requests, int* flag,
                           MPI_Status* statuses) {
    Watched watched(count, requests);
    watched.settle_all();
    return mpi.Request_get_status_all(count, requests, flag, statuses);
}

int Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status) {
    Watched watched(count, requests);
    watched.settle_all();
    return mpi.Request_get_status_any(count, requests, index, flag, status);
}

int Request_get_status_some(int count, const MPI_Request* requests, int* completed, int* indices,
                            MPI_Status* statuses) {
    Watched watched(count, requests);
    watched.settle_all();
    return mpi.Request_get_status_some(count, requests, completed, indices, statuses);
}

// --- Persistent requests, and ends ---------------------------------------------------------------

int Start(MPI_Request* request) {
    Operation* const operation = operation_of(*request);
    return operation && !operation->construction ? start(*operation) : mpi.Start(request);
}

int Startall(int count, MPI_Request* requests) {
    for (int i = 0; i < count; ++i) {
        if (const int error = Start(requests + i)) return error;
    }
    return MPI_SUCCESS;
}

int Request_free(MPI_Request* request) {
    Operation* const operation = operation_of(*request);
    if (!operation || operation->construction) return mpi.Request_free(request);
    // MPI does not allow it for active collective operations.
    if (operation->is_active) return raise_error(*operation->comm, MPI_ERR_REQUEST);
    forget(*operation);
    return mpi.Request_free(request);
}

int Cancel(MPI_Request* request) {
    Operation* const operation = operation_of(*request);
    if (!operation || operation->construction) return mpi.Cancel(request);
    return raise_error(*operation->comm, MPI_ERR_REQUEST);
}

const Wrapper wrappers[] = {
#define WRAPPER(name) wrapper("MPI_" #name, name)
    WRAPPER(Wait),
    WRAPPER(Test),
    WRAPPER(Waitall),
    WRAPPER(Testall),
    WRAPPER(Waitany),
    WRAPPER(Testany),
    WRAPPER(Waitsome),
    WRAPPER(Testsome),
    WRAPPER(Request_get_status),
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
    return found_in(std::begin(wrappers), std::end(wrappers), name);
}

}  // namespace weft::dropin
