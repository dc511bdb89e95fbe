// The calls that Weft has taken. The program holds an MPI request for each: a generalized request,
// or for a persistent operation an empty receive from itself. It completes by the MPI's own
// completion functions, after settle() has told the MPI that Weft's operation is over. Where a
// wrapper completes an operation without the MPI (finish()), the MPI is not told, and its
// generalized request serves the next operation.
//
// Thread safety: any thread, one per operation, as for requests in MPI.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <functional>
#include <span>

#include "mpi_dropin/part/operation_store.h"
#include "mpi_dropin/part/settings.h"
#include "mpi_dropin/part/statistics.h"
#include "mpi_dropin/part/weft_call.h"

namespace weft::dropin {

// In a program of sessions: only counts the calls, which are left to the MPI.
void count_operations(const DropInSettings& mine);

// Call these in Init and Finalize.
int open_operations(const DropInSettings& agreed);
void close_operations();

// Takes a call; otherwise nothing has happened. *error: what the call returns, if Weft has taken
// it. *refusal: why it is nobody's.
Taker take(const ProgramCall& program, Copies copies, int* error, WrongArguments* refusal);
// The other ranks must not wait for this one, which cannot make a call that they may make.
void count_refused(int function);
void tell_of_refusal(const TakenComm& comm, int function, const char* why);
// Watches an MPI request that makes a communicator, by an operation of take_unused(false).
void watch(Operation& operation, MPI_Request request, CommConstruction&& construction,
           MPI_Comm* made);

// Whether Weft's operation is over.
bool is_complete(Operation& operation);
// Whether it can be completed without the MPI, which has not been told of it.
inline bool can_finish(const Operation& operation) {
    return !operation.is_persistent && !operation.is_told;
}

// Starts an inactive persistent operation. An error of the MPI.
int start(Operation& operation);
// Tells the MPI of an operation that is over. False: it is not.
bool settle(Operation& operation);
// Waits for all, and drives the MPI meanwhile.
void await_all(std::span<Operation* const> operations);
// ... for those of a communicator.
void await_on(const TakenComm& comm);
// Waits until one is over, for a limited time.
void await_any(std::span<Operation* const> operations, std::int64_t deadline_ns);
// Counts the time of a wait for any of several, which consists of many such waits. It must end
// before the operations are completed.
class TimedWait {
  public:
    explicit TimedWait(std::span<Operation* const> operations);
    ~TimedWait();
    TimedWait(const TimedWait&) = delete;
    TimedWait& operator=(const TimedWait&) = delete;

  private:
    std::span<Operation* const> operations_;
    std::int64_t begin_ns_ = 0;  // 0: nothing is counted
    std::int64_t pending_ = 0;
};
// How an operation ended; the MPI knows only that it did.
struct OperationOutcome {
    int code = MPI_SUCCESS;
    TakenComm* comm = nullptr;  // kept, if the code is an error
};
// Completes an operation that is over, without the MPI. The caller sets the program's handle to
// null. REQUIRES: can_finish().
OperationOutcome finish(Operation& operation);
// Fills an operation's status: not cancelled, no data.
void fill(MPI_Status* status);
// Before the MPI's completion function frees the handle of an operation that is over: forgets the
// operation, or makes a persistent one inactive.
OperationOutcome retire(Operation& operation);
// operation_of() does not find it while a completion function of the MPI may free its handle, which
// another operation may get at once.
void hide(Operation& operation);
void show(Operation& operation);
// Calls the error handler if the outcome is an error. Returns the code.
int raise(const OperationOutcome& outcome);
// Completes an operation that is over as MPI_Wait does, for a call that the MPI does not complete
// requests by.
OperationOutcome complete_now(Operation& operation);
// Frees an inactive persistent operation.
void forget(Operation& operation);
// The program has freed an active operation, which goes on.
void abandon(Operation& operation);
// A constructor's request is complete, but the program has not yet completed it.
void take_made(Operation& operation);
// ... and the program has.
void finish_construction(Operation& operation);

// While a completion function of the MPI gets requests of operations that may go on: it must not
// complete these.
class WithoutPolls {
  public:
    WithoutPolls();
    ~WithoutPolls();
    WithoutPolls(const WithoutPolls&) = delete;
    WithoutPolls& operator=(const WithoutPolls&) = delete;

  private:
    bool was_in_wrapper_;
};

// Lets the MPI make progress.
void drive();

// A call that a rank cannot make as it is, though other ranks may: take() has refused it, for a
// mistake of the program on one rank. Makes it in the way in which the MPI makes it, or raises the
// MPI's own error. The other ranks are told (weft_comm_refuse_call), so that none waits forever.
// `ask` calls the MPI's nonblocking function. Returns what the call returns.
int take_or_refuse(const ProgramCall& program, WrongArguments refusal,
                   const std::function<int(MPI_Request*)>& ask);

}  // namespace weft::dropin
