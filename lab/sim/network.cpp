#include "lab/sim/network.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <utility>

namespace weft {

SimNetwork::SimNetwork(Rank ranks, std::uint64_t seed, SimOptions options)
    : options_(options), random_(seed), nodes_(static_cast<std::size_t>(ranks)) {
    WEFT_ASSERT(ranks > 0 && options.delay_max > 0);
}

// --- Wires ---------------------------------------------------------------------------------------

SimNetwork::Wire& SimNetwork::find_wire(Rank from, Rank to, StreamId stream) {
    Name name{from, to, stream.packed()};
    if (auto found = used_.find(name); found != used_.end()) return *found->second;
    if (used_.size() >= used_max_) forget_idle_wires();
    if (free_.empty()) {
        auto place = static_cast<std::uint32_t>(wires_.size());
        free_.push_back(&wires_.emplace_back(Wire{.place = place}));
    }
    Wire& wire = *free_.back();
    free_.pop_back();
    wire.name = name;
    wire.stream = stream;
    wire.sends.rank = wire.recvs.peer = from;
    wire.sends.peer = wire.recvs.rank = to;
    return *(used_[name] = &wire);
}

// Frees idle wires, so that a program that makes and frees streams forever does not fill the
// network. Late events of a freed wire are cut off: its place has another `use`. (A free wire has
// no lane name.)
void SimNetwork::forget_idle_wires() {
    for (Wire& wire : wires_) {
        bool idle = wire.sends.posts.empty() && wire.recvs.posts.empty() && wire.messages.empty();
        if (!idle || used_.erase(wire.name) == 0) continue;
        wire = {.place = wire.place, .use = wire.use + 1};
        free_.push_back(&wire);
    }
    used_max_ = std::max(used_max_, std::bit_ceil(2 * (used_.size() + 1)));
}

// --- Time ----------------------------------------------------------------------------------------

bool SimNetwork::advance() {
    if (events_.empty()) return false;
    seen_ = false;
    // Goes on after the first visible event, so that a poll may also find several.
    do {
        auto next = events_.extract(events_.begin());
        time_ = next.key();
        next.mapped()();
    } while (!events_.empty() && (!seen_ || random_.one_in(2)));
    return true;
}

std::int64_t SimNetwork::delay() {
    std::uint64_t range = options_.delay_max;
    if (random_.one_in(8)) range *= 16;
    return 1 + static_cast<std::int64_t>(random_.below(range));
}

// `a` and `b` describe the event in the history.
void SimNetwork::schedule(std::int64_t time, Kind kind, std::int64_t a, std::int64_t b,
                          std::function<void()> happen) {
    events_.emplace(time, [=, this, happen = std::move(happen)] {
        record('e', kind, a, b);
        happen();
    });
}

// Not before `last`, the time of the wire's last event of this kind.
void SimNetwork::schedule_on(Wire& wire, std::int64_t& last, Kind kind,
                             std::function<void()> happen) {
    last = std::max(last, time_ + delay());
    schedule(last, kind, wire.place, wire.use, [=, &wire, use = wire.use] {
        if (wire.use == use) happen();
    });
}

template <class... Values>
void SimNetwork::record(char what, Values... values) {
    for (std::uint64_t value : {static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(time_),
                                static_cast<std::uint64_t>(values)...}) {
        hash_ = (hash_ ^ value) * 0x100000001b3u;
        hash_ ^= hash_ >> 29;
    }
}

// --- Posts and completions -----------------------------------------------------------------------

Posted SimNetwork::post_send(Rank from, Lane lane, Bytes data, Token token) {
    if (auto answered = answer(from, lane, token)) return *answered;
    Wire& wire = find_wire(from, lane.peer, lane.stream);
    record('s', wire.place, data.size(), token.op);
    if (node(from).lost.contains(lane.peer)) {
        add_post(wire, wire.sends, nullptr, data.size(), token);
        return Posted::pending;
    }
    bool buffered = options_.buffering == Buffering::always ||
                    (options_.buffering == Buffering::random && random_.one_in(2));
    Message& message = wire.messages.emplace_back(Message{.data = data});
    if (buffered) {
        message.copy.assign(data.begin(), data.end());
        message.data = message.copy;
    }
    schedule_on(wire, wire.last_arrival, Kind::arrive, [this, &wire] { arrive(wire); });
    if (buffered && options_.done_at_once && random_.one_in(2)) return Posted::done;
    Post& post = add_post(wire, wire.sends, nullptr, data.size(), token);
    message.post = buffered ? nullptr : &post;
    if (buffered) finish(wire, post, WEFT_OK);
    return Posted::pending;
}

Posted SimNetwork::post_recv(Rank to, Lane lane, MutBytes data, Token token) {
    if (auto answered = answer(to, lane, token)) return *answered;
    Wire& wire = find_wire(lane.peer, to, lane.stream);
    record('r', wire.place, data.size(), token.op);
    if (wire.recvs.posts.empty() && wire.arrived > 0 && options_.done_at_once &&
        wire.messages.front().data.size() == data.size() && random_.one_in(2)) {
        take_first(wire, data.data());
        return Posted::done;
    }
    add_post(wire, wire.recvs, data.data(), data.size(), token);
    match(wire);
    return Posted::pending;
}

NextMessage SimNetwork::next_on(Rank to, Lane lane) const {
    const auto found = used_.find(Name{lane.peer, to, lane.stream.packed()});
    if (found != used_.end() && found->second->arrived > found->second->matched)
        return NextMessage::here;
    return node(to).lost.contains(lane.peer) ? NextMessage::gone : NextMessage::none;
}

// For the lanes from `peer` to `rank`.
void SimNetwork::note_change_of_next(Rank rank, Rank peer) {
    Node& receiver = node(rank);
    ++receiver.next_changes;
    const auto found = receiver.expected.find(peer);
    seen_ |= found != receiver.expected.end() && found->second > 0;
}

// The answer to a post that starts nothing. A busy answer adds an event, so that advance() does not
// call a retry hopeless.
std::optional<Posted> SimNetwork::answer(Rank rank, Lane lane, Token token) {
    WEFT_ASSERT(lane.peer >= 0 && lane.peer < ranks() && lane.peer != rank && token.run);
    Node& self = node(rank);
    if (++self.posts == self.dies_at_post) kill(rank);
    if (self.dead) return Posted::pending;
    WEFT_ASSERT(self.contexts.wants(lane.stream.context()));
    if (options_.busy_one_in == 0 || !random_.one_in(options_.busy_one_in)) return std::nullopt;
    schedule(time_ + delay(), Kind::retry, 0, 0, [this] { seen_ = true; });
    return Posted::busy;
}

SimNetwork::Post& SimNetwork::add_post(Wire& wire, Side& side, std::byte* into, std::size_t bytes,
                                       Token token) {
    Post& post = side.posts.emplace_back(
        Post{.completion = {.token = token, .peer = side.peer}, .into = into, .bytes = bytes});
    if (node(side.rank).lost.contains(side.peer)) finish(wire, post, WEFT_BROKEN_RANK);
    return post;
}

// Completions are reported in posting order: the first unfinished post holds up those behind it.
void SimNetwork::finish(Wire& wire, Post& post, weft_status code) {
    post.completion.code = code;
    post.finished = true;
    for (Side* side : {&wire.sends, &wire.recvs}) {
        Kind kind = side == &wire.sends ? Kind::report_send : Kind::report_recv;
        for (; side->scheduled < side->posts.size(); ++side->scheduled) {
            if (!side->posts[side->scheduled].finished) break;
            schedule_on(wire, side->last_report, kind, [this, side] { report(*side); });
        }
    }
}

void SimNetwork::forget_posts(Side& side) {
    std::erase(node(side.rank).ready, &side);
    side.posts.clear();
    side.scheduled = side.ready = 0;
}

void SimNetwork::report(Side& side) {
    if (side.ready == side.scheduled) return;
    if (side.ready++ == 0) node(side.rank).ready.push_back(&side);
    seen_ = true;
}

std::size_t SimNetwork::poll(Rank rank, std::span<Completion> done) {
    Node& self = node(rank);
    std::size_t reported = 0;
    while (reported < done.size() && !(self.ready.empty() && self.unreported.empty())) {
        Completion& completion = done[reported++];
        std::size_t pick = random_.below(self.ready.size() + self.unreported.size());
        if (pick < self.ready.size()) {
            Side& side = *self.ready[pick];
            completion = side.posts.front().completion;
            side.posts.pop_front();
            --side.scheduled;
            if (--side.ready == 0) {
                self.ready[pick] = self.ready.back();
                self.ready.pop_back();
            }
        } else {
            pick -= self.ready.size();
            completion = {.token = {}, .code = WEFT_BROKEN_RANK, .peer = self.unreported[pick]};
            self.unreported.erase(self.unreported.begin() + static_cast<std::ptrdiff_t>(pick));
        }
        record('c', rank, completion.token.op, -completion.code);
    }
    return reported;
}

// --- Messages ------------------------------------------------------------------------------------

void SimNetwork::arrive(Wire& wire) {
    if (wire.arrived == wire.messages.size()) return;
    ++wire.arrived;
    const Node& receiver = node(wire.recvs.rank);
    if (receiver.dead) {
        drop_first(wire);
    } else if (!receiver.contexts.wants(wire.stream.context())) {
        take_first(wire, nullptr);
    } else {
        match(wire);
        note_change_of_next(wire.recvs.rank, wire.recvs.peer);
    }
}

// Half of the deliveries happen at once: receive buffers change long before the report.
void SimNetwork::match(Wire& wire) {
    const Side& recvs = wire.recvs;
    while (wire.matched < wire.arrived && recvs.scheduled + wire.matched < recvs.posts.size()) {
        ++wire.matched;
        if (wire.matched == 1 && random_.one_in(2)) {
            deliver(wire);
        } else {
            schedule_on(wire, wire.last_delivery, Kind::deliver, [this, &wire] { deliver(wire); });
        }
    }
}

void SimNetwork::deliver(Wire& wire) {
    if (wire.matched == 0) return;
    Post& post = wire.recvs.posts[wire.recvs.scheduled];
    std::size_t sent_bytes = wire.messages.front().data.size();
    bool fits = sent_bytes == post.bytes;
    if (!fits) {
        post.completion.sent_bytes = static_cast<std::int64_t>(sent_bytes);
        post.completion.expected_bytes = static_cast<std::int64_t>(post.bytes);
    }
    --wire.matched;
    take_first(wire, fits ? post.into : nullptr);
    finish(wire, post, fits ? WEFT_OK : WEFT_BROKEN_MESSAGE);
}

// Ends the first message, which must have arrived; it lands in `into`, unless that is null.
void SimNetwork::take_first(Wire& wire, std::byte* into) {
    const Message& message = wire.messages.front();
    if (into) std::ranges::copy(message.data, into);
    Post* sent = message.post;
    drop_first(wire);
    if (sent) finish(wire, *sent, WEFT_OK);
}

void SimNetwork::drop_first(Wire& wire) {
    wire.messages.pop_front();
    --wire.arrived;
    wire.matched = std::min(wire.matched, wire.arrived);
}

void SimNetwork::drop_after(Wire& wire, std::size_t kept) {
    wire.messages.erase(wire.messages.begin() + static_cast<std::ptrdiff_t>(kept),
                        wire.messages.end());
    wire.arrived = std::min(wire.arrived, kept);
    wire.matched = std::min(wire.matched, kept);
}

// --- Faults --------------------------------------------------------------------------------------

void SimNetwork::cancel_context(Rank rank, std::uint64_t context) {
    for (Wire& wire : wires_) {
        if (wire.stream.context() != context) continue;
        if (wire.sends.rank == rank) {
            drop_after(wire, 0);
            forget_posts(wire.sends);
        } else if (wire.recvs.rank == rank) {
            forget_posts(wire.recvs);
        }
    }
    close_context(rank, context);
}

// No message is lost for lack of memory.
void SimNetwork::open_context(Rank rank, std::uint64_t context) {
    (void)node(rank).contexts.open_context(context);
}

void SimNetwork::close_context(Rank rank, std::uint64_t context) {
    node(rank).contexts.remove(context);
    drop_unwanted_messages(rank);
}

void SimNetwork::buffer_unknown(Rank rank, bool keep) {
    node(rank).contexts.buffer_unknown(keep);
    drop_unwanted_messages(rank);
}

void SimNetwork::drop_unwanted_messages(Rank rank) {
    for (Wire& wire : wires_) {
        if (wire.recvs.rank != rank || node(rank).contexts.wants(wire.stream.context())) continue;
        while (wire.arrived > 0) take_first(wire, nullptr);
    }
}

void SimNetwork::kill(Rank rank) {
    if (is_dead(rank)) return;
    node(rank).dead = true;
    for (Wire& wire : wires_) {
        if (wire.sends.rank == rank) {
            // A copied message has left the rank; how much of it still arrives is random.
            auto is_lent = [](const Message& message) { return message.post != nullptr; };
            auto copied = std::ranges::find_if(wire.messages, is_lent) - wire.messages.begin();
            forget_posts(wire.sends);
            drop_after(wire, random_.below(static_cast<std::uint64_t>(copied) + 1));
        } else if (wire.recvs.rank == rank) {
            forget_posts(wire.recvs);
            while (wire.arrived > 0) drop_first(wire);
        }
    }
    node(rank).unreported.clear();
    for (Rank other = 0; other < ranks(); ++other) {
        if (is_dead(other)) continue;
        schedule(time_ + delay(), Kind::discover, other, rank,
                 [=, this] { discover(other, rank); });
    }
    seen_ = true;
}

void SimNetwork::kill_at(Rank rank, std::int64_t time) {
    schedule(std::max(time, time_), Kind::kill, rank, 0, [=, this] { kill(rank); });
}

void SimNetwork::kill_at_post(Rank rank, std::uint64_t n) { node(rank).dies_at_post = n; }

// `rank` learns that `dead` is gone; whatever has not been delivered by now never will be.
void SimNetwork::discover(Rank rank, Rank dead) {
    if (is_dead(rank)) return;
    node(rank).lost.insert(dead);
    note_change_of_next(rank, dead);
    for (Wire& wire : wires_) {
        for (Side* side : {&wire.sends, &wire.recvs}) {
            if (side->rank != rank || side->peer != dead) continue;
            drop_after(wire, 0);
            for (Post& post : side->posts) {
                if (!post.finished) finish(wire, post, WEFT_BROKEN_RANK);
            }
        }
    }
    schedule(time_ + delay(), Kind::lose, rank, dead, [=, this] {
        if (is_dead(rank)) return;
        node(rank).unreported.push_back(dead);
        seen_ = true;
    });
}

// --- Reports -------------------------------------------------------------------------------------

std::string SimNetwork::pending() const {
    std::ostringstream text;
    for (const Wire& wire : wires_) {
        for (const Side* side : {&wire.sends, &wire.recvs}) {
            bool sends = side == &wire.sends;
            for (const Post& post : side->posts) {
                if (post.finished) continue;
                text << "rank " << side->rank << (sends ? " sends " : " receives ") << post.bytes
                     << (sends ? " bytes to rank " : " bytes from rank ") << side->peer
                     << " (context " << wire.stream.context() << ", stream " << wire.stream.stream()
                     << ")\n";
            }
        }
    }
    return text.str();
}

}  // namespace weft
