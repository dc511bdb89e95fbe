#include "mpi_dropin/part/progress_hook.h"

#include <pthread.h>
#include <weft/weft.h>

#include <atomic>
#include <cstdio>

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

bool is_hook_open = false;
bool takes_any_thread = false;
pthread_t first_thread;  // that has initialized the MPI
std::atomic<int> needs{0};
std::atomic<bool> is_registered{false};
// Neither the MPI's polls nor Weft's recurse into each other.
thread_local bool is_closed_here = false;
thread_local bool is_running = false;

[[maybe_unused]] void call_weft() {
    if (is_closed_here) return;
    if (!takes_any_thread && !pthread_equal(pthread_self(), first_thread)) return;
    const InsidePoll quiet;
    weft_progress();
}

#if defined(OPEN_MPI)

using Callback = int (*)();
int (*add_hook)(Callback) = nullptr;
int (*remove_callback)(Callback) = nullptr;

bool find() {
    // It is in another library, on which the MPI's depends.
    add_hook = reinterpret_cast<int (*)(Callback)>(address_underneath("opal_progress_register"));
    remove_callback =
        reinterpret_cast<int (*)(Callback)>(address_underneath("opal_progress_unregister"));
    return add_hook != nullptr && remove_callback != nullptr;
}

// Returns how many of the MPI's own events progressed: none.
int poll() {
    if (needs.load(std::memory_order_relaxed) > 0) call_weft();
    return 0;
}

bool enter() { return add_hook(poll) == 0; }
void remove_hook() { remove_callback(poll); }
constexpr bool is_awaited_by_finalize = false;

#elif defined(MPIX_STREAM_NULL)

using Callback = int (*)(void* thing);
int (*async_start)(Callback, void* state, MPIX_Stream) = nullptr;

bool find() {
    async_start = reinterpret_cast<int (*)(Callback, void*, MPIX_Stream)>(
        address_underneath("PMPIX_Async_start"));
    return async_start != nullptr;
}

// Done: the hook is started again when it is needed again. MPI_Finalize polls until it is done, and
// only then deletes attributes; a hook that starts later would be an assertion of MPICH.
constexpr bool is_awaited_by_finalize = true;
int poll(void*) {
    constexpr int pending = 0, done = 1;  // MPIX_ASYNC_NOPROGRESS, MPIX_ASYNC_DONE
    if (is_closed_here) return pending;
    if (needs.load(std::memory_order_relaxed) == 0) {
        is_registered.store(false);
        return done;
    }
    call_weft();
    return pending;
}

bool enter() { return async_start(poll, nullptr, MPIX_STREAM_NULL) == MPI_SUCCESS; }
void remove_hook() {}

#else

bool find() { return false; }
bool enter() { return false; }
void remove_hook() {}
constexpr bool is_awaited_by_finalize = false;

#endif

}  // namespace

bool has_hook() {
    static const bool is_found = find();
    return is_found;
}

void open_hook(int thread_level) {
    first_thread = pthread_self();
    takes_any_thread = thread_level >= MPI_THREAD_SERIALIZED;
    is_hook_open = has_hook();
}

void close_hook() {
    is_hook_open = false;
    needs.store(0);
    if (is_registered.exchange(false)) remove_hook();
}

void close_hook_if_awaited() {
    if (is_awaited_by_finalize) close_hook();
}

void need_hook() {
    if (!is_hook_open) return;
    needs.fetch_add(1);
    if (is_registered.exchange(true) || enter()) return;
    is_registered.store(false);
    static std::atomic<bool> has_said{false};
    if (!has_said.exchange(true)) {
        std::fputs(
            "weft: the MPI refuses its progress hook: operations that need it advance only while "
            "the program waits for one\n",
            stderr);
    }
}

void need_hook_less() {
    if (is_hook_open) needs.fetch_sub(1);
}

bool is_in_hook() { return is_running; }
bool is_inside_weft() { return is_closed_here; }

InsidePoll::InsidePoll() : was_closed_(is_closed_here), was_running_(is_running) {
    is_closed_here = is_running = true;
}
InsidePoll::~InsidePoll() {
    is_closed_here = was_closed_;
    is_running = was_running_;
}

WithoutHook::WithoutHook() : was_closed_(is_closed_here) { is_closed_here = true; }
WithoutHook::~WithoutHook() { is_closed_here = was_closed_; }

}  // namespace weft::dropin
