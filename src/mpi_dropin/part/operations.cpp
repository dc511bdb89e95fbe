#include "mpi_dropin/part/operations.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "mpi_dropin/part/communicators.h"
#include "mpi_dropin/part/mpi_channel.h"
#include "mpi_dropin/part/operation_store.h"
#include "mpi_dropin/part/progress_hook.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

std::atomic<unsigned> finished_alone{0};
DropInSettings settings;
bool counts_only = false;  // a program of sessions: there is nothing to take
MPI_Request never = MPI_REQUEST_NULL;
std::atomic<Operation*> abandoned{nullptr};  // the first of a list

// The code of an outcome for which no error handler is called.
int dropped(const OperationOutcome& outcome) {
    if (outcome.comm) let_go(*outcome.comm);
    return outcome.code;
}

// The functions of a generalized request.
int describe_status(void*, MPI_Status* status) {
    fill(status);
    return MPI_SUCCESS;
}
int free_request(void* owner) {
    const std::unique_ptr<Operation*> owned(static_cast<Operation**>(owner));
    // Otherwise code that does not call our wrappers has completed it.
    Operation* const operation = owned ? *owned : nullptr;
    if (!operation) return MPI_SUCCESS;
    if (!operation->is_active) {  // freed by it long ago: close_unused()
        disown(*operation);
        return MPI_SUCCESS;
    }
    if (!operation->is_told) {  // freed
        leave(*operation);
        disown(*operation);
        abandon(*operation);
        return MPI_SUCCESS;
    }
    return dropped(retire(*operation));
}
int ignore_cancel(void*, int) { return MPI_SUCCESS; }

thread_local bool is_in_wrapper = false;  // of a completion function for several requests

// The MPI's completion functions call these two if their caller is not our wrapper.
int poll_request(void* owner, MPI_Status*) {
    Operation* const operation = *static_cast<Operation**>(owner);
    if (!operation || !operation->is_active || is_in_wrapper || is_inside_weft())
        return MPI_SUCCESS;
    const InsidePoll quiet;
    settle(*operation);
    return MPI_SUCCESS;
}
int await_requests(int count, void** owners, double, MPI_Status*) {
    for (int i = 0; i < count; ++i) {
        Operation* const operation = *static_cast<Operation**>(owners[i]);
        if (!operation || !operation->is_active) continue;
        await_all({&operation, 1});
        settle(*operation);
    }
    return MPI_SUCCESS;
}

// Not over the MPI with several threads: one that has Weft's lock may be waiting for the MPI's.
bool is_polled() {
    return mpi.Grequest_start_polled && !(is_mpi_channel_open() && Exclusive::has_several_threads);
}

// The operation finds its way from the MPI's request, too.
int start_generalized(Operation& operation, MPI_Request* request) {
    std::unique_ptr<Operation*> owner(new (std::nothrow) Operation*(&operation));
    if (!owner) return MPI_ERR_NO_MEM;
    const int error =
        is_polled() ? mpi.Grequest_start_polled(describe_status, free_request, ignore_cancel,
                                                poll_request, await_requests, owner.get(), request)
                    : mpi.Grequest_start(describe_status, free_request, ignore_cancel, owner.get(),
                                         request);
    if (error == MPI_SUCCESS) operation.owner = owner.release();
    return error;
}

int fetch(const Operation& operation) {
    if (operation.send.has_copy()) {
        if (const int error = operation.send.fetch()) return error;
    }
    if (!operation.fetches) return MPI_SUCCESS;
    if (const int error = operation.recv.fetch()) return error;
    const Operation::OwnPart& own = operation.own;
    if (own.bytes > 0) {
        std::copy_n(operation.send.copy() + own.from, own.bytes, operation.recv.copy() + own.to);
    }
    return MPI_SUCCESS;
}

// Weft's operation has ended.
void end(Operation& operation, weft_status status) {
    operation.is_over = true;
    if (operation.combining) need_hook_less();
    if (status == WEFT_OK) {
        operation.outcome = operation.stores ? operation.recv.store() : MPI_SUCCESS;
        if (operation.combining && error_of(*operation.combining) != MPI_SUCCESS) {
            operation.outcome = error_of(*operation.combining);
        }
    } else {
        operation.outcome = MPI_ERR_OTHER;
        std::fprintf(stderr, "weft: %s failed on rank %d: %s\n", name_of(operation.function),
                     operation.comm->rank, weft_last_detail());
    }
    if (settings.prints_statistics) {
        const std::int64_t now = now_ns();
        if (operation.wait_began_ns > 0) operation.waited_ns += now - operation.wait_began_ns;
        statistics.add_times(operation.function, now - operation.started_ns, operation.waited_ns,
                             operation.waiting_ns);
    }
}

// Whether Weft's operation has ended. Weft may lack the memory to say what a wait waits for: the
// operation goes on.
bool has_ended(weft_status status) { return status <= 0 && status != WEFT_REFUSED_MEMORY; }

// What a start that Weft has refused is to the MPI.
int error_of_start(weft_status status) {
    return status == WEFT_REFUSED_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
}

// Counts a call that is not taken.
Taker leave_to_mpi(Operation* operation, int function, Left why) {
    if (operation) give_back(*operation);
    if (settings.prints_statistics) statistics.count_left(function, why);
    return Taker::the_mpi;
}

// A call that Weft should have taken cannot be made for a reason that has nothing to do with its
// arguments, such as memory. Returns the error. The program may make the call again, so the other
// ranks are not told.
int give_up(Operation& operation, int error) {
    keep(*operation.comm);
    const OperationOutcome outcome{error, operation.comm};
    give_back(operation);
    return raise(outcome);
}

int open_request(Operation& operation, MPI_Request* request) {
    int error;
    if (operation.is_persistent) {
        error = take_ticket(&operation.ticket);
        if (error != MPI_SUCCESS) return error;
        error = open_receive(operation.ticket, request);
    } else {
        error = start_generalized(operation, request);
    }
    if (error != MPI_SUCCESS) return error;
    operation.handle = *request;
    operation.keeps_handle = !operation.is_persistent;
    enter(operation);
    return MPI_SUCCESS;
}

OperationOutcome outcome_of(const Operation& operation) {
    if (operation.outcome == MPI_SUCCESS) return {};
    keep(*operation.comm);
    return {operation.outcome, operation.comm};
}

void free_persistent(Operation& operation) {
    MPI_Request request = operation.handle;
    forget(operation);
    mpi.Request_free(&request);
}

// Completes those of the abandoned operations that are over, or waits for all.
void complete_abandoned(bool waits) {
    Operation* next = nullptr;
    for (Operation* operation = abandoned.exchange(nullptr); operation; operation = next) {
        next = operation->next_abandoned;
        if (waits) await_all({&operation, 1});
        if (!is_complete(*operation)) {
            abandon(*operation);
            continue;
        }
        const bool is_persistent = operation->is_persistent;
        raise(complete_now(*operation));
        if (is_persistent) free_persistent(*operation);
    }
}

// A blocking call: it has no MPI request.
int finish_blocking(Operation& operation) {
    Operation* const one = &operation;
    await_all({&one, 1});
    const OperationOutcome outcome = outcome_of(operation);
    give_back(operation);
    return raise(outcome);
}

}  // namespace

void count_operations(const DropInSettings& mine) {
    settings = mine;
    counts_only = true;
}

int open_operations(const DropInSettings& agreed) {
    settings = agreed;
    counts_only = false;
    if (const int error = open_tickets()) return error;
    return mpi.Grequest_start(describe_status, free_request, ignore_cancel, nullptr, &never);
}

void close_operations() {
    await_all(pending_operations(nullptr));
    complete_abandoned(true);
    // The MPI must not find requests that the program has left behind: it would free those of a
    // ticket's communicator.
    for (Operation* operation : left_operations()) {
        const bool is_persistent = operation->is_persistent;
        if (operation->is_active) dropped(complete_now(*operation));
        if (is_persistent) free_persistent(*operation);
    }
    close_unused();
    if (never != MPI_REQUEST_NULL) {
        mpi.Grequest_complete(never);
        mpi.Wait(&never, MPI_STATUS_IGNORE);
    }
    close_tickets();
    settings = {};  // takes nothing more
}

void tell_of_refusal(const TakenComm& comm, int function, const char* why) {
    if (!comm.comm) return;
    char sentence[96];
    std::snprintf(sentence, sizeof sentence, "%s: %s", name_of(function), why);
    weft_comm_refuse_call(comm.comm, sentence);
}

void count_refused(int function) {
    if (settings.prints_statistics) statistics.count_left(function, Left::refused);
}

Taker take(const ProgramCall& program, Copies copies, int* error, WrongArguments* refusal) {
    const int function = function_of(program.collective, program.form);
    if (!settings.takes[function]) return leave_to_mpi(nullptr, function, Left::disabled);
    TakenComm* const taken_comm = taken(program.comm);
    if (!taken_comm)
        return leave_to_mpi(nullptr, function, counts_only ? Left::session : Left::communicator);
    if (abandoned.load(std::memory_order_relaxed)) complete_abandoned(false);
    const std::int64_t begin_ns = settings.prints_statistics ? now_ns() : 0;
    Operation& operation = take_unused(program.form == Form::nonblocking);
    operation.comm = taken_comm;
    keep(*taken_comm);
    operation.collective = program.collective;
    operation.function = function;
    operation.is_persistent = program.form == Form::persistent;
    weft_call call{};
    Taker taker = Taker::nobody;
    try {
        taker = prepare(operation, program, settings.calls_back, copies, call, *refusal);
    } catch (const std::bad_alloc&) {
        *error = give_up(operation, MPI_ERR_NO_MEM);
        return Taker::weft;
    }
    if (taker == Taker::nobody) {
        give_back(operation);
        return taker;
    }
    if (taker == Taker::the_mpi) {
        return leave_to_mpi(&operation, function,
                            combines(program.collective) ? Left::operation : Left::refused);
    }
    if (settings.min_bytes > 0 && !has_local_sizes(program.collective) &&
        static_cast<std::int64_t>(operation.bytes) < settings.min_bytes) {
        return leave_to_mpi(&operation, function, Left::small);
    }
    if (!taken_comm->comm) {
        *error = give_up(operation, MPI_ERR_NO_MEM);
        return Taker::weft;
    }
    // Not to the MPI: the other ranks' calls are taken.
    if (const int failed = operation.is_persistent ? MPI_SUCCESS : fetch(operation)) {
        *error = give_up(operation, failed);
        return Taker::weft;
    }
    const weft_status status = begin(operation, call);
    if (status == WEFT_REFUSED_ARGUMENT) {
        const char* const why = weft_last_detail();
        *refusal = {MPI_ERR_BUFFER, std::strstr(why, " overlaps ") ? "its buffers overlap" : why};
        give_back(operation);
        return Taker::nobody;
    }
    if (status != WEFT_OK) {
        std::fprintf(stderr, "weft: %s on rank %d: %s\n", name_of(function), taken_comm->rank,
                     weft_last_detail());
        *error = give_up(operation, error_of_start(status));
        return Taker::weft;
    }
    operation.send.keep_types();
    operation.recv.keep_types();
    operation.is_active = !operation.is_persistent;
    if (operation.combining && operation.is_active) need_hook();
    if (settings.prints_statistics) {
        operation.started_ns = now_ns();
        statistics.count_taken(function, operation.bytes);
        statistics.add_inside(function, operation.started_ns - begin_ns);
    }
    if (program.form == Form::blocking) {
        *error = finish_blocking(operation);
        return Taker::weft;
    }
    if (operation.keeps_handle) {
        *program.request = operation.handle;
    } else if ((*error = open_request(operation, program.request)) != MPI_SUCCESS) {
        if (operation.is_persistent) {
            weft_comm_break(taken_comm->comm, "MPI_Recv_init failed");
            forget(operation);
            raise_error(*taken_comm, *error);
        } else {
            finish_blocking(operation);
        }
    }
    return Taker::weft;
}

void watch(Operation& operation, MPI_Request request, CommConstruction&& construction,
           MPI_Comm* made) {
    operation.handle = request;
    operation.is_constructor = true;
    operation.construction.emplace(std::move(construction));
    // Open MPI's Fortran bindings pass the address of a local variable, which is gone later.
    operation.made = *made;
    operation.made_at = made;
    enter(operation);
}

void take_made(Operation& operation) {
    if (!operation.construction) return;
    operation.construction->take(operation.made != MPI_COMM_NULL ? operation.made
                                                                 : *operation.made_at);
    operation.construction.reset();
}

void finish_construction(Operation& operation) {
    if (!operation.is_hidden) leave(operation);
    take_made(operation);
    give_back(operation);
}

int start(Operation& operation) {
    if (operation.is_active) {
        if (!operation.is_persistent || !is_complete(operation)) {
            return refuse_request(operation.comm, Misuse::starts_active);
        }
        // The program knows that it is complete, but has not completed it.
        if (const int error = raise(complete_now(operation))) return error;
    }
    if (const int error = fetch(operation)) return raise_error(*operation.comm, error);
    const std::int64_t begin_ns = settings.prints_statistics ? now_ns() : 0;
    // The MPI's first: Weft's operation cannot be taken back.
    if (const int error = mpi.Start(&operation.handle)) return raise_error(*operation.comm, error);
    if (const weft_status status = weft_start(&operation.request); status != WEFT_OK) {
        std::fprintf(stderr, "weft: MPI_Start on rank %d: %s\n", operation.comm->rank,
                     weft_last_detail());
        complete_receive(operation.ticket);
        mpi.Wait(&operation.handle, MPI_STATUS_IGNORE);
        return raise_error(*operation.comm, error_of_start(status));
    }
    operation.is_active = true;
    if (operation.combining) need_hook();
    operation.is_over = operation.is_told = false;
    operation.outcome = MPI_SUCCESS;
    operation.waited_ns = operation.waiting_ns = 0;
    if (settings.prints_statistics) {
        operation.started_ns = now_ns();
        statistics.add_inside(operation.function, operation.started_ns - begin_ns);
    }
    return MPI_SUCCESS;
}

bool is_complete(Operation& operation) {
    if (operation.is_over) return true;
    const weft_status status = weft_test(&operation.request);
    if (!has_ended(status)) return false;
    end(operation, status);
    return true;
}

bool settle(Operation& operation) {
    if (operation.is_told) return true;
    if (!is_complete(operation)) return false;
    operation.is_told = true;
    if (operation.is_persistent) {
        complete_receive(operation.ticket);
    } else {
        mpi.Grequest_complete(operation.handle);
    }
    return true;
}

void await_all(std::span<Operation* const> operations) {
    constexpr std::int64_t first_ns = 50'000, last_ns = 400'000;
    constexpr std::size_t at_once = 64;
    // An operation that is already over needs no clock.
    if (operations.size() == 1 && operations[0]->is_active && is_complete(*operations[0])) return;
    const std::int64_t begin_ns = now_ns();
    std::int64_t group_begin_ns = begin_ns;
    std::int64_t slice_ns = first_ns, deadline_ns = begin_ns + first_ns;
    for (std::size_t from = 0; from < operations.size();) {
        Operation* group[at_once];
        weft_request requests[at_once];
        weft_status statuses[at_once];
        std::size_t size = 0;
        for (; from < operations.size() && size < at_once; ++from) {
            Operation& operation = *operations[from];
            if (operation.is_over || !operation.is_active) continue;
            group[size] = &operation;
            requests[size++] = operation.request;
        }
        if (size == 0) break;
        std::fill_n(statuses, size, WEFT_PENDING);
        while (statuses[0] == WEFT_PENDING &&
               !has_ended(weft_waitall_until(size, requests, statuses, deadline_ns))) {
            drive();
            slice_ns = std::min(2 * slice_ns, last_ns);
            deadline_ns = now_ns() + slice_ns;
        }
        const std::int64_t end_ns = settings.prints_statistics ? now_ns() : group_begin_ns;
        const std::int64_t share_ns = (end_ns - group_begin_ns) / static_cast<std::int64_t>(size);
        group_begin_ns = end_ns;
        for (std::size_t i = 0; i < size; ++i) {
            group[i]->request = requests[i];
            group[i]->waited_ns += end_ns - begin_ns;
            group[i]->waiting_ns += share_ns;
            // If Weft has refused to wait for all, it has written none of them.
            while (!has_ended(statuses[i])) {
                drive();
                statuses[i] = weft_wait_until(&group[i]->request, now_ns() + last_ns);
            }
            end(*group[i], statuses[i]);
        }
    }
}

void await_on(const TakenComm& comm) { await_all(pending_operations(&comm)); }

void await_any(std::span<Operation* const> operations, std::int64_t deadline_ns) {
    for (Operation* operation : operations) {
        if (!operation->is_active || operation->is_over) continue;
        const weft_status status = weft_wait_until(&operation->request, deadline_ns);
        if (has_ended(status)) end(*operation, status);
        return;
    }
}

TimedWait::TimedWait(std::span<Operation* const> operations) : operations_(operations) {
    if (!settings.prints_statistics) return;
    begin_ns_ = now_ns();
    for (Operation* operation : operations_) {
        if (!operation->is_active || operation->is_over) continue;
        operation->wait_began_ns = begin_ns_;
        ++pending_;
    }
}

TimedWait::~TimedWait() {
    if (pending_ == 0) return;
    const std::int64_t lasted_ns = now_ns() - begin_ns_;
    for (Operation* operation : operations_) {
        if (std::exchange(operation->wait_began_ns, 0) == 0) continue;
        const std::int64_t share_ns = lasted_ns / pending_;
        if (operation->is_over) {
            statistics.add_times(operation->function, 0, 0, share_ns);  // the rest has been added
        } else {
            operation->waited_ns += lasted_ns;
            operation->waiting_ns += share_ns;
        }
    }
}

void fill(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    // A count of 0 and "not cancelled" are zeroes in every MPI's status.
    const int error = status->MPI_ERROR;
    *status = MPI_Status{};
    status->MPI_ERROR = error;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
}

OperationOutcome finish(Operation& operation) {
    const OperationOutcome outcome = outcome_of(operation);
    give_back(operation);
    // The MPI must progress even if the program calls nothing else.
    constexpr unsigned seldom = 32;
    const unsigned number = finished_alone.load(std::memory_order_relaxed) + 1;
    finished_alone.store(number, std::memory_order_relaxed);
    if (number % seldom == 0) drive();
    return outcome;
}

OperationOutcome retire(Operation& operation) {
    const OperationOutcome outcome = outcome_of(operation);
    if (operation.is_persistent) {
        operation.is_active = operation.is_over = operation.is_told = false;
        return outcome;
    }
    if (!operation.is_hidden) leave(operation);
    disown(operation);
    give_back(operation);
    return outcome;
}

void hide(Operation& operation) {
    if (!operation.is_constructor && (operation.is_persistent || !operation.is_told)) return;
    operation.is_hidden = true;
    if (operation.owner) *operation.owner = nullptr;
    leave(operation);
}

void show(Operation& operation) {
    if (!operation.is_hidden) return;
    operation.is_hidden = false;
    if (operation.owner) *operation.owner = &operation;
    enter(operation);
}

int raise(const OperationOutcome& outcome) {
    if (outcome.code == MPI_SUCCESS) return MPI_SUCCESS;
    raise_error(*outcome.comm, outcome.code);
    let_go(*outcome.comm);
    return outcome.code;
}

OperationOutcome complete_now(Operation& operation) {
    if (can_finish(operation)) return finish(operation);
    settle(operation);
    MPI_Request request = operation.handle;
    const OperationOutcome outcome = retire(operation);
    mpi.Wait(&request, MPI_STATUS_IGNORE);
    return outcome;
}

void abandon(Operation& operation) {
    operation.is_freed = true;
    operation.next_abandoned = abandoned.load();
    while (!abandoned.compare_exchange_weak(operation.next_abandoned, &operation)) {
    }
}

void forget(Operation& operation) {
    leave(operation);
    weft_request_free(&operation.request);
    give_back(operation);
}

WithoutPolls::WithoutPolls() : was_in_wrapper_(std::exchange(is_in_wrapper, true)) {}
WithoutPolls::~WithoutPolls() { is_in_wrapper = was_in_wrapper_; }

void drive() {
    int flag = 0;
    mpi.Request_get_status(never, &flag, MPI_STATUS_IGNORE);
}

namespace {

enum class MpiKind : std::uint8_t { mpich, openmpi, unknown };

// Whose library the process has: the standard's binary interface does not say.
MpiKind mpi_kind() {
    static const MpiKind found = [] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
        int length = 0;
        mpi.Get_library_version(version, &length);
        if (std::strstr(version, "Open MPI")) return MpiKind::openmpi;
        const bool is_mpich = std::strstr(version, "MPICH") || std::strstr(version, "Intel");
        return is_mpich ? MpiKind::mpich : MpiKind::unknown;
    }();
    return found;
}

int class_of(int code) {
    int error_class = MPI_ERR_OTHER;
    mpi.Error_class(code, &error_class);
    return error_class;
}

// While it lives, errors of calls on the communicator return.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        mpi.Comm_get_errhandler(comm_, &before_);
        mpi.Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn() {
        mpi.Comm_set_errhandler(comm_, before_);
        mpi.Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// The MPI's own error for a call; MPI_SUCCESS: it would make it, or nobody knows. The MPI must not
// begin the call: the other ranks' are Weft's.
int own_error(const ProgramCall& program, const WrongArguments& refusal,
              const std::function<int(MPI_Request*)>& ask) {
    // MPICH looks for a null request last.
    if (mpi_kind() == MpiKind::mpich && refusal.may_ask) {
        const ErrorsReturn quiet(program.comm);
        const int code = ask(nullptr);
        return class_of(code) == MPI_ERR_ARG ? MPI_SUCCESS : code;
    }
    // Open MPI checks this in two reductions alone.
    if (mpi_kind() == MpiKind::openmpi && program.send.at == program.recv.at) {
        if (program.collective == MpiCollective::Allreduce) return MPI_ERR_BUFFER;
        if (program.collective == MpiCollective::Reduce) return MPI_ERR_ARG;
    }
    // The others report these in any case, by their class alone.
    switch (refusal.error) {
        case MPI_ERR_COUNT:
        case MPI_ERR_TYPE:
        case MPI_ERR_ROOT:
        case MPI_ERR_OP:
        case MPI_ERR_ARG: return refusal.error;
        default: return MPI_SUCCESS;
    }
}

}  // namespace

int take_or_refuse(const ProgramCall& program, WrongArguments refusal,
                   const std::function<int(MPI_Request*)>& ask) {
    TakenComm& comm = *taken(program.comm);
    const int function = function_of(program.collective, program.form);
    std::string why = refusal.why;
    int code = own_error(program, refusal, ask);
    if (code == MPI_SUCCESS) {
        int error = MPI_SUCCESS;
        const Taker taker = take(program, Copies::all, &error, &refusal);
        if (taker == Taker::weft) return error;
        why = refusal.why;
        code = refusal.error;
        std::fprintf(stderr, "weft: %s on rank %d: %s\n", name_of(function), comm.rank,
                     why.c_str());
    }
    count_refused(function);
    tell_of_refusal(comm, function, why.c_str());
    return raise_error(comm, code);
}

}  // namespace weft::dropin
