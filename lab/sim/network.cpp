#include "lab/sim/network.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr std::size_t first_table_slots = 32;

std::uint64_t mixed(std::uint64_t value) { return Prng(value).next(); }

std::uint64_t wire_hash(Rank from, Rank to, StreamId stream) {
    std::uint64_t ranks =
        std::uint64_t(static_cast<std::uint32_t>(from)) << 32 | static_cast<std::uint32_t>(to);
    return mixed(mixed(ranks) ^ stream.packed());
}

}  // namespace

SimNetwork::SimNetwork(Rank ranks, std::uint64_t seed, SimOptions options)
    : options_(options),
      random_(seed),
      nodes_(static_cast<std::size_t>(ranks)),
      table_(first_table_slots, none) {
    WEFT_ASSERT(ranks > 0 && options.delay_max > 0);
}

bool SimNetwork::is_later(const Event& left, const Event& right) {
    return left.time != right.time ? left.time > right.time : left.sequence > right.sequence;
}

bool SimNetwork::wants(Rank rank, std::uint32_t context) const {
    return node(rank).contexts.wants(context);
}

bool SimNetwork::has_lost(Rank rank, Rank peer) const {
    const std::vector<Rank>& lost = node(rank).lost;
    return std::ranges::find(lost, peer) != lost.end();
}

// --- Pools ---------------------------------------------------------------------------------------

template <class T>
SimNetwork::Index SimNetwork::take(std::vector<T>& pool, Index& free) {
    if (free == none) {
        pool.emplace_back();
        return static_cast<Index>(pool.size() - 1);
    }
    Index index = free;
    free = pool[index].next;
    return index;
}

template <class T>
void SimNetwork::append(std::vector<T>& pool, Queue& list, Index index) {
    pool[index].next = none;
    (list.tail == none ? list.head : pool[list.tail].next) = index;
    list.tail = index;
}

template <class T>
void SimNetwork::remove_first(std::vector<T>& pool, Queue& list, Index& free) {
    Index index = list.head;
    list.head = pool[index].next;
    if (list.head == none) list.tail = none;
    pool[index].next = free;
    free = index;
}

SimNetwork::Index SimNetwork::find_wire(Rank from, Rank to, StreamId stream) {
    std::size_t mask = table_.size() - 1;
    std::size_t slot = wire_hash(from, to, stream) & mask;
    for (; table_[slot] != none; slot = (slot + 1) & mask) {
        const Wire& wire = wires_[table_[slot]];
        if (wire.from == from && wire.to == to && wire.stream == stream) return table_[slot];
    }
    if (2 * (wires_.size() - free_wires_.size() + 1) > table_.size()) {
        forget_idle_wires();
        rebuild_table();
        return find_wire(from, to, stream);
    }
    if (free_wires_.empty()) {
        free_wires_.push_back(static_cast<Index>(wires_.size()));
        wires_.emplace_back();
    }
    Index index = free_wires_.back();
    free_wires_.pop_back();
    table_[slot] = index;
    Wire& wire = wires_[index];
    wire.from = from;
    wire.to = to;
    wire.stream = stream;
    wire.used = true;
    return index;
}

// Frees idle wires, so that a program that makes and frees streams forever does not fill the
// network. Late events of a freed wire are cut off: its place has another `use`.
void SimNetwork::forget_idle_wires() {
    for (Index index = 0; index < wires_.size(); ++index) {
        Wire& wire = wires_[index];
        if (!wire.used || !wire.is_idle()) continue;
        std::uint32_t use = wire.use + 1;
        wire = {};
        wire.use = use;
        free_wires_.push_back(index);
    }
}

void SimNetwork::rebuild_table() {
    std::size_t used = wires_.size() - free_wires_.size();
    std::size_t size = table_.size();
    while (size < 4 * (used + 1)) size *= 2;
    table_.assign(size, none);
    for (Index index = 0; index < wires_.size(); ++index) {
        const Wire& wire = wires_[index];
        if (!wire.used) continue;
        std::size_t slot = wire_hash(wire.from, wire.to, wire.stream) & (size - 1);
        while (table_[slot] != none) slot = (slot + 1) & (size - 1);
        table_[slot] = index;
    }
}

// --- Time ----------------------------------------------------------------------------------------

bool SimNetwork::advance() {
    if (events_.empty()) return false;
    seen_ = false;
    // Goes on after the first visible event, so that a poll may also find several.
    do {
        std::ranges::pop_heap(events_, is_later);
        Event event = events_.back();
        events_.pop_back();
        time_ = event.time;
        handle(event);
    } while (!events_.empty() && (!seen_ || random_.one_in(2)));
    return true;
}

std::int64_t SimNetwork::delay() {
    std::uint64_t range = options_.delay_max;
    if (random_.one_in(8)) range *= 16;
    return 1 + static_cast<std::int64_t>(random_.below(range));
}

void SimNetwork::schedule(std::int64_t time, Kind kind, Index a, Index b) {
    events_.push_back({time, sequence_++, kind, a, b});
    std::ranges::push_heap(events_, is_later);
}

void SimNetwork::schedule_wire(std::int64_t time, Kind kind, Index wire) {
    schedule(time, kind, wire, wires_[wire].use);
}

void SimNetwork::handle(const Event& event) {
    record('e', static_cast<std::uint64_t>(event.kind), event.a, event.b);
    if (event.kind <= Kind::report_recv && wires_[event.a].use != event.b) return;
    switch (event.kind) {
        case Kind::arrive: arrive(event.a); break;
        case Kind::deliver: deliver(event.a); break;
        case Kind::report_send: report({event.a, true}); break;
        case Kind::report_recv: report({event.a, false}); break;
        case Kind::kill: kill(static_cast<Rank>(event.a)); break;
        case Kind::discover:
            discover(static_cast<Rank>(event.a), static_cast<Rank>(event.b));
            break;
        case Kind::report_lost:
            if (nodes_[event.a].dead) break;
            nodes_[event.a].unreported.push_back(static_cast<Rank>(event.b));
            seen_ = true;
            break;
        case Kind::retry: seen_ = true; break;
    }
}

void SimNetwork::record(char what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    for (std::uint64_t value :
         {static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(time_), a, b, c}) {
        hash_ = (hash_ ^ value) * 0x100000001b3u;
        hash_ ^= hash_ >> 29;
    }
}

// --- Posts and completions -----------------------------------------------------------------------

Posted SimNetwork::post_send(Rank from, Lane lane, Bytes data, Token token) {
    WEFT_ASSERT(lane.peer >= 0 && lane.peer < ranks() && lane.peer != from && token.run);
    if (dies_now(from)) return Posted::pending;
    WEFT_ASSERT(wants(from, lane.stream.context));
    if (is_busy()) return Posted::busy;
    Index index = find_wire(from, lane.peer, lane.stream);
    End end{index, true};
    record('s', index, data.size(), token.op);
    if (has_lost(from, lane.peer)) {
        finish(end, add_post(end, lane.peer, nullptr, data.size(), token), WEFT_BROKEN_RANK);
        return Posted::pending;
    }

    bool buffered = options_.buffering == Buffering::always ||
                    (options_.buffering == Buffering::random && random_.one_in(2));
    Index sent = take(messages_, free_message_);
    Message& message = messages_[sent];
    message.bytes = data.size();
    message.post = none;
    message.data = data.data();
    if (buffered) {
        message.copy.assign(data.begin(), data.end());
        message.data = message.copy.data();
    }
    Wire& wire = wires_[index];
    append(messages_, wire.messages, sent);
    ++wire.in_flight;
    wire.last_arrival = std::max(wire.last_arrival, time_ + delay());
    schedule_wire(wire.last_arrival, Kind::arrive, index);

    if (buffered && options_.done_at_once && random_.one_in(2)) return Posted::done;
    Index post = add_post(end, lane.peer, nullptr, data.size(), token);
    if (buffered) {
        finish(end, post, WEFT_OK);
    } else {
        message.post = post;
    }
    return Posted::pending;
}

Posted SimNetwork::post_recv(Rank to, Lane lane, MutBytes data, Token token) {
    WEFT_ASSERT(lane.peer >= 0 && lane.peer < ranks() && lane.peer != to && token.run);
    if (dies_now(to)) return Posted::pending;
    WEFT_ASSERT(wants(to, lane.stream.context));
    if (is_busy()) return Posted::busy;
    Index index = find_wire(lane.peer, to, lane.stream);
    End end{index, false};
    record('r', index, data.size(), token.op);
    Wire& wire = wires_[index];
    if (has_lost(to, lane.peer)) {
        finish(end, add_post(end, lane.peer, nullptr, data.size(), token), WEFT_BROKEN_RANK);
        return Posted::pending;
    }
    if (wire.recvs.posts.head == none && wire.arrived > 0 && options_.done_at_once &&
        messages_[wire.messages.head].bytes == data.size() && random_.one_in(2)) {
        take_first(index, data.data());
        return Posted::done;
    }
    add_post(end, lane.peer, data.data(), data.size(), token);
    ++wire.waiting;
    match(index);
    return Posted::pending;
}

bool SimNetwork::dies_now(Rank rank) {
    Node& self = node(rank);
    if (++self.posts == self.dies_at_post) kill(rank);
    return self.dead;
}

// A busy answer adds an event, so that advance() does not call a retry hopeless.
bool SimNetwork::is_busy() {
    if (options_.busy_one_in == 0 || !random_.one_in(options_.busy_one_in)) return false;
    schedule(time_ + delay(), Kind::retry, 0);
    return true;
}

SimNetwork::Index SimNetwork::add_post(End end, Rank peer, std::byte* into, std::size_t bytes,
                                       Token token) {
    Index index = take(posts_, free_post_);
    Post& post = posts_[index];
    post.completion = {};
    post.completion.token = token;
    post.completion.peer = peer;
    post.into = into;
    post.bytes = bytes;
    post.finished = false;
    Side& at = side(end);
    append(posts_, at.posts, index);
    if (at.unscheduled == none) at.unscheduled = index;
    return index;
}

void SimNetwork::finish(End end, Index post, weft_status code) {
    posts_[post].completion.code = code;
    posts_[post].finished = true;
    schedule_reports(end);
}

// Completions are reported in posting order: the first unfinished post holds up those behind it.
void SimNetwork::schedule_reports(End end) {
    Side& at = side(end);
    while (at.unscheduled != none && posts_[at.unscheduled].finished) {
        at.unscheduled = posts_[at.unscheduled].next;
        ++at.scheduled;
        at.last_report = std::max(at.last_report, time_ + delay());
        schedule_wire(at.last_report, end.sends ? Kind::report_send : Kind::report_recv, end.wire);
    }
}

void SimNetwork::break_posts(End end) {
    for (Index i = side(end).unscheduled; i != none; i = posts_[i].next) {
        if (posts_[i].finished) continue;
        posts_[i].completion.code = WEFT_BROKEN_RANK;
        posts_[i].finished = true;
    }
    schedule_reports(end);
}

void SimNetwork::forget_posts(End end) {
    Side& at = side(end);
    while (at.posts.head != none) remove_first(posts_, at.posts, free_post_);
    if (at.ready > 0) std::erase(owner(end).ready, end);
    at.unscheduled = none;
    at.ready = at.scheduled = 0;
}

void SimNetwork::report(End end) {
    Side& at = side(end);
    if (at.scheduled == 0) return;
    --at.scheduled;
    if (at.ready++ == 0) owner(end).ready.push_back(end);
    seen_ = true;
}

std::size_t SimNetwork::poll(Rank rank, std::span<Completion> done) {
    Node& self = node(rank);
    std::size_t reported = 0;
    for (; reported < done.size() && !(self.ready.empty() && self.unreported.empty()); ++reported) {
        std::size_t pick = random_.below(self.ready.size() + self.unreported.size());
        if (pick < self.ready.size()) {
            Side& at = side(self.ready[pick]);
            done[reported] = posts_[at.posts.head].completion;
            remove_first(posts_, at.posts, free_post_);
            if (--at.ready == 0) {
                self.ready[pick] = self.ready.back();
                self.ready.pop_back();
            }
        } else {
            pick -= self.ready.size();
            done[reported] = {};
            done[reported].code = WEFT_BROKEN_RANK;
            done[reported].peer = self.unreported[pick];
            self.unreported.erase(self.unreported.begin() + static_cast<std::ptrdiff_t>(pick));
        }
        record('c', static_cast<std::uint64_t>(rank), done[reported].token.op,
               static_cast<std::uint64_t>(-done[reported].code));
    }
    return reported;
}

// --- Messages ------------------------------------------------------------------------------------

void SimNetwork::arrive(Index index) {
    Wire& wire = wires_[index];
    if (wire.arrived == wire.in_flight) return;
    ++wire.arrived;
    if (node(wire.to).dead) {
        drop_first(wire);
    } else if (!wants(wire.to, wire.stream.context)) {
        take_first(index, nullptr);
    } else {
        match(index);
    }
}

// Half of the deliveries happen at once: receive buffers change long before the report.
void SimNetwork::match(Index index) {
    Wire& wire = wires_[index];
    while (wire.arrived > wire.matched && wire.waiting > wire.matched) {
        ++wire.matched;
        if (wire.matched == 1 && random_.one_in(2)) {
            deliver(index);
        } else {
            wire.last_delivery = std::max(wire.last_delivery, time_ + delay());
            schedule_wire(wire.last_delivery, Kind::deliver, index);
        }
    }
}

void SimNetwork::deliver(Index index) {
    Wire& wire = wires_[index];
    if (wire.matched == 0) return;
    Message& message = messages_[wire.messages.head];
    Index received = wire.recvs.unscheduled;
    Post& post = posts_[received];
    weft_status code = WEFT_OK;
    if (message.bytes != post.bytes) {
        code = WEFT_BROKEN_MESSAGE;
        post.completion.sent_bytes = static_cast<std::int64_t>(message.bytes);
        post.completion.expected_bytes = static_cast<std::int64_t>(post.bytes);
    }
    --wire.matched;
    --wire.waiting;
    take_first(index, code == WEFT_OK ? post.into : nullptr);
    finish({index, false}, received, code);
}

// Ends the first message, which must have arrived; it lands in `into`, unless that is null.
void SimNetwork::take_first(Index index, std::byte* into) {
    Wire& wire = wires_[index];
    const Message& message = messages_[wire.messages.head];
    if (into && message.bytes > 0) std::memcpy(into, message.data, message.bytes);
    Index sent = message.post;
    drop_first(wire);
    if (sent != none) finish({index, true}, sent, WEFT_OK);
}

void SimNetwork::drop_first(Wire& wire) {
    remove_first(messages_, wire.messages, free_message_);
    --wire.in_flight;
    --wire.arrived;
}

void SimNetwork::drop_all(Wire& wire) {
    while (wire.messages.head != none) remove_first(messages_, wire.messages, free_message_);
    wire.in_flight = wire.arrived = wire.matched = 0;
}

void SimNetwork::drop_after(Wire& wire, std::uint32_t kept) {
    if (kept == 0) {
        drop_all(wire);
        return;
    }
    Index last = wire.messages.head;
    for (std::uint32_t i = 1; i < kept; ++i) last = messages_[last].next;
    Queue rest{messages_[last].next, wire.messages.tail};
    messages_[last].next = none;
    wire.messages.tail = last;
    while (rest.head != none) remove_first(messages_, rest, free_message_);
    wire.in_flight = kept;
    wire.arrived = std::min(wire.arrived, kept);
    wire.matched = std::min(wire.matched, kept);
}

// --- Faults --------------------------------------------------------------------------------------

void SimNetwork::abandon(Rank rank, std::uint32_t context) {
    node(rank).contexts.remove(context);
    for (Index i = 0; i < wires_.size(); ++i) {
        Wire& wire = wires_[i];
        if (wire.stream.context != context) continue;
        if (wire.from == rank) {
            drop_all(wire);
            forget_posts({i, true});
        } else if (wire.to == rank) {
            forget_posts({i, false});
            wire.matched = wire.waiting = 0;
            while (wire.arrived > 0) take_first(i, nullptr);
        }
    }
}

void SimNetwork::admit(Rank rank, std::uint32_t context) { node(rank).contexts.admit(context); }

void SimNetwork::retire(Rank rank, std::uint32_t context) {
    node(rank).contexts.remove(context);
    drop_unwanted_messages(rank);
}

void SimNetwork::keep_early(Rank rank, bool keep) {
    node(rank).contexts.keep_early(keep);
    drop_unwanted_messages(rank);
}

void SimNetwork::drop_unwanted_messages(Rank rank) {
    for (Index i = 0; i < wires_.size(); ++i) {
        Wire& wire = wires_[i];
        if (wire.to != rank || wants(rank, wire.stream.context)) continue;
        while (wire.arrived > 0) take_first(i, nullptr);
    }
}

void SimNetwork::kill(Rank rank) {
    Node& self = node(rank);
    if (self.dead) return;
    self.dead = true;
    for (Index i = 0; i < wires_.size(); ++i) {
        Wire& wire = wires_[i];
        if (wire.from == rank) {
            // A copied message has left the rank; how much of it still arrives is random.
            std::uint32_t copied = 0;
            Index message = wire.messages.head;
            while (message != none && messages_[message].post == none) {
                ++copied;
                message = messages_[message].next;
            }
            forget_posts({i, true});
            drop_after(wire, static_cast<std::uint32_t>(random_.below(copied + 1)));
        } else if (wire.to == rank) {
            forget_posts({i, false});
            wire.matched = wire.waiting = 0;
            while (wire.arrived > 0) drop_first(wire);
        }
    }
    self.ready.clear();
    self.unreported.clear();
    for (Rank other = 0; other < ranks(); ++other) {
        if (node(other).dead) continue;
        schedule(time_ + delay(), Kind::discover, static_cast<Index>(other),
                 static_cast<Index>(rank));
    }
    seen_ = true;
}

void SimNetwork::kill_at(Rank rank, std::int64_t time) {
    schedule(std::max(time, time_), Kind::kill, static_cast<Index>(rank));
}

void SimNetwork::kill_at_post(Rank rank, std::uint64_t n) { node(rank).dies_at_post = n; }

// `rank` learns that `dead` is gone; whatever has not been delivered by now never will be.
void SimNetwork::discover(Rank rank, Rank dead) {
    if (node(rank).dead) return;
    node(rank).lost.push_back(dead);
    for (Index i = 0; i < wires_.size(); ++i) {
        Wire& wire = wires_[i];
        if (wire.from == rank && wire.to == dead) {
            drop_all(wire);
            break_posts({i, true});
        } else if (wire.from == dead && wire.to == rank) {
            drop_all(wire);
            wire.waiting = 0;
            break_posts({i, false});
        }
    }
    schedule(time_ + delay(), Kind::report_lost, static_cast<Index>(rank),
             static_cast<Index>(dead));
}

// --- Reports -------------------------------------------------------------------------------------

std::string SimNetwork::pending() const {
    std::string text;
    auto describe = [&](const Wire& wire, const Side& at, bool sends) {
        for (Index i = at.unscheduled; i != none; i = posts_[i].next) {
            if (posts_[i].finished) continue;
            text += "rank " + std::to_string(sends ? wire.from : wire.to) +
                    (sends ? " sends " : " receives ") + std::to_string(posts_[i].bytes) +
                    (sends ? " bytes to rank " : " bytes from rank ") +
                    std::to_string(sends ? wire.to : wire.from) + " (context " +
                    std::to_string(wire.stream.context) + ", stream " +
                    std::to_string(wire.stream.stream) + ")\n";
        }
    };
    for (const Wire& wire : wires_) {
        describe(wire, wire.sends, true);
        describe(wire, wire.recvs, false);
    }
    return text;
}

}  // namespace weft
