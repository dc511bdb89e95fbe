// What every C function does around its body: find the process, catch exceptions, name the
// function.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <optional>

#include "base/cancellation.h"
#include "base/status.h"
#include "base/user_code.h"
#include "engine/user_threads.h"
#include "process/process.h"
#include "weft/comm.h"

namespace weft::c_api {

// The process between weft_init and weft_finalize, else null.
Process* current_process();

// Returns the body's status; appends the function's name to its sentence. Refuses calls from a
// function that Weft calls: the engine is held meanwhile, and the body might wait for it forever.
// No exception leaves it but the unwinding of a thread that ends, by pthread_cancel or
// pthread_exit.
template <class Body>
weft_status guarded(const char* function, Body body) {
    Status status;
    try {
        status = in_user_code ? failure(WEFT_REFUSED_STATE,
                                        "called from an operation's or a schedule's function; "
                                        "Weft cannot be called there")
                              : body();
    } catch (const std::bad_alloc&) {
        status = failure(WEFT_REFUSED_MEMORY, "out of memory");
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (const std::exception& error) {
        status = failure(WEFT_REFUSED_UNSUPPORTED, "an unexpected exception: %s", error.what());
    } catch (...) {
        status = failure(WEFT_REFUSED_UNSUPPORTED, "an unexpected exception");
    }
    if (status.code != WEFT_OK && status.code != WEFT_PENDING) append_detail(" (%s)", function);
    return status.code;
}

// For functions that need the process; the body gets it with the engine held.
template <class Body>
weft_status guarded_process(const char* function, Body body) {
    return guarded(function, [&]() -> Status {
        Process* process = current_process();
        if (!process) {
            return failure(WEFT_REFUSED_STATE, "Weft is not initialized; expected weft_init first");
        }
        // (A thread that runs user-level threads is not cancelled anywhere: UserThreads.)
        const UncancelledCall uncancelled(process->executor().has_cancellation_points() &&
                                          !UserThreads::attached);
        return process->engine().call([&] { return body(*process); });
    });
}

// After a call that found nothing: a loop of such calls in a user-level thread lets the others run.
inline weft_status yield_if_not_ready(weft_status status) {
    if (status != WEFT_PENDING && status != WEFT_TIMED_OUT) return status;
    UserThreads* const threads = UserThreads::here();
    if (!threads) return status;
    std::optional<KeptDetail> sentence;  // the others write theirs
    if (status == WEFT_TIMED_OUT) sentence.emplace();
    threads->yield();
    return status;
}

inline Status check_address(const char* name, const void* address) {
    if (address) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected an address", name);
}

// For functions on a communicator.
template <class Body>
weft_status guarded_communicator(const char* function, weft_comm comm, Body body) {
    return guarded_process(function, [&](Process& process) -> Status {
        Communicator* found = process.communicators().find(reinterpret_cast<std::uintptr_t>(comm));
        if (!found) {
            return failure(WEFT_REFUSED_HANDLE,
                           "comm = %p; expected a communicator that has not been freed",
                           static_cast<void*>(comm));
        }
        return body(process, *found);
    });
}

}  // namespace weft::c_api
