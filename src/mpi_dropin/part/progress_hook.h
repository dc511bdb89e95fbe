// Weft's progress inside the MPI's own blocking calls: an MPI with a progress hook calls
// weft_progress() wherever it polls. MPICH has MPIX_Async_start, Open MPI opal_progress_register.
// Intel MPI and MPICH's libmpi_abi.so have none.
//
// Thread safety: any thread.
#pragma once

namespace weft::dropin {

// Whether the MPI has one.
bool has_hook();

// The program has initialized the MPI, in this thread. Below MPI_THREAD_SERIALIZED only this thread
// is let in. Until close_hook(), the MPI calls Weft while anything needs it.
void open_hook(int thread_level);
void close_hook();
// Before MPI_Finalize, which in MPICH waits for the hook to end.
void close_hook_if_awaited();

// One more operation needs it, or one less. Without an open hook they do nothing.
void need_hook();
void need_hook_less();

// The caller is inside the hook: the MPI must not be asked to poll; it does so afterwards.
bool is_in_hook();

// Whether this thread is inside a call of Weft that calls the MPI: it has Weft's lock.
bool is_inside_weft();

// The same for a function that the MPI, or code that it calls, calls for another reason.
class InsidePoll {
  public:
    InsidePoll();
    ~InsidePoll();
    InsidePoll(const InsidePoll&) = delete;
    InsidePoll& operator=(const InsidePoll&) = delete;

  private:
    bool was_closed_, was_running_;
};

// While Weft calls the MPI with its lock held, the hook does nothing.
class WithoutHook {
  public:
    WithoutHook();
    ~WithoutHook();
    WithoutHook(const WithoutHook&) = delete;
    WithoutHook& operator=(const WithoutHook&) = delete;

  private:
    bool was_closed_;
};

}  // namespace weft::dropin
