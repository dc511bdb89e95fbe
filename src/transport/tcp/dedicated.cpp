// Dedicated connections (transport/dedicated.h).
//
// A connection serves one stream and is closed with it: its name is the stream's, which no other
// ever has, so bytes of one stream never meet another. It comes up like others (meeting.cpp); the
// first 16 bytes from the called end are the `welcome`. A rank that retires the context says that
// nothing more comes, and drops what still comes until the other end has done the same; one that
// abandons it closes at once.
//
// The end of a dedicated connection does not mean that the peer died: it may have abandoned the
// context. The reason comes on the shared connection, which comes up first: a failure notice, or
// the end of the peer. Until it comes, whoever needs the dedicated connection waits, at most
// WEFT_PEER_TIMEOUT.
//
// Only the message at the front of a direction is read or written, and no byte behind it that might
// belong to a list.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"
#include "transport/tcp/tcp.h"

namespace weft {

using tcp::Direction;
using tcp::Frame;
using tcp::FrameKind;

namespace {

constexpr std::uint64_t move_bytes_max = 1 << 20;  // in one go

}  // namespace

// --- Which streams have one ----------------------------------------------------------------------

void TcpTransport::dedicate(std::uint32_t context, std::uint32_t streams) {
    WEFT_ASSERT(context != 0 && streams <= streams_max);
    if (streams > 0) dedicated_.push_back({context, streams});
}

std::uint32_t TcpTransport::dedicated_streams(std::uint32_t context) const {
    for (const DedicatedStreams& of : dedicated_) {
        if (of.context == context) return of.streams;
    }
    return 0;
}

bool TcpTransport::carries(const Lane& lane) const {
    return lane.stream.stream < dedicated_streams(lane.stream.context) &&
           !peers_[static_cast<std::size_t>(lane.peer)].addresses.empty();
}

tcp::DedicatedConnection* TcpTransport::dedicated_of(Peer& peer, StreamId stream) {
    return stream.stream < dedicated_streams(stream.context) ? &dedicated_at(peer, stream)
                                                             : nullptr;
}

tcp::DedicatedConnection* TcpTransport::find_dedicated(const Peer& peer, StreamId stream) {
    for (const auto& dedicated : peer.dedicated) {
        if (dedicated->name == stream.packed()) return dedicated.get();
    }
    return nullptr;
}

tcp::DedicatedConnection& TcpTransport::dedicated_at(Peer& peer, StreamId stream) {
    if (DedicatedConnection* dedicated = find_dedicated(peer, stream)) return *dedicated;
    DedicatedConnection& made =
        *peer.dedicated.emplace_back(std::make_unique<DedicatedConnection>(peer, stream.packed()));
    made.sends.is_over = made.receives.is_over = peer.lost;
    return made;
}

// --- Places --------------------------------------------------------------------------------------

tcp::Place& TcpTransport::add_place(DedicatedConnection& dedicated, bool sends, Token token,
                                    std::uint32_t messages) {
    Direction& direction = dedicated.direction(sends);
    Place& place = *places_.take();
    place = {.token = token,
             .sequence = direction.next_sequence,
             .sends = sends,
             .dedicated = &dedicated};
    direction.next_sequence = static_cast<std::uint16_t>(direction.next_sequence + messages);
    direction.places.append(&place);
    return place;
}

Posted TcpTransport::send_on(DedicatedConnection& dedicated, Bytes data, Token token) {
    Place& place = add_place(dedicated, /*sends=*/true, token, 1);
    place.data = const_cast<std::byte*>(data.data());
    place.bytes = data.size();
    Direction& sends = dedicated.sends;
    // With completions that are kept, `done` might overtake one of this lane.
    if (sends.places.first == &place && dedicated.out != nullptr && !sends.is_over &&
        !reports_.has_kept() && write(dedicated, place)) {
        places_.give_back(sends.places.take_first());
        return Posted::done;
    }
    expect(dedicated);
    if (sends.is_over)
        end_sends(dedicated);
    else
        need(dedicated);
    watch_places(dedicated);
    return Posted::pending;
}

Posted TcpTransport::receive_on(DedicatedConnection& dedicated, MutBytes data, Token token) {
    Place& place = add_place(dedicated, /*sends=*/false, token, 1);
    place.data = data.data();
    place.bytes = data.size();
    expect(dedicated);
    if (dedicated.receives.is_over)
        await_reason(dedicated);
    else
        need(dedicated);
    watch_places(dedicated);
    return Posted::pending;
}

Posted TcpTransport::hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                          Token token) {
    DedicatedConnection* dedicated = dedicated_of(peer_of(lane.peer), lane.stream);
    WEFT_ASSERT(dedicated != nullptr);
    Place& made = add_place(*dedicated, sends, token, messages);
    made.list = &place;
    place = {.sequence = made.sequence, .place = &made};
    if (dedicated->lists++ == 0) {
        holding_.push_back(dedicated);
        look_at(*dedicated);
    }
    if (dedicated->direction(sends).is_over) {
        await_reason(*dedicated);
        return Posted::pending;
    }
    need(*dedicated);
    grant(*dedicated, sends, &made);
    watch_places(*dedicated);
    return made.is_granted ? Posted::done : Posted::pending;
}

// Lists may be released in another order than they ran in: a later one's completion may be seen
// first.
void TcpTransport::release(ListPlace& hold) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    DedicatedConnection& dedicated = *place.dedicated;
    Direction& direction = dedicated.direction(place.sends);
    place.is_given_back = true;
    while (!direction.places.empty() && direction.places.first->is_given_back)
        give_back_list(*direction.places.take_first());
    go_on(dedicated);
}

void TcpTransport::give_back_list(Place& place) {
    DedicatedConnection& dedicated = *place.dedicated;
    places_.give_back(&place);
    if (--dedicated.lists > 0) return;
    *std::ranges::find(holding_, &dedicated) = holding_.back();
    holding_.pop_back();
}

void TcpTransport::fail(ListPlace& hold, int error) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    place.has_failed = true;
    place.dedicated->direction(place.sends).is_over = true;
    end(*place.dedicated, error);
}

// Gives the lists at the front of the direction their places.
void TcpTransport::grant(DedicatedConnection& dedicated, bool sends, const Place* quietly) {
    Wire* wire = sends ? dedicated.out : dedicated.in;
    const bool is_free = sends || (!is_unsettled(dedicated) && !dedicated.is_dropping);
    if (wire == nullptr || !is_free || dedicated.direction(sends).is_over) return;
    Place* place = dedicated.direction(sends).places.first;
    for (; place != nullptr && place->list != nullptr; place = place->next) {
        if (std::exchange(place->is_granted, true)) continue;
        place->list->socket = wire->fd.get();
        if (place != quietly)
            reports_.add({.token = place->token, .code = WEFT_OK, .peer = dedicated.peer.rank},
                         dedicated.name);
    }
}

// Moves on after a place or the connection has changed.
void TcpTransport::go_on(DedicatedConnection& dedicated) {
    write_places(dedicated);
    grant(dedicated, /*sends=*/true, nullptr);
    grant(dedicated, /*sends=*/false, nullptr);
    watch_places(dedicated);
}

// The message at the front has moved.
void TcpTransport::end_place(DedicatedConnection& dedicated, bool sends) {
    Place* place = dedicated.direction(sends).places.take_first();
    reports_.add({.token = place->token, .code = WEFT_OK, .peer = dedicated.peer.rank},
                 dedicated.name);
    places_.give_back(place);
    expect_less(dedicated);
}

// Two calls have crossed: it is open which one the peer sends on. It accepts ours with a `welcome`,
// or it sends on its own, perhaps long before it looks at ours.
bool TcpTransport::is_unsettled(const DedicatedConnection& dedicated) {
    return dedicated.in != nullptr && dedicated.calling != nullptr;
}

void TcpTransport::settle(DedicatedConnection& dedicated) {
    std::byte first;
    if (recv(dedicated.in->fd.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return;
    close(*dedicated.calling);
    go_on(dedicated);
}

// A connection that nobody reads stays watched until something comes. One that a list reads is not
// watched.
void TcpTransport::watch_places(DedicatedConnection& dedicated) {
    note_owing(dedicated);
    auto events_of = [&](const Wire& wire) {
        std::uint32_t events = 0;
        if (dedicated.in == &wire) {
            if (is_unsettled(dedicated))
                events |= dedicated.receives.places.empty() ? 0 : EPOLLIN | EPOLLET;
            else if (is_readable(dedicated))
                events |= EPOLLIN;
            else if (dedicated.receives.places.empty() && !dedicated.receives.is_over)
                events |= wire.watched & EPOLLIN;
        }
        if (dedicated.out == &wire && dedicated.owes()) events |= EPOLLOUT;
        return events;
    };
    for (Wire* wire : {dedicated.in, dedicated.out}) {
        if (wire != nullptr) listen_for(*wire, events_of(*wire));
    }
}

void TcpTransport::on_dedicated_event(Wire& wire, std::uint32_t events) {
    auto& dedicated = static_cast<DedicatedConnection&>(*wire.link);
    if ((events & ~std::uint32_t{EPOLLIN}) != 0 && dedicated.out == &wire) go_on(dedicated);
    if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
    if (dedicated.in == &wire && is_unsettled(dedicated)) return settle(dedicated);
    if (is_readable(dedicated))
        read(wire);
    else
        listen_for(wire, wire.watched & ~std::uint32_t{EPOLLIN});
}

// --- Sending -------------------------------------------------------------------------------------

void TcpTransport::write_places(DedicatedConnection& dedicated) {
    if (!dedicated.owes()) return;
    while (dedicated.owes() && write(dedicated, *dedicated.sends.places.first))
        end_place(dedicated, true);
    if (dedicated.sends.is_over) end_sends(dedicated);
}

void TcpTransport::end_sends(DedicatedConnection& dedicated) {
    end(dedicated, dedicated.out != nullptr ? dedicated.out->write_error : 0);
}

// True: all of it is written. False: not yet, or the direction is over.
bool TcpTransport::write(DedicatedConnection& dedicated, Place& place) {
    const Frame::Header header =
        Frame{FrameKind::eager, place.sequence, place.bytes, dedicated.name}.encoded();
    for (std::uint64_t written = 0; written < move_bytes_max;) {
        const std::uint64_t of_head = std::min<std::uint64_t>(place.moved, header.size());
        const std::uint64_t offset = place.moved - of_head;
        iovec pieces[2] = {
            {const_cast<std::byte*>(header.data()) + of_head, header.size() - of_head},
            {place.data + offset, place.bytes - offset},
        };
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = place.bytes > offset ? 2 : 1;
        const ssize_t n = sendmsg(dedicated.out->fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return false;
            // What the peer has sent before can still be read.
            dedicated.out->write_error = errno;
            dedicated.sends.is_over = true;
            return false;
        }
        written += static_cast<std::uint64_t>(n);
        place.moved += static_cast<std::uint64_t>(n);
        if (place.moved == header.size() + place.bytes) return true;
    }
    return false;
}

// --- Receiving -----------------------------------------------------------------------------------

// Whether the next bytes belong to a message of the user's.
bool TcpTransport::is_readable(const DedicatedConnection& dedicated) {
    if (dedicated.in == nullptr || is_unsettled(dedicated) || dedicated.receives.is_over)
        return false;
    const Place* first = dedicated.receives.places.first;
    return dedicated.is_dropping || (first != nullptr && first->list == nullptr);
}

// The first bytes of the called end.
bool TcpTransport::answer(Wire& wire, const Frame& frame) {
    const Frame::Header header = frame.encoded();
    return send(wire.fd.get(), header.data(), header.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(header.size());
}

void TcpTransport::read_welcome(Wire& wire) {
    const ssize_t n = recv(wire.fd.get(), wire.header.data() + wire.header_bytes,
                           wire.header.size() - wire.header_bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return fail(wire, n < 0 ? errno : 0);
    wire.header_bytes += static_cast<std::size_t>(n);
    if (wire.header_bytes < wire.header.size()) return;
    wire.header_bytes = 0;
    const Frame frame = Frame::decoded(wire.header);
    if (frame.kind == FrameKind::full) return refused_by(wire, frame);
    if (frame.kind != FrameKind::welcome || frame.stream != wire.link->name)
        return fail(wire, EPROTO);
    take_up(wire, *wire.link);
}

void TcpTransport::read_places(Wire& wire) {
    if (wire.state == Wire::State::unanswered) return read_welcome(wire);
    auto& dedicated = static_cast<DedicatedConnection&>(*wire.link);
    for (std::size_t total = 0; total < move_bytes_max;) {
        if (dedicated.in != &wire || !is_readable(dedicated)) break;
        iovec pieces[2];
        int count = 0;
        std::size_t wanted = 0;
        auto want = [&](void* into, std::size_t bytes) {
            pieces[count++] = {into, bytes};
            wanted += bytes;
        };
        const std::uint64_t left = wire.left;
        Place* place = dedicated.receives.places.first;
        const Place* next = place;
        if (dedicated.is_dropping) {
            want(staging_.data(), std::min<std::uint64_t>(left, staging_.size()));
        } else if (left > 0) {
            want(place->data + (place->bytes - left), left);
            next = place->next;
        }
        // Read the next header too, if it is of a message of the user's.
        if (wanted == left && next != nullptr && next->list == nullptr)
            want(wire.header.data() + wire.header_bytes, wire.header.size() - wire.header_bytes);
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = static_cast<std::size_t>(count);
        const ssize_t n = recvmsg(wire.fd.get(), &message, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            dedicated.receives.is_over = true;
            end(dedicated, n < 0 ? errno : 0);
            break;
        }
        const auto bytes = static_cast<std::uint64_t>(n);
        total += bytes;
        const std::uint64_t payload = std::min(bytes, left);
        wire.left -= payload;
        if (left > 0 && wire.left == 0) {
            if (!std::exchange(dedicated.is_dropping, false)) end_place(dedicated, /*sends=*/false);
        }
        wire.header_bytes += bytes - payload;
        if (wire.header_bytes == wire.header.size() && !take_header(dedicated, wire))
            return lose(dedicated.peer, WEFT_BROKEN_TRANSPORT);
        if (bytes < wanted) break;
    }
    grant(dedicated, /*sends=*/false, nullptr);
    watch_places(dedicated);
}

// False: no peer would send this here.
bool TcpTransport::take_header(DedicatedConnection& dedicated, Wire& wire) {
    wire.header_bytes = 0;
    const Frame frame = Frame::decoded(wire.header);
    Place& place = *dedicated.receives.places.first;
    if (frame.kind != FrameKind::eager || frame.stream != dedicated.name ||
        frame.sequence != place.sequence)
        return false;
    wire.left = frame.bytes;
    if (frame.bytes != place.bytes) {
        reports_.add({.token = place.token,
                      .code = WEFT_BROKEN_MESSAGE,
                      .peer = dedicated.peer.rank,
                      .sent_bytes = static_cast<std::int64_t>(frame.bytes),
                      .expected_bytes = static_cast<std::int64_t>(place.bytes)},
                     dedicated.name);
        dedicated.is_dropping = frame.bytes > 0;
        places_.give_back(dedicated.receives.places.take_first());
        expect_less(dedicated);
    } else if (frame.bytes == 0) {
        end_place(dedicated, /*sends=*/false);
    }
    return true;
}

// --- Ends ----------------------------------------------------------------------------------------

// A direction has ended with this errno; 0: the other end has closed.
void TcpTransport::end(DedicatedConnection& dedicated, int error) {
    const bool is_gone = error == 0 || error == ECONNRESET || error == EPIPE;
    if (!is_gone && !dedicated.peer.lost) return lose(dedicated.peer, WEFT_BROKEN_TRANSPORT);
    await_reason(dedicated);
}

void TcpTransport::await_reason(DedicatedConnection& dedicated) {
    if (dedicated.peer.lost) return break_places(dedicated);
    if (dedicated.unexplained_ns != 0 || !is_needed(dedicated)) return;
    dedicated.unexplained_ns = now_ns();
    plan_timer(dedicated.unexplained_ns + settings_.peer_timeout_ns);
}

void TcpTransport::give_up_unexplained(std::int64_t now) {
    for_each_dedicated([&](DedicatedConnection& dedicated) {
        if (dedicated.unexplained_ns == 0 || dedicated.peer.lost) return;
        const std::int64_t deadline_ns = dedicated.unexplained_ns + settings_.peer_timeout_ns;
        if (deadline_ns > now) return plan_timer(deadline_ns);
        lose(dedicated.peer, WEFT_BROKEN_TRANSPORT);
    });
}

// What the peer has sent is read up to the end, unless the peer is out of reach.
void TcpTransport::lose_dedicated(Peer& peer) {
    for (const auto& dedicated : peer.dedicated) {
        dedicated->call_at_ns = 0;
        dedicated->sends.is_over = true;
        const bool is_out_of_reach = peer.loss != WEFT_BROKEN_RANK;
        if (is_out_of_reach || (dedicated->in == nullptr && dedicated->calling == nullptr))
            dedicated->receives.is_over = true;
        if (is_out_of_reach) {
            // Ends the operations of lists. The descriptor stays open for them.
            for (Wire* wire : {dedicated->in, dedicated->out}) {
                if (wire != nullptr) (void)shutdown(wire->fd.get(), SHUT_RDWR);
            }
        }
        break_places(*dedicated);
    }
    look_around_ = true;
}

// Completes places that wait in vain as broken. A list that was granted its place releases it
// itself.
void TcpTransport::break_places(DedicatedConnection& dedicated) {
    for (Direction* direction : {&dedicated.sends, &dedicated.receives}) {
        if (!direction->is_over) continue;
        tcp::Chain<Place> places = std::exchange(direction->places, {});
        while (!places.empty()) {
            Place* place = places.take_first();
            if (place->list != nullptr && place->is_given_back) {
                give_back_list(*place);
                continue;
            }
            if (place->list != nullptr && place->is_granted && !place->has_failed) {
                direction->places.append(place);
                continue;
            }
            reports_.add(
                {.token = place->token, .code = dedicated.peer.loss, .peer = dedicated.peer.rank},
                dedicated.name);
            if (place->list != nullptr) {
                give_back_list(*place);
            } else {
                places_.give_back(place);
                expect_less(dedicated);
            }
        }
    }
    watch_places(dedicated);
}

// Ends a connection whose context was retired: what was sent still arrives.
void TcpTransport::part(DedicatedConnection& dedicated) {
    for (Wire* wire : {dedicated.in, dedicated.out}) {
        if (wire == nullptr || wire->state != Wire::State::up) continue;
        (void)shutdown(wire->fd.get(), SHUT_WR);
        wire->state = Wire::State::parting;
        wire->link = nullptr;
        wire->parts = &dedicated.peer;
        wire->parted = dedicated.name;
        listen_for(*wire, EPOLLIN);
    }
    dedicated.in = dedicated.out = nullptr;
    drop(dedicated);
}

// Whether this end has parted from a connection of that name and the other has not. A call for it
// then crossed ours, and comes too late.
bool TcpTransport::is_parting(const Peer& peer, StreamId stream) const {
    return std::ranges::any_of(wires_, [&](const auto& wire) {
        return wire->state == Wire::State::parting && wire->parts == &peer &&
               wire->parted == stream.packed();
    });
}

void TcpTransport::read_parting(Wire& wire) {
    ssize_t n = 0;
    for (std::size_t total = 0; total < move_bytes_max; total += static_cast<std::size_t>(n)) {
        n = recv(wire.fd.get(), staging_.data(), staging_.size(), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return close(wire);
    }
}

void TcpTransport::drop(DedicatedConnection& dedicated) {
    for (Wire* wire : {dedicated.calling, dedicated.in, dedicated.out}) {
        // (`in` and `out` may be the same wire.)
        if (wire != nullptr && wire->state != Wire::State::closed) close(*wire);
    }
    for (const auto& wire : closed_) {
        if (wire->link == &dedicated) wire->link = nullptr;
    }
    for (Direction* direction : {&dedicated.sends, &dedicated.receives}) {
        while (!direction->places.empty()) {
            Place* place = direction->places.take_first();
            if (place->list != nullptr) {
                give_back_list(*place);
            } else {
                places_.give_back(place);
                expect_less(dedicated);
            }
        }
    }
    note_owing(dedicated);
    std::erase_if(dedicated.peer.dedicated, [&](const auto& s) { return s.get() == &dedicated; });
}

template <class Condition>
void TcpTransport::end_dedicated(Condition is_over, bool in_good_order) {
    for (Peer& peer : peers_) {
        for (std::size_t i = peer.dedicated.size(); i-- > 0;) {
            DedicatedConnection& dedicated = *peer.dedicated[i];
            if (!is_over(dedicated.stream().context)) continue;
            if (in_good_order)
                part(dedicated);
            else
                drop(dedicated);
        }
    }
}

// Closes the dedicated connections of this context.
void TcpTransport::take_back(std::uint32_t context, bool in_good_order) {
    end_dedicated([&](std::uint32_t of) { return of == context; }, in_good_order);
    std::erase_if(dedicated_, [&](const DedicatedStreams& of) { return of.context == context; });
}

// Those of contexts that peers have, and this rank will not get.
void TcpTransport::drop_unwanted_dedicated() {
    end_dedicated([&](std::uint32_t of) { return !contexts_.wants(of); }, /*in_good_order=*/true);
}

}  // namespace weft
