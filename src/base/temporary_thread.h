// Runs something in a thread that then ends.
#pragma once

#include <signal.h>

#include <system_error>
#include <thread>

namespace weft {

// False: no thread could be started.
template <class Action>
bool run_in_temporary_thread(Action action) {
    // Signals belong to the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_done = true;
    try {
        std::thread(action).join();
    } catch (const std::system_error&) {
        is_done = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return is_done;
}

}  // namespace weft
