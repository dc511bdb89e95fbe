// The bodies of weft/scheduler.h.
#include "weft/scheduler.h"

#include "c_api/guard.h"
#include "engine/user_threads.h"

using namespace weft;

namespace {

// For functions that need the scheduler of the calling thread.
template <class Body>
weft_status guarded_scheduler(const char* function, Body body) {
    return c_api::guarded(function, [&]() -> Status {
        UserThreads* const threads = UserThreads::attached;
        if (!threads)
            return failure(WEFT_REFUSED_STATE,
                           "this thread has no scheduler; expected weft_scheduler_attach first");
        return body(*threads);
    });
}

using Look = Engine::Look;

weft_status look(const char* function, Look how) {
    return guarded_scheduler(function, [&](UserThreads& threads) -> Status {
        if (UserThreads::is_pinned())
            return failure(WEFT_REFUSED_STATE, "called from a function that Weft calls");
        Process* const process = c_api::current_process();
        return process && process->engine().look_for(threads, how) ? ok : Status{WEFT_PENDING};
    });
}

}  // namespace

weft_status weft_scheduler_attach(const weft_scheduler* scheduler) {
    return c_api::guarded("weft_scheduler_attach", [&]() -> Status {
        if (!scheduler || !scheduler->current || !scheduler->suspend || !scheduler->resume ||
            !scheduler->yield)
            return failure(WEFT_REFUSED_ARGUMENT,
                           "scheduler = null, or a function of it; expected all of them");
        if (UserThreads::attached)
            return failure(WEFT_REFUSED_STATE, "this thread has a scheduler; expected none");
        UserThreads::attached = new UserThreads(*scheduler);
        return ok;
    });
}

weft_status weft_scheduler_detach(void) {
    return guarded_scheduler("weft_scheduler_detach", [](UserThreads& threads) -> Status {
        if (threads.has_waits())
            return failure(WEFT_REFUSED_STATE,
                           "user-level threads wait inside Weft; expected that none does");
        UserThreads::attached = nullptr;
        if (Process* const process = c_api::current_process()) {
            Engine& engine = process->engine();
            engine.call([&] { engine.detach(threads); });
        }
        delete &threads;
        return ok;
    });
}

weft_status weft_scheduler_poll(void) { return look("weft_scheduler_poll", Look::if_due); }

weft_status weft_scheduler_look(void) { return look("weft_scheduler_look", Look::now); }

weft_status weft_scheduler_signal(int signal) {
    return guarded_scheduler("weft_scheduler_signal", [&](UserThreads&) -> Status {
        Process* const process = c_api::current_process();
        if (!process) {
            return failure(WEFT_REFUSED_STATE, "Weft is not initialized; expected weft_init first");
        }
        Engine& engine = process->engine();
        return engine.call([&] { return engine.signal_arrivals(signal); });
    });
}

weft_status weft_scheduler_sleep(void) {
    return guarded_scheduler("weft_scheduler_sleep", [](UserThreads& threads) -> Status {
        Process* const process = c_api::current_process();
        if (!process || !(threads.has_waits() || threads.first_function()))
            return failure(WEFT_REFUSED_STATE, "no user-level thread waits inside Weft");
        if (threads.current())
            return failure(WEFT_REFUSED_STATE, "a user-level thread runs; expected none");
        process->engine().sleep_for(threads);
        return ok;
    });
}
