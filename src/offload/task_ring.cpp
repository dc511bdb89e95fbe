#include "offload/task_ring.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"

namespace weft::kernel {
namespace {

// Entries of a chain besides those of its list: it takes and gives a token of its direction.
constexpr std::uint32_t token_entries = 2;
// Cancelling chains takes microseconds. If a part of one has not reported after so long, it has
// ended well.
constexpr std::int64_t cut_max_ns = 100'000'000;

// The ring, and what its sleepers wait for.
constexpr std::size_t own_descriptors = 2;

// How many descriptors the ring and its eventfds may take: a part of the process's limit, and none
// that connections to these peers may need.
std::size_t share_of_descriptors(std::size_t peers) {
    const std::size_t needed = 2 * peers + descriptors_of_engine;
    const std::size_t left = descriptors_left();
    return std::min(descriptors_max() / part_for_task_lists, left - std::min(left, needed));
}

// Whether a connection still works in this direction.
bool is_whole(int socket, bool sends) {
    if (sends) {
        pollfd state{socket, 0, 0};
        return poll(&state, 1, 0) == 0;
    }
    char byte;
    const ssize_t n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

}  // namespace

RunLists::~RunLists() { ring.forget(*this); }

std::int64_t RunLists::memory_bytes() const {
    std::size_t bytes = sizeof *this + semaphores->size() * sizeof(Fd);
    for (const auto& list : lists)
        bytes += sizeof(List) + list->entries.size() * sizeof(Entry) +
                 list->messages.size() * sizeof(MessageVector) +
                 list->awaited.size() * sizeof(Token);
    return static_cast<std::int64_t>(bytes);
}

void RunLists::add_late(bool sends, std::vector<Rank>& ranks) const {
    for (const auto& list : lists) {
        const bool is_late = list->is_busy() && !list->tasks.is_control;
        if (is_late && list->tasks.sends == sends) ranks.push_back(list->peer);
    }
}

TaskRing::TaskRing(const std::vector<Transport*>& routes, Options options, std::int64_t patience_ns)
    : Offload(routes, options),
      rank_(static_cast<Rank>(std::ranges::find(routes, nullptr) - routes.begin())),
      patience_ns_(patience_ns) {
    const auto is_peer = [](const DedicatedConnections* connections) {
        return connections != nullptr;
    };
    descriptors_max_ = share_of_descriptors(
        static_cast<std::size_t>(std::ranges::count_if(connections_, is_peer)));
}

TaskRing::~TaskRing() {
    // The kernel may write to them even after the ring is closed.
    for (std::unique_ptr<List>& list : orphans_) {
        if (!list->is_cut) (void)list.release();
    }
}

Status TaskRing::open() {
    if (ring_.is_open()) return ok;
    if (descriptors_max_ <= own_descriptors)
        return failure(WEFT_REFUSED_MEMORY, "too few descriptors for io_uring beside connections");
    Fd sleep(epoll_create1(EPOLL_CLOEXEC));
    if (!sleep) return failure(WEFT_REFUSED_MEMORY, "no descriptor: %s", std::strerror(errno));
    WEFT_RETURN_IF_NOT_OK(ring_.open(options_.queue_depth));
    epoll_event event{};
    if (epoll_ctl(sleep.get(), EPOLL_CTL_ADD, ring_.fd(), &event) != 0) {
        ring_.close();
        return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", std::strerror(errno));
    }
    thread_sleep_ = std::move(sleep);
    descriptors_ += own_descriptors;
    return ok;
}

Result<std::unique_ptr<Offload::Lists>> TaskRing::make(const Tasks& tasks) {
    WEFT_RETURN_IF_NOT_OK(open());
    auto lists = std::make_unique<RunLists>(*this, tasks);
    const auto no_descriptor = [] {
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for an eventfd: %s",
                       std::strerror(errno));
    };
    lists->semaphores->reserve(tasks.semaphores);
    for (std::uint32_t i = 0; i < tasks.semaphores; ++i) {
        lists->semaphores->push_back(semaphore());
        if (!lists->semaphores->back()) return no_descriptor();
    }
    for (const TaskList& list : tasks.lists) {
        const auto id =
            static_cast<std::uint32_t>(std::ranges::find(lists_, nullptr) - lists_.begin());
        if (id == lists_.size()) lists_.push_back(nullptr);
        lists->lists.push_back(std::make_unique<List>(list, *lists, id));
        List& made = *lists->lists.back();
        lists_[id] = &made;
        made.semaphores = lists->semaphores;
        const bool waits = std::ranges::any_of(
            list.tasks, [](const Task& task) { return task.kind == Task::Kind::go; });
        if (!waits) continue;
        made.go = semaphore();
        if (!made.go) return no_descriptor();
    }
    reserve_queues();
    return std::unique_ptr<Offload::Lists>(std::move(lists));
}

// An eventfd. Nonblocking, so that a read polls for its token and needs no worker thread of the
// kernel. None: there are too many descriptors already.
Fd TaskRing::semaphore() {
    if (descriptors_ >= descriptors_max_) {
        errno = EMFILE;
        return {};
    }
    Fd made(eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
    descriptors_ += static_cast<bool>(made);
    return made;
}

// False: there are no descriptors left, or no memory.
bool TaskRing::add_token(ChainOrder& direction) {
    try {
        direction.tokens.reserve(direction.tokens.size() + 1);
        direction.unused.reserve(direction.tokens.size() + 1);
    } catch (const std::bad_alloc&) {
        return false;
    }
    Fd token = semaphore();
    if (!token) return false;
    direction.tokens.push_back(std::move(token));
    direction.unused.push_back(static_cast<std::uint32_t>(direction.tokens.size() - 1));
    return true;
}

void TaskRing::set_state(List& list, List::State state) {
    busy_ -= list.is_busy();
    waiting_ -= list.state == List::State::waiting;
    list.state = state;
    busy_ += list.is_busy();
    waiting_ += list.state == List::State::waiting;
}

// For all lists: from now on nothing here needs memory after a start.
void TaskRing::reserve_queues() {
    std::size_t reports = 0;
    for (const List* list : lists_) reports += list != nullptr ? list->awaited.size() : 0;
    finished_.reserve(reports);
    going_.reserve(lists_.size());
    orphans_.reserve(lists_.size());
    to_submit_.reserve((List::batches_max + 1) * lists_.size());
}

bool TaskRing::reserve(const Tasks& tasks, const Call& call) {
    return std::ranges::all_of(tasks.lists, [&](const TaskList& list) {
        std::shared_ptr<ChainOrder>& direction =
            directions_[{call.stream_of(list), call.member(list.peer), list.sends}];
        if (direction == nullptr) direction = std::make_shared<ChainOrder>();
        while (direction->tokens.size() < 2) {
            if (!add_token(*direction)) return false;
        }
        return true;
    });
}

void TaskRing::begin(Lists& lists, const Call& call) {
    auto& run = static_cast<RunLists&>(lists);
    run.call = call;
    for (const auto& list : run.lists) {
        WEFT_ASSERT(!list->is_busy() && list->batches == 0);
        list->peer = call.member(list->tasks.peer);
        list->submitted = list->batches_ended = 0;
        list->is_cut = false;
        list->failure = {};
        list->checked = list->reached = 0;
        list->doubted_since_ns = 0;
        std::ranges::fill(list->awaited, Token{});
    }
    for (const auto& list : run.lists) take_place(*list);
    submit();  // all at once
}

void TaskRing::take_place(List& list) {
    list.direction = directions_.at({list.stream(), list.peer, list.tasks.sends});
    list.direction->lists.push(&list);
    set_state(list, List::State::waiting);
    const Lane lane(list.peer, list.stream());
    const auto messages = static_cast<std::uint32_t>(list.messages.size());
    const Posted posted = connections_to(list.peer)->hold(lane, list.tasks.sends, messages,
                                                          list.hold, {this, list.id});
    if (posted == Posted::done) has_place(list);
}

void TaskRing::has_place(List& list) {
    set_state(list, List::State::granted);
    list.bind(list.home.call);
    to_submit_.push(&list);
    ++unfinished_;
}

void TaskRing::granted(std::uint32_t id) {
    List* list = lists_[id];
    if (list == nullptr || list->state != List::State::waiting) return;  // abandoned in this batch
    has_place(*list);
    if (may_own()) submit();
}

// The group is abandoned next, and that cancels what the run has in flight.
std::uint64_t TaskRing::broken(std::uint32_t id) {
    List* list = lists_[id];
    if (list == nullptr) return 0;
    if (list->state == List::State::waiting) set_state(*list, List::State::idle);
    return list->home.context();
}

void TaskRing::submit() {
    while (!to_submit_.empty()) {
        if (add_batches(*to_submit_.front()->direction)) {
            to_submit_.pop();
        } else if (!submit_added()) {
            return;
        }
    }
    (void)submit_added();
}

// False: the kernel takes no more now. When it has taken none for too long, what it has not taken
// fails.
bool TaskRing::submit_added() {
    while (true) {
        const Ring::Submitted submitted = ring_.submit();
        if (submitted != Ring::Submitted::later) short_since_ns_ = 0;
        if (submitted == Ring::Submitted::all) return true;
        if (submitted == Ring::Submitted::later) break;
        List& list = *lists_[ring_.cut_list()];
        list.is_cut = true;
        ++list.batches;
    }
    const std::int64_t now = now_ns();
    if (short_since_ns_ == 0) short_since_ns_ = now;
    if (now - short_since_ns_ < patience_ns_) return false;
    ring_.for_each_left([this](std::uint32_t id) { fail(*lists_[id], -ENOMEM); });
    return false;
}

// Adds the direction's lists one after the other, in the order of their places, even if a later
// one was granted its place first, or is shorter. False: the ring has no room for the next batch.
bool TaskRing::add_batches(ChainOrder& direction) {
    const std::uint32_t batch = ring_.depth() - token_entries;
    for (; !direction.lists.empty(); direction.lists.pop(), --unfinished_) {
        List& list = *direction.lists.front();
        if (list.state == List::State::granted) {
            set_state(list, List::State::going);
            if (list.is_receiving()) going_.push_back(&list);
        }
        if (list.state != List::State::going) return true;
        const auto all = static_cast<std::uint32_t>(list.entries.size());
        while (list.submitted < all) {
            if (list.batches == List::batches_max) return true;
            const std::uint32_t to = std::min(all, list.submitted + batch);
            if (!ring_.has_room(to - list.submitted + token_entries)) return false;
            // No more tokens: continue when a chain has ended.
            if (direction.unused.empty() && !add_token(direction)) return true;
            const std::uint32_t gives = direction.unused.back();
            direction.unused.pop_back();
            const std::uint32_t takes = std::exchange(direction.last, gives);
            ring_.add(list, list.submitted, to,
                      takes == ChainOrder::nothing ? -1 : direction.tokens[takes].get(),
                      direction.tokens[gives].get());
            list.taken[(list.batches_ended + list.batches++) % List::batches_max] = takes;
            list.submitted = to;
        }
    }
    return true;
}

Posted TaskRing::await(Lists& lists, std::uint32_t number, std::uint32_t report, Token token) {
    List& list = *static_cast<RunLists&>(lists).lists[number];
    if (report < list.reached) return Posted::done;
    list.awaited[report] = token;
    const bool is_end = report + 1 == list.awaited.size();
    if (is_end && list.failure.code != WEFT_OK) report_failure(list);
    return Posted::pending;
}

void TaskRing::enable(Lists& lists, std::uint32_t number) {
    const List& list = *static_cast<RunLists&>(lists).lists[number];
    const std::uint64_t one = 1;
    WEFT_ASSERT(write(list.go.get(), &one, sizeof one) == sizeof one);
}

std::size_t TaskRing::poll(std::span<Completion> done) {
    if (ring_.is_open()) reap();
    if (ring_.has_left() && may_own()) submit();
    look_at_headers();
    std::size_t count = 0;
    while (!finished_.empty() && count < done.size()) {
        done[count++] = finished_.front().completion;
        finished_.pop();
    }
    return count;
}

void TaskRing::reap() {
    ring_.reap([this](std::uint32_t id, CqeKind kind, int result) {
        List& list = *lists_[id];
        on_completion(list, kind, result);
        if (list.state != List::State::given_up || list.batches > 0) return;
        if (std::erase_if(orphans_, [&](const auto& one) { return one.get() == &list; }) > 0)
            lists_[id] = nullptr;
    });
}

void TaskRing::on_completion(List& list, CqeKind kind, int result) {
    switch (kind) {
        case CqeKind::report:
            if (result != 0) break;
            if (list.state == List::State::going && !list.is_called_off) report(list);
            return;
        case CqeKind::end:
            if (result == Ring::token_bytes) return end_batch(list);
            break;
        case CqeKind::failure: break;
    }
    --list.batches;
    fail(list, result);
}

// A chain has succeeded.
void TaskRing::end_batch(List& list) {
    --list.batches;
    if (list.state != List::State::going || list.is_called_off) return;
    ChainOrder& direction = *list.direction;
    const std::uint32_t taken = list.taken[list.batches_ended++ % List::batches_max];
    if (taken != ChainOrder::nothing) direction.unused.push_back(taken);
    if (!direction.lists.empty()) {
        to_submit_.push(direction.lists.front());
        if (may_own()) submit();
    }
    if (list.batches > 0 || list.submitted < list.entries.size()) return;
    const auto messages = static_cast<std::uint32_t>(list.messages.size());
    if (!list.tasks.sends) {
        std::erase(going_, &list);
        if (!check_headers(list, messages, /*may_come=*/false)) return;
    }
    set_state(list, List::State::ended);
    connections_to(list.peer)->release(list.hold);
    report(list);
}

// Checks the headers that have come so far.
void TaskRing::look_at_headers() {
    has_doubts_ = false;
    for (std::size_t i = 0; i < going_.size(); ++i) {
        if (!check_headers(*going_[i], 0, /*may_come=*/true)) return;
    }
}

// At least the first `come` messages have come, and others `may_come` at this moment. False: the
// list has failed.
bool TaskRing::check_headers(List& list, std::uint32_t come, bool may_come) {
    const std::uint64_t stream = list.stream().packed();
    for (; list.checked < list.messages.size(); ++list.checked, list.doubted_since_ns = 0) {
        List::HeaderState state = list.verdict_on(list.checked, stream);
        if (state == List::HeaderState::right) continue;
        if (state == List::HeaderState::not_come) {
            if (list.checked >= come) return true;
            state = List::HeaderState::foreign;  // it has come, and is not a header
        } else if (may_come && list.is_doubtful(now_ns())) {
            has_doubts_ = true;
            return true;
        }
        fail(list, state == List::HeaderState::foreign ? -EPROTO : -EMSGSIZE);
        return false;
    }
    return true;
}

void TaskRing::report(List& list) {
    const Token token = list.awaited[list.reached++];
    if (token.run != nullptr)
        finished_.push({{.token = token, .code = WEFT_OK, .peer = list.peer}, &list.home});
}

// The list cannot go on: its entries have failed, or a message does not fit. Its group is abandoned
// next, and that cancels the rest of it.
void TaskRing::fail(List& list, int result) {
    if (list.state != List::State::going) return;
    std::erase(going_, &list);
    const bool was_checking = result == -EPROTO || result == -EMSGSIZE;
    // The transfer may have failed because the peer sent less than expected, and left.
    if (!was_checking && !list.tasks.sends && !check_headers(list, 0, /*may_come=*/false)) return;
    // A cancelled transfer that has moved a part reports that part, as one that met the end of the
    // connection does.
    if (result > 0 && is_whole(list.hold.socket, list.tasks.sends)) result = -ECANCELED;
    set_state(list, List::State::failed);
    if (list.is_called_off) return;
    if (result == -EMSGSIZE) {
        list.failure = {
            .token = {},
            .code = WEFT_BROKEN_MESSAGE,
            .peer = list.peer,
            .sent_bytes = static_cast<std::int64_t>(list.sent_bytes(list.checked)),
            .expected_bytes = static_cast<std::int64_t>(list.messages[list.checked].bytes)};
    } else if (list.is_cut || result == -ENOMEM) {
        list.failure = {.token = {}, .code = WEFT_BROKEN_MEMORY, .peer = rank_};
    } else if (result == -ECANCELED) {
        list.failure = {.token = {}, .code = WEFT_REFUSED_STATE, .peer = rank_};
    }
    if (list.failure.code != WEFT_OK) return report_failure(list);
    int error = result < 0 ? -result : 0;
    if (error == 0) {
        socklen_t size = sizeof error;
        (void)getsockopt(list.hold.socket, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    connections_to(list.peer)->fail(list.hold, error);
}

// The connection is well. If the run has large copies before it, it may not await the list yet.
void TaskRing::report_failure(const List& list) {
    const Token token = list.awaited.back();
    if (token.run == nullptr) return;
    Completion failed = list.failure;
    failed.token = token;
    finished_.push({failed, &list.home});
}

// Cancels what the list has in flight. This thread need not be one that may own other lists: where
// only an entry cancels, those that the kernel has not taken must not go with it.
void TaskRing::cancel(const List& list) {
    if (ring_.cancel(list)) return;
    if (!may_own()) {
        for (List* other : lists_) {
            const std::uint32_t chains = other != nullptr ? ring_.withdraw(*other) : 0;
            if (chains == 0) continue;
            other->batches -= chains;
            fail(*other, -ENOMEM);
        }
    }
    if (ring_.has_room(1)) ring_.add_cancel(list);
    (void)submit_added();
}

// Cancels what the wanted lists have in flight. When it returns, nobody touches their buffers any
// more, unless the kernel does not end it in time.
template <class Wanted>
void TaskRing::call_off(Wanted wanted) {
    for (List* list : lists_) {
        if (list == nullptr || list->state == List::State::given_up) continue;
        list->is_called_off = wanted(*list);
        if (list->is_called_off && list->batches > 0) list->batches -= ring_.withdraw(*list);
    }
    const auto submit_none = [&] {
        to_submit_.remove_if([](const List* list) { return list->is_called_off; });
    };
    submit_none();
    const std::int64_t begin_ns = now_ns();
    for (std::int64_t pause_ns = 20'000;;
         pause_ns = std::min<std::int64_t>(2 * pause_ns, 1'000'000)) {
        const std::int64_t waited_ns = now_ns() - begin_ns;
        bool is_over = true;
        for (List* list : lists_) {
            if (list == nullptr || list->batches == 0 || !list->is_called_off) continue;
            if (waited_ns >= (list->is_cut ? cut_max_ns : patience_ns_)) continue;
            cancel(*list);
            is_over = false;
        }
        if (is_over) break;
        ring_.wait(pause_ns);
        reap();
    }
    submit_none();  // the end of one list may have let another go on
    bool is_stuck = false;
    for (List* list : lists_) {
        if (list == nullptr || !std::exchange(list->is_called_off, false)) continue;
        std::erase(going_, list);
        const bool is_due = list->state == List::State::granted ||
                            list->state == List::State::going || list->state == List::State::failed;
        unfinished_ -= is_due && list->submitted < list->entries.size();
        if (is_due || list->state == List::State::waiting)
            list->direction->lists.remove_if([&](const List* other) { return other == list; });
        set_state(*list, list->batches > 0 ? List::State::given_up : List::State::idle);
        if (list->batches == 0 || list->is_cut) {
            list->direction.reset();
            continue;
        }
        // What is left of it may still run: the descriptors it names must not be closed, or their
        // numbers could be reused.
        is_stuck = true;
        connections_to(list->peer)->keep_open(list->hold.socket);
    }
    if (is_stuck)
        std::fprintf(stderr, "weft: io_uring does not end what was called off for %g s\n",
                     static_cast<double>(patience_ns_) * 1e-9);
}

void TaskRing::cancel_context(std::uint64_t context) {
    call_off([&](const List& list) { return list.home.context() == context; });
    finished_.remove_if([&](const Finished& one) { return one.run->context() == context; });
    close_context(context);
}

// The group is gone or broken: its directions are not used again.
void TaskRing::close_context(std::uint64_t context) {
    for (List* list : lists_) {
        if (list != nullptr && list->state != List::State::given_up &&
            list->home.context() == context)
            list->direction.reset();
    }
    to_submit_.remove_if([](const List* list) { return list->direction == nullptr; });
    std::erase_if(directions_, [&](const auto& entry) {
        if (entry.first.stream.context() != context) return false;
        descriptors_ -= entry.second != nullptr ? entry.second->tokens.size() : 0;
        return true;
    });
}

void TaskRing::forget(RunLists& lists) {
    call_off([&](const List& list) { return &list.home == &lists; });
    finished_.remove_if([&](const Finished& one) { return one.run == &lists; });
    for (const Fd& semaphore : *lists.semaphores) descriptors_ -= static_cast<bool>(semaphore);
    for (std::unique_ptr<List>& list : lists.lists) {
        descriptors_ -= static_cast<bool>(list->go);
        if (list->batches > 0) {
            if (list->is_cut) list->semaphores.reset();
            orphans_.push_back(std::move(list));
        } else {
            lists_[list->id] = nullptr;
        }
    }
}

int TaskRing::wait_fd(Sleeper sleeper) const {
    if (!ring_.is_open()) return -1;
    return sleeper == Sleeper::thread ? thread_sleep_.get() : ring_.fd();
}

bool TaskRing::arm(Sleeper sleeper) {
    if (!ring_.is_open()) return true;
    const bool thread = sleeper == Sleeper::thread;
    if (sleeper != Sleeper::none && (!ring_.is_empty() || has_work())) return false;
    if (thread != thread_armed_) {
        thread_armed_ = thread;
        epoll_event event{};
        event.events = thread ? std::uint32_t{EPOLLIN} : 0;
        epoll_ctl(thread_sleep_.get(), EPOLL_CTL_MOD, ring_.fd(), &event);
    }
    return true;
}

}  // namespace weft::kernel
