// Connections that are lent to one stream each (transport/strand.h).
//
// A connection serves one lending: its name is the stream's, which no other ever has, so bytes of one
// stream never meet another. It comes up like others (meeting.cpp); the first 16 bytes from the
// called end are the `welcome`. Who retires the context says that nothing more comes, and drops what
// still comes until the other end has done the same; who abandons it closes at once.
//
// A lent connection that ends is not by itself the death of its peer, which may have given the
// context up: the reason comes on the connection for all streams, which comes up first, as news or as
// the end of the peer. While it does not, whoever needs the lent connection waits, at most for
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

void TcpTransport::lend(std::uint32_t context, std::uint32_t streams) {
    WEFT_ASSERT(context != 0 && streams <= streams_max);
    if (streams > 0) lent_.push_back({context, streams});
}

std::uint32_t TcpTransport::lent_streams(std::uint32_t context) const {
    for (const Lending& lending : lent_) {
        if (lending.context == context) return lending.streams;
    }
    return 0;
}

bool TcpTransport::carries(const Lane& lane) const {
    return lane.stream.stream < lent_streams(lane.stream.context) &&
           !peers_[static_cast<std::size_t>(lane.peer)].addresses.empty();
}

tcp::Strand* TcpTransport::strand_of(Peer& peer, StreamId stream) {
    return stream.stream < lent_streams(stream.context) ? &strand_at(peer, stream) : nullptr;
}

tcp::Strand* TcpTransport::find_strand(const Peer& peer, StreamId stream) {
    for (const auto& strand : peer.strands) {
        if (strand->name == stream.packed()) return strand.get();
    }
    return nullptr;
}

tcp::Strand& TcpTransport::strand_at(Peer& peer, StreamId stream) {
    if (Strand* strand = find_strand(peer, stream)) return *strand;
    Strand& made = *peer.strands.emplace_back(std::make_unique<Strand>(peer, stream.packed()));
    made.sends.is_over = made.receives.is_over = peer.lost;
    return made;
}

// --- Places --------------------------------------------------------------------------------------

tcp::Place& TcpTransport::add_place(Strand& strand, bool sends, Token token,
                                    std::uint32_t messages) {
    Direction& direction = strand.direction(sends);
    Place& place = *places_.take();
    place = {
        .token = token, .sequence = direction.next_sequence, .sends = sends, .strand = &strand};
    direction.next_sequence = static_cast<std::uint16_t>(direction.next_sequence + messages);
    direction.places.append(&place);
    return place;
}

Posted TcpTransport::send_on(Strand& strand, Bytes data, Token token) {
    Place& place = add_place(strand, /*sends=*/true, token, 1);
    place.data = const_cast<std::byte*>(data.data());
    place.bytes = data.size();
    Direction& sends = strand.sends;
    // With completions waiting in the backlog, `done` might overtake one of this lane.
    if (sends.places.first == &place && strand.out != nullptr && !sends.is_over &&
        backlog_.empty() && write(strand, place)) {
        places_.give_back(sends.places.take_first());
        return Posted::done;
    }
    expect(strand);
    if (sends.is_over)
        end_sends(strand);
    else
        need(strand);
    watch_places(strand);
    return Posted::pending;
}

Posted TcpTransport::receive_on(Strand& strand, MutBytes data, Token token) {
    Place& place = add_place(strand, /*sends=*/false, token, 1);
    place.data = data.data();
    place.bytes = data.size();
    expect(strand);
    if (strand.receives.is_over)
        await_reason(strand);
    else
        need(strand);
    watch_places(strand);
    return Posted::pending;
}

Posted TcpTransport::hold(const Lane& lane, bool sends, std::uint32_t messages, Hold& place,
                          Token token) {
    Strand* strand = strand_of(peer_of(lane.peer), lane.stream);
    WEFT_ASSERT(strand != nullptr);
    Place& made = add_place(*strand, sends, token, messages);
    made.list = &place;
    place = {.sequence = made.sequence, .place = &made};
    if (strand->lists++ == 0) {
        holding_.push_back(strand);
        look_at(*strand);
    }
    if (strand->direction(sends).is_over) {
        await_reason(*strand);
        return Posted::pending;
    }
    need(*strand);
    grant(*strand, sends, &made);
    watch_places(*strand);
    return made.is_granted ? Posted::done : Posted::pending;
}

// Lists may be given back in another order than they moved in: the later one's completion may be
// seen first.
void TcpTransport::release(Hold& hold) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    Strand& strand = *place.strand;
    Direction& direction = strand.direction(place.sends);
    place.is_given_back = true;
    while (!direction.places.empty() && direction.places.first->is_given_back)
        give_back_list(*direction.places.take_first());
    go_on(strand);
}

void TcpTransport::give_back_list(Place& place) {
    Strand& strand = *place.strand;
    places_.give_back(&place);
    if (--strand.lists > 0) return;
    *std::ranges::find(holding_, &strand) = holding_.back();
    holding_.pop_back();
}

void TcpTransport::fail(Hold& hold, int error) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    place.has_failed = true;
    place.strand->direction(place.sends).is_over = true;
    end(*place.strand, error);
}

// Gives the lists at the front of the direction their places.
void TcpTransport::grant(Strand& strand, bool sends, const Place* quietly) {
    Wire* wire = sends ? strand.out : strand.in;
    const bool is_free = sends || (!is_unsettled(strand) && !strand.is_dropping);
    if (wire == nullptr || !is_free || strand.direction(sends).is_over) return;
    Place* place = strand.direction(sends).places.first;
    for (; place != nullptr && place->list != nullptr; place = place->next) {
        if (std::exchange(place->is_granted, true)) continue;
        place->list->socket = wire->fd.get();
        if (place != quietly)
            report({.token = place->token, .code = WEFT_OK, .peer = strand.peer.rank}, strand.name);
    }
}

// After a place or the connection has changed.
void TcpTransport::go_on(Strand& strand) {
    write_places(strand);
    grant(strand, /*sends=*/true, nullptr);
    grant(strand, /*sends=*/false, nullptr);
    watch_places(strand);
}

// The message at the front has moved.
void TcpTransport::end_place(Strand& strand, bool sends) {
    Place* place = strand.direction(sends).places.take_first();
    report({.token = place->token, .code = WEFT_OK, .peer = strand.peer.rank}, strand.name);
    places_.give_back(place);
    expect_less(strand);
}

// Two calls have crossed. The peer has taken ours, and says so, or it sends on its own: it may have
// finished with that long before it looks at ours.
bool TcpTransport::is_unsettled(const Strand& strand) {
    return strand.in != nullptr && strand.calling != nullptr;
}

void TcpTransport::settle(Strand& strand) {
    std::byte first;
    if (recv(strand.in->fd.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return;
    close(*strand.calling);
    go_on(strand);
}

// A connection that nobody reads stays watched until something comes on it; one that a list reads
// does not.
void TcpTransport::watch_places(Strand& strand) {
    note_owing(strand);
    auto events_of = [&](const Wire& wire) {
        std::uint32_t events = 0;
        if (strand.in == &wire) {
            if (is_unsettled(strand))
                events |= strand.receives.places.empty() ? 0 : EPOLLIN | EPOLLET;
            else if (is_readable(strand))
                events |= EPOLLIN;
            else if (strand.receives.places.empty() && !strand.receives.is_over)
                events |= wire.watched & EPOLLIN;
        }
        if (strand.out == &wire && strand.owes()) events |= EPOLLOUT;
        return events;
    };
    for (Wire* wire : {strand.in, strand.out}) {
        if (wire != nullptr) listen_for(*wire, events_of(*wire));
    }
}

void TcpTransport::on_strand_event(Wire& wire, std::uint32_t events) {
    auto& strand = static_cast<Strand&>(*wire.link);
    if ((events & ~std::uint32_t{EPOLLIN}) != 0 && strand.out == &wire) go_on(strand);
    if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
    if (strand.in == &wire && is_unsettled(strand)) return settle(strand);
    if (is_readable(strand))
        read(wire);
    else
        listen_for(wire, wire.watched & ~std::uint32_t{EPOLLIN});
}

// --- Sending -------------------------------------------------------------------------------------

void TcpTransport::write_places(Strand& strand) {
    if (!strand.owes()) return;
    while (strand.owes() && write(strand, *strand.sends.places.first)) end_place(strand, true);
    if (strand.sends.is_over) end_sends(strand);
}

void TcpTransport::end_sends(Strand& strand) {
    end(strand, strand.out != nullptr ? strand.out->write_error : 0);
}

// True: it has been written wholly. False: not now, or the direction is over.
bool TcpTransport::write(Strand& strand, Place& place) {
    const Frame::Header header =
        Frame{FrameKind::eager, place.sequence, place.bytes, strand.name}.encoded();
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
        const ssize_t n = sendmsg(strand.out->fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return false;
            // What the peer has sent before can still be read.
            strand.out->write_error = errno;
            strand.sends.is_over = true;
            return false;
        }
        written += static_cast<std::uint64_t>(n);
        place.moved += static_cast<std::uint64_t>(n);
        if (place.moved == header.size() + place.bytes) return true;
    }
    return false;
}

// --- Receiving -----------------------------------------------------------------------------------

// Whether what comes next belongs to a message of the user's.
bool TcpTransport::is_readable(const Strand& strand) {
    if (strand.in == nullptr || is_unsettled(strand) || strand.receives.is_over) return false;
    const Place* first = strand.receives.places.first;
    return strand.is_dropping || (first != nullptr && first->list == nullptr);
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
    auto& strand = static_cast<Strand&>(*wire.link);
    for (std::size_t total = 0; total < move_bytes_max;) {
        if (strand.in != &wire || !is_readable(strand)) break;
        iovec pieces[2];
        int count = 0;
        std::size_t wanted = 0;
        auto want = [&](void* into, std::size_t bytes) {
            pieces[count++] = {into, bytes};
            wanted += bytes;
        };
        const std::uint64_t left = wire.left;
        Place* place = strand.receives.places.first;
        const Place* next = place;
        if (strand.is_dropping) {
            want(staging_.data(), std::min<std::uint64_t>(left, staging_.size()));
        } else if (left > 0) {
            want(place->data + (place->bytes - left), left);
            next = place->next;
        }
        // The next header comes with it if it is for the user, too.
        if (wanted == left && next != nullptr && next->list == nullptr)
            want(wire.header.data() + wire.header_bytes, wire.header.size() - wire.header_bytes);
        msghdr message{};
        message.msg_iov = pieces;
        message.msg_iovlen = static_cast<std::size_t>(count);
        const ssize_t n = recvmsg(wire.fd.get(), &message, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            strand.receives.is_over = true;
            end(strand, n < 0 ? errno : 0);
            break;
        }
        const auto bytes = static_cast<std::uint64_t>(n);
        total += bytes;
        const std::uint64_t payload = std::min(bytes, left);
        wire.left -= payload;
        if (left > 0 && wire.left == 0) {
            if (!std::exchange(strand.is_dropping, false)) end_place(strand, /*sends=*/false);
        }
        wire.header_bytes += bytes - payload;
        if (wire.header_bytes == wire.header.size() && !take_header(strand, wire))
            return lose(strand.peer, WEFT_BROKEN_TRANSPORT);
        if (bytes < wanted) break;
    }
    grant(strand, /*sends=*/false, nullptr);
    watch_places(strand);
}

// False: it is none that a peer would send here.
bool TcpTransport::take_header(Strand& strand, Wire& wire) {
    wire.header_bytes = 0;
    const Frame frame = Frame::decoded(wire.header);
    Place& place = *strand.receives.places.first;
    if (frame.kind != FrameKind::eager || frame.stream != strand.name ||
        frame.sequence != place.sequence)
        return false;
    wire.left = frame.bytes;
    if (frame.bytes != place.bytes) {
        report({.token = place.token,
                .code = WEFT_BROKEN_MESSAGE,
                .peer = strand.peer.rank,
                .sent_bytes = static_cast<std::int64_t>(frame.bytes),
                .expected_bytes = static_cast<std::int64_t>(place.bytes)},
               strand.name);
        strand.is_dropping = frame.bytes > 0;
        places_.give_back(strand.receives.places.take_first());
        expect_less(strand);
    } else if (frame.bytes == 0) {
        end_place(strand, /*sends=*/false);
    }
    return true;
}

// --- Ends ----------------------------------------------------------------------------------------

// A direction is over because of this error of the operating system; 0: the other end has closed.
void TcpTransport::end(Strand& strand, int error) {
    const bool is_gone = error == 0 || error == ECONNRESET || error == EPIPE;
    if (!is_gone && !strand.peer.lost) return lose(strand.peer, WEFT_BROKEN_TRANSPORT);
    await_reason(strand);
}

void TcpTransport::await_reason(Strand& strand) {
    if (strand.peer.lost) return break_places(strand);
    if (strand.unexplained_ns != 0 || !is_needed(strand)) return;
    strand.unexplained_ns = now_ns();
    plan_timer(strand.unexplained_ns + settings_.peer_timeout_ns);
}

void TcpTransport::give_up_unexplained(std::int64_t now) {
    for_each_strand([&](Strand& strand) {
        if (strand.unexplained_ns == 0 || strand.peer.lost) return;
        const std::int64_t deadline_ns = strand.unexplained_ns + settings_.peer_timeout_ns;
        if (deadline_ns > now) return plan_timer(deadline_ns);
        lose(strand.peer, WEFT_BROKEN_TRANSPORT);
    });
}

// What the peer has sent still counts, unless it is out of reach: it is read up to its end.
void TcpTransport::lose_strands(Peer& peer) {
    for (const auto& strand : peer.strands) {
        strand->call_at_ns = 0;
        strand->sends.is_over = true;
        const bool is_out_of_reach = peer.loss != WEFT_BROKEN_RANK;
        if (is_out_of_reach || (strand->in == nullptr && strand->calling == nullptr))
            strand->receives.is_over = true;
        if (is_out_of_reach) {
            // What lists are doing ends. The descriptor stays theirs.
            for (Wire* wire : {strand->in, strand->out}) {
                if (wire != nullptr) (void)shutdown(wire->fd.get(), SHUT_RDWR);
            }
        }
        break_places(*strand);
    }
    look_around_ = true;
}

// Tells those who wait in vain why. A list that has been granted its place gives it back itself.
void TcpTransport::break_places(Strand& strand) {
    for (Direction* direction : {&strand.sends, &strand.receives}) {
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
            report({.token = place->token, .code = strand.peer.loss, .peer = strand.peer.rank},
                   strand.name);
            if (place->list != nullptr) {
                give_back_list(*place);
            } else {
                places_.give_back(place);
                expect_less(strand);
            }
        }
    }
    watch_places(strand);
}

// Nothing of the context is posted here any more; what was sent arrives.
void TcpTransport::part(Strand& strand) {
    for (Wire* wire : {strand.in, strand.out}) {
        if (wire == nullptr || wire->state != Wire::State::up) continue;
        (void)shutdown(wire->fd.get(), SHUT_WR);
        wire->state = Wire::State::parting;
        wire->link = nullptr;
        wire->parts = &strand.peer;
        wire->parted = strand.name;
        listen_for(*wire, EPOLLIN);
    }
    strand.in = strand.out = nullptr;
    drop(strand);
}

// Whether this end has parted from a connection of that name and the other has not: a call for it is
// one that crossed ours, and comes too late.
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

void TcpTransport::drop(Strand& strand) {
    for (Wire* wire : {strand.calling, strand.in, strand.out}) {
        // (Of two that are one, the second is closed already.)
        if (wire != nullptr && wire->state != Wire::State::closed) close(*wire);
    }
    for (const auto& wire : closed_) {
        if (wire->link == &strand) wire->link = nullptr;
    }
    for (Direction* direction : {&strand.sends, &strand.receives}) {
        while (!direction->places.empty()) {
            Place* place = direction->places.take_first();
            if (place->list != nullptr) {
                give_back_list(*place);
            } else {
                places_.give_back(place);
                expect_less(strand);
            }
        }
    }
    note_owing(strand);
    std::erase_if(strand.peer.strands, [&](const auto& s) { return s.get() == &strand; });
}

template <class Condition>
void TcpTransport::end_strands(Condition is_over, bool in_good_order) {
    for (Peer& peer : peers_) {
        for (std::size_t i = peer.strands.size(); i-- > 0;) {
            Strand& strand = *peer.strands[i];
            if (!is_over(strand.stream().context)) continue;
            if (in_good_order)
                part(strand);
            else
                drop(strand);
        }
    }
}

// What was lent to streams of this context is not any more.
void TcpTransport::take_back(std::uint32_t context, bool in_good_order) {
    end_strands([&](std::uint32_t of) { return of == context; }, in_good_order);
    std::erase_if(lent_, [&](const Lending& lending) { return lending.context == context; });
}

// Of contexts that peers have, and this rank will not get.
void TcpTransport::drop_unwanted_strands() {
    end_strands([&](std::uint32_t of) { return !contexts_.wants(of); }, /*in_good_order=*/true);
}

}  // namespace weft
