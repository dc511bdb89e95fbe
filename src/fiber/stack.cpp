#include "fiber/stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::fibers {
namespace {

// Of every stack, to begin elsewhere than the others: all would begin in the same lines of a cache.
constexpr std::size_t shift_bytes = 4096;
constexpr std::size_t shift_step = 128;
// As large as a frame that is entered without touching what is above it may be.
constexpr std::size_t guard_bytes = 64 * 1024;
constexpr std::size_t smallest_bytes = 16 * 1024;
constexpr std::size_t alternate_bytes = 64 * 1024;

// One of several functions that handle SIGSEGV, each with the handler that was there before it. The
// program may set its own while one of these is installed, and call this one from there for as long
// as it likes; then it stays in use, and later watches install another.
struct Handler {
    void (*function)(int, siginfo_t*, void*) = nullptr;
    struct sigaction before {};
    bool is_in_use = false;
};
constexpr std::size_t handlers_max = 8;

std::mutex watches_mutex;
int watches = 0;
std::array<Handler, handlers_max> handlers;
std::atomic<Handler*> installed{nullptr};  // for the watches that there are

void write_text(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void tell_overflow(std::size_t bytes) {
    char digits[24];
    char* first = digits + sizeof digits - 1;
    *first = '\0';
    do *--first = static_cast<char>('0' + bytes % 10);
    while ((bytes /= 10) > 0);
    write_text("weft: a fiber has overflowed its stack of ");
    write_text(first);
    write_text(" bytes; expected less, or more in weft::fibers::Options::stack_bytes\n");
}

std::size_t page_bytes() {
    static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

// --- Stacks --------------------------------------------------------------------------------------

std::size_t Stack::rounded(std::size_t bytes) {
    const std::size_t page = page_bytes();
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
    return (std::max(bytes, smallest_bytes) + page - 1) / page * page;
}

Stack::Stack(std::size_t bytes, std::size_t place)
    : bytes_(rounded(bytes)), shift_(place * shift_step % shift_bytes) {
    const std::size_t whole = mapped_bytes();
    void* const mapped = mmap(nullptr, whole, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
    if (mprotect(bottom(), whole - guard_bytes, PROT_READ | PROT_WRITE) == 0) return;
    munmap(mapped, whole);
    throw std::bad_alloc();
}

Stack::~Stack() {
    if (memory_) munmap(memory_, mapped_bytes());
}

std::size_t Stack::mapped_bytes() const { return guard_bytes + bytes_ + shift_bytes; }

std::byte* Stack::bottom() const { return memory_ + guard_bytes; }

bool Stack::is_beyond(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_);
    return at >= begin && at < begin + guard_bytes;
}

StackPool& StackPool::of_this_thread() {
    static thread_local StackPool pool;
    return pool;
}

Stack StackPool::take(std::size_t bytes) {
    const std::size_t wanted = Stack::rounded(bytes);
    for (std::size_t i = kept_.size(); i-- > 0;) {
        if (kept_[i].bytes() != wanted) continue;
        Stack stack = std::move(kept_[i]);
        kept_[i] = std::move(kept_.back());
        kept_.pop_back();
        return stack;
    }
    // give_back() must not allocate.
    kept_.reserve(kept_max);
    return Stack(wanted, made_++);
}

void StackPool::give_back(Stack stack) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    // The frames of its last fiber have not returned.
    __asan_unpoison_memory_region(stack.bottom(),
                                  static_cast<std::size_t>(stack.top() - stack.bottom()));
#endif
    if (kept_.size() < kept_max) kept_.push_back(std::move(stack));
}

// --- Overflows -----------------------------------------------------------------------------------

template <std::size_t Number>
void OverflowWatch::on_fault(int signal, siginfo_t* info, void* context) {
    const int saved = errno;
    const struct sigaction& before = handlers[Number].before;
    // (Others of these are called by the program's handlers.)
    const bool tells = installed == &handlers[Number] && watched;
    if (tells && watched->is_beyond(info->si_addr)) tell_overflow(watched->bytes());
    const bool has_function = before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
    if (has_function && (before.sa_flags & SA_SIGINFO)) {
        before.sa_sigaction(signal, info, context);
    } else if (has_function) {
        before.sa_handler(signal);
    } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
        // The access is repeated, or the signal that was sent, and ends the process.
        struct sigaction ends {};
        ends.sa_handler = SIG_DFL;
        sigaction(signal, &ends, nullptr);
        if (info->si_code <= 0) raise(signal);
    }
    errno = saved;
}

// REQUIRES: watches_mutex.
void OverflowWatch::install() {
    if (!handlers[0].function) {
        [&]<std::size_t... Number>(std::index_sequence<Number...>) {
            ((handlers[Number].function = on_fault<Number>), ...);
        }
        (std::make_index_sequence<handlers_max>());
    }
    const auto unused = std::ranges::find(handlers, false, &Handler::is_in_use);
    if (unused == handlers.end()) return;  // an overflow is then a fault like any other
    struct sigaction action {};
    action.sa_sigaction = unused->function;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    unused->is_in_use = sigaction(SIGSEGV, nullptr, &unused->before) == 0 &&
                        sigaction(SIGSEGV, &action, nullptr) == 0;
    if (unused->is_in_use) installed = &*unused;
}

// REQUIRES: watches_mutex.
void OverflowWatch::uninstall() {
    Handler* const mine = installed.exchange(nullptr);
    if (!mine) return;
    // The program may have set another one since.
    struct sigaction present {};
    sigaction(SIGSEGV, nullptr, &present);
    if (!(present.sa_flags & SA_SIGINFO) || present.sa_sigaction != mine->function) return;
    sigaction(SIGSEGV, &mine->before, nullptr);
    mine->is_in_use = false;
}

OverflowWatch::OverflowWatch() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE)) {
        alternate_ = std::make_unique<std::byte[]>(alternate_bytes);
        stack_t own{};
        own.ss_sp = alternate_.get();
        own.ss_size = alternate_bytes;
        sigaltstack(&own, nullptr);
    }
    std::lock_guard<std::mutex> one(watches_mutex);
    if (watches++ == 0) install();
}

OverflowWatch::~OverflowWatch() {
    watched = nullptr;
    {
        std::lock_guard<std::mutex> one(watches_mutex);
        if (--watches == 0) uninstall();
    }
    if (!alternate_) return;
    // The program may have set another one since.
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || present.ss_sp != alternate_.get()) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
}

}  // namespace weft::fibers
