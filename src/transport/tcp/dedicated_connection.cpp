#include "transport/tcp/dedicated_connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"

namespace weft::tcp {

// --- Places --------------------------------------------------------------------------------------

Place& DedicatedConnection::add_place(Place& place, bool sends, Token token,
                                      std::uint32_t messages) {
    Direction& queue = direction(sends);
    place = {.token = token, .sequence = queue.next_sequence, .sends = sends, .dedicated = this};
    queue.next_sequence = static_cast<std::uint16_t>(queue.next_sequence + messages);
    queue.places.append(&place);
    return place;
}

// It has left its queue.
void DedicatedConnection::free_place(Place& place) {
    const bool is_list = place.list != nullptr;
    core_.places.give_back(&place);
    if (!is_list) return core_.expect_less(*this);
    if (--lists_ > 0) return;
    *std::ranges::find(core_.holding, this) = core_.holding.back();
    core_.holding.pop_back();
}

DedicatedConnection::Taken DedicatedConnection::take_places(std::uint64_t bytes) {
    Taken taken{core_.take_place(), nullptr};
    if (core_.cleared_bytes_min() == DedicatedConnections::none_is_cleared) return taken;
    try {
        if (ctss_ == nullptr) {
            Link& link = core_.link_at(peer, cts_stream_of(stream()).packed());
            ctss_ = static_cast<DedicatedConnection*>(&link);
            ctss_->of_ = this;
        }
        if (needs_cts(bytes)) taken.cts = core_.take_place();
    } catch (const std::bad_alloc&) {
        core_.places.give_back(taken.message);
        throw;
    }
    return taken;
}

Posted DedicatedConnection::send(Bytes data, Token token) {
    const Taken taken = take_places(data.size());
    Place& place = add_place(*taken.message, /*sends=*/true, token, 1);
    place.data = const_cast<std::byte*>(data.data());
    place.bytes = data.size();
    if (taken.cts != nullptr) place.cts = ++ctss_needed_;
    const Posted posted = post_send(place);
    if (taken.cts != nullptr) ctss_->receive_cts(*taken.cts);
    return posted;
}

Posted DedicatedConnection::post_send(Place& place) {
    // With completions that are kept, `done` might overtake one of this lane.
    if (sends_.places.first == &place && out != nullptr && !sends_.is_over &&
        !core_.reports.has_kept() && write(place)) {
        core_.places.give_back(sends_.places.take_first());
        return Posted::done;
    }
    core_.expect(*this);
    if (sends_.is_over)
        end_sends();
    else
        core_.need(*this);
    watch();
    return Posted::pending;
}

Posted DedicatedConnection::receive(MutBytes data, Token token) {
    const Taken taken = take_places(data.size());
    Place& place = add_place(*taken.message, /*sends=*/false, token, 1);
    place.data = data.data();
    place.bytes = data.size();
    post_receive();
    if (taken.cts == nullptr) return Posted::pending;
    core_.may_move = Core::moved_bytes_max;
    give_cts(*taken.cts);
    return Posted::pending;
}

void DedicatedConnection::give_cts(Place& place) {
    if (spare_ctss_ == 0) return ctss_->send_cts(place);
    --spare_ctss_;
    core_.places.give_back(&place);
}

// After a message that met a receive of another size: there is a CTS for each that needs one.
void DedicatedConnection::balance_ctss(std::uint64_t sent_bytes, std::uint64_t expected_bytes) {
    if (needs_cts(expected_bytes) && !needs_cts(sent_bytes)) ++spare_ctss_;
    // (The receive has given its own place back.)
    if (needs_cts(sent_bytes) && !needs_cts(expected_bytes)) give_cts(*core_.places.take());
}

void DedicatedConnection::post_receive() {
    core_.expect(*this);
    if (receives_.is_over)
        end(0);
    else
        core_.need(*this);
    watch();
}

Posted DedicatedConnection::hold(bool sends, std::uint32_t messages, ListPlace& hold, Token token) {
    Place& place = add_place(*core_.take_place(), sends, token, messages);
    place.list = &hold;
    hold = {.sequence = place.sequence, .place = &place};
    if (lists_++ == 0) {
        core_.holding.push_back(this);
        core_.look_at(*this);
    }
    if (direction(sends).is_over) {
        await_reason();
        return Posted::pending;
    }
    core_.need(*this);
    grant(sends, &place);
    watch();
    return place.is_granted ? Posted::done : Posted::pending;
}

// Lists may be released in another order than they ran in: a later one's completion may be seen
// first.
void DedicatedConnection::release(ListPlace& hold) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    DedicatedConnection& dedicated = *place.dedicated;
    Chain<Place>& places = dedicated.direction(place.sends).places;
    place.is_given_back = true;
    while (!places.empty() && places.first->is_given_back)
        dedicated.free_place(*places.take_first());
    dedicated.go_on();
}

void DedicatedConnection::fail(ListPlace& hold, int error) {
    Place& place = *static_cast<Place*>(hold.place);
    WEFT_ASSERT(place.is_granted && !place.is_given_back);
    place.has_failed = true;
    place.dedicated->direction(place.sends).is_over = true;
    place.dedicated->end(error);
}

// Gives the lists at the front of the direction their places.
void DedicatedConnection::grant(bool sends, const Place* quietly) {
    const Wire* wire = sends ? out : in;
    const bool is_free = sends || (!is_unsettled() && !is_dropping_);
    if (wire == nullptr || !is_free || direction(sends).is_over) return;
    Place* place = direction(sends).places.first;
    for (; place != nullptr && place->list != nullptr; place = place->next) {
        if (std::exchange(place->is_granted, true)) continue;
        place->list->socket = wire->fd.get();
        if (place != quietly)
            core_.reports.add({.token = place->token, .code = WEFT_OK, .peer = peer.rank}, name);
    }
}

void DedicatedConnection::go_on() {
    write_places();
    grant(/*sends=*/true, nullptr);
    grant(/*sends=*/false, nullptr);
    watch();
}

// The message at the front has ended.
void DedicatedConnection::end_place(bool sends, const Outcome& how) {
    Place& place = *direction(sends).places.take_first();
    if (!is_cts_stream(stream()))
        core_.reports.add({place.token, how.code, peer.rank, how.sent_bytes, how.expected_bytes},
                          name);
    free_place(place);
    if (is_cts_stream(stream()) && !sends) of_->cleared();
}

void DedicatedConnection::cleared() {
    ++ctss_come_;
    go_on();
}

void DedicatedConnection::all_cleared() {
    ctss_come_ = UINT64_MAX / 2;
    go_on();
}

// --- The connection ------------------------------------------------------------------------------

void DedicatedConnection::take_up(Wire& wire) {
    unexplained_ns_ = 0;
    // The peer cannot have accepted a call on which we have not proven ourselves.
    if (calling != nullptr && calling->state != Wire::State::unanswered) core_.close(*calling);
    // Operations in the kernel must wait for the socket instead of failing with EAGAIN.
    (void)fcntl(wire.fd.get(), F_SETFL, fcntl(wire.fd.get(), F_GETFL) & ~O_NONBLOCK);
    go_on();
}

// Two calls have crossed: it is open which one the peer sends on. It accepts ours with a `welcome`,
// or it sends on its own, perhaps long before it looks at ours.
bool DedicatedConnection::is_unsettled() const { return in != nullptr && calling != nullptr; }

void DedicatedConnection::settle() {
    std::byte first;
    if (recv(in->fd.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return;
    core_.close(*calling);
    go_on();
}

// A connection without a receive stays watched until something arrives. One that a list reads is
// not watched.
void DedicatedConnection::watch() {
    core_.note_owing(*this);
    auto events_of = [&](const Wire& wire) {
        std::uint32_t events = 0;
        if (in == &wire) {
            if (is_unsettled())
                events |= receives_.places.empty() ? 0 : EPOLLIN | EPOLLET;
            else if (is_readable())
                events |= EPOLLIN;
            else if (receives_.places.empty() && !receives_.is_over)
                events |= wire.watched & EPOLLIN;
        }
        if (out == &wire && owes()) events |= EPOLLOUT;
        return events;
    };
    for (Wire* wire : {in, out}) {
        if (wire != nullptr) wire->listen_for(events_of(*wire));
    }
}

void DedicatedConnection::on_event(Wire& wire, std::uint32_t events) {
    if ((events & ~std::uint32_t{EPOLLIN}) != 0 && out == &wire) go_on();
    if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
    if (in == &wire && is_unsettled()) return settle();
    if (is_readable())
        read(wire);
    else
        wire.listen_for(wire.watched & ~std::uint32_t{EPOLLIN});
}

// --- Sending -------------------------------------------------------------------------------------

void DedicatedConnection::write_places() {
    if (!owes()) return;
    while (owes() && write(*sends_.places.first)) end_place(/*sends=*/true);
    if (sends_.is_over) end_sends();
}

void DedicatedConnection::end_sends() { end(out != nullptr ? out->write_error : 0); }

// True: all of it is written. False: not yet, or the direction is over.
bool DedicatedConnection::write(Place& place) {
    const Frame::Header header =
        Frame{FrameKind::eager, place.sequence, place.bytes, name}.encoded();
    const std::uint64_t allowed = may_be_sent(place);
    while (core_.may_move > 0 && place.moved < allowed) {
        const std::uint64_t of_head = std::min<std::uint64_t>(place.moved, header.size());
        const std::uint64_t offset = place.moved - of_head;
        iovec pieces[2] = {
            {const_cast<std::byte*>(header.data()) + of_head, header.size() - of_head},
            {place.data + offset, std::min(allowed - header.size() - offset, core_.may_move)},
        };
        const ssize_t n = out->write(std::span(pieces, pieces[1].iov_len > 0 ? 2u : 1u));
        // Earlier data of the peer can still be read.
        if (n < 0) sends_.is_over = true;
        if (n <= 0) return false;
        core_.count_moved(static_cast<std::uint64_t>(n));
        place.moved += static_cast<std::uint64_t>(n);
        if (place.moved == header.size() + place.bytes) return true;
    }
    return false;
}

// --- Receiving -----------------------------------------------------------------------------------

// Whether the next bytes belong to a message of the user's.
bool DedicatedConnection::is_readable() const {
    if (in == nullptr || is_unsettled() || receives_.is_over) return false;
    const Place* first = receives_.places.first;
    return is_dropping_ || (first != nullptr && first->list == nullptr);
}

void DedicatedConnection::read(Wire& wire) {
    if (wire.state == Wire::State::unanswered)
        read_welcome(wire);
    else
        read_places(wire);
    wire.note_read();
}

void DedicatedConnection::read_welcome(Wire& wire) {
    iovec rest{wire.header.data() + wire.header_bytes, wire.header.size() - wire.header_bytes};
    int error = 0;
    const ssize_t n = wire.read({&rest, 1}, error);
    if (n < 0) return core_.fail(wire, error);
    wire.header_bytes += static_cast<std::size_t>(n);
    if (wire.header_bytes < wire.header.size()) return;
    wire.header_bytes = 0;
    const Frame frame = Frame::decoded(wire.header);
    if (frame.kind == FrameKind::full) return core_.refused_by(wire, frame);
    if (frame.kind != FrameKind::welcome || frame.stream != name) return core_.fail(wire, EPROTO);
    core_.take_up(wire, *this);
}

void DedicatedConnection::read_places(Wire& wire) {
    while (core_.may_move > 0 && in == &wire && is_readable()) {
        iovec pieces[2];
        std::size_t count = 0;
        std::size_t wanted = 0;
        auto want = [&](void* into, std::size_t bytes) {
            pieces[count++] = {into, bytes};
            wanted += bytes;
        };
        const std::uint64_t left = wire.left;
        Place* place = receives_.places.first;
        const Place* next = place;
        if (is_dropping_) {
            want(core_.staging.data(), std::min<std::uint64_t>(left, core_.staging.size()));
        } else if (left > 0) {
            want(place->data + (place->bytes - left), std::min(left, core_.may_move));
            next = place->next;
        }
        // Read the next header too, if it is of a message of the user's.
        if (wanted == left && next != nullptr && next->list == nullptr)
            want(wire.header.data() + wire.header_bytes, wire.header.size() - wire.header_bytes);
        int error = 0;
        const ssize_t n = wire.read(std::span(pieces, count), error);
        if (n == 0) break;
        if (n < 0) {
            receives_.is_over = true;
            end(error);
            break;
        }
        const auto bytes = static_cast<std::uint64_t>(n);
        core_.count_moved(bytes);
        const std::uint64_t payload = std::min(bytes, left);
        wire.left -= payload;
        if (left > 0 && wire.left == 0) {
            if (!std::exchange(is_dropping_, false)) end_place(/*sends=*/false);
        }
        wire.header_bytes += bytes - payload;
        if (wire.header_bytes == wire.header.size() && !take_header(wire))
            return core_.lose(peer, WEFT_BROKEN_TRANSPORT);
        if (bytes < wanted) break;
    }
    grant(/*sends=*/false, nullptr);
    watch();
}

// False: no peer would send this here.
bool DedicatedConnection::take_header(Wire& wire) {
    wire.header_bytes = 0;
    const Frame frame = Frame::decoded(wire.header);
    const Place& place = *receives_.places.first;
    if (frame.kind != FrameKind::eager || frame.stream != name || frame.sequence != place.sequence)
        return false;
    if (is_cts_stream(stream()) && frame.bytes != 0) return false;
    wire.left = frame.bytes;
    if (frame.bytes != place.bytes) {
        is_dropping_ = frame.bytes > 0;
        const std::uint64_t expected_bytes = place.bytes;
        end_place(/*sends=*/false, Outcome::mismatch(frame.bytes, expected_bytes));
        balance_ctss(frame.bytes, expected_bytes);
    } else if (frame.bytes == 0) {
        end_place(/*sends=*/false);
    }
    return true;
}

// --- Ends ----------------------------------------------------------------------------------------

void DedicatedConnection::end(int error) {
    if (!is_gone(error) && !peer.lost) return core_.lose(peer, WEFT_BROKEN_TRANSPORT);
    if (of_ != nullptr && !peer.lost) end_ctss();
    await_reason();
}

// No more CTSs come or are wanted: the other end has closed the context, and drops what arrives; or
// it has cancelled it, or died, which the connection with the messages tells.
void DedicatedConnection::end_ctss() {
    sends_.is_over = receives_.is_over = true;
    for (Direction* queue : {&sends_, &receives_}) {
        Chain<Place> places = std::exchange(queue->places, {});
        while (!places.empty()) {
            Place* place = places.take_first();
            if (place->list != nullptr)
                queue->places.append(place);
            else
                free_place(*place);
        }
    }
    of_->all_cleared();
}

void DedicatedConnection::await_reason() {
    if (peer.lost) return break_places(peer.loss);
    if (unexplained_ns_ != 0 || !is_needed()) return;
    unexplained_ns_ = now_ns();
    core_.plan_timer(unexplained_ns_ + core_.settings.peer_timeout_ns);
}

void DedicatedConnection::give_up_unexplained(std::int64_t now) {
    if (unexplained_ns_ == 0 || peer.lost) return;
    const std::int64_t deadline_ns = unexplained_ns_ + core_.settings.peer_timeout_ns;
    if (deadline_ns > now) return core_.plan_timer(deadline_ns);
    core_.lose(peer, WEFT_BROKEN_TRANSPORT);
}

// The peer's data is read up to the end, unless the peer is out of reach.
void DedicatedConnection::lose() {
    call_at_ns = 0;
    sends_.is_over = true;
    const bool is_out_of_reach = peer.loss != WEFT_BROKEN_RANK;
    if (is_out_of_reach || (in == nullptr && calling == nullptr)) receives_.is_over = true;
    if (is_out_of_reach) {
        // Ends the operations of lists. The descriptor stays open for them.
        for (const Wire* wire : {in, out}) {
            if (wire != nullptr) (void)shutdown(wire->fd.get(), SHUT_RDWR);
        }
    }
    break_places(peer.loss);
}

// Completes waiting places as broken. A list that was granted its place releases it
// itself.
void DedicatedConnection::break_places(weft_status code) {
    for (Direction* queue : {&sends_, &receives_}) {
        if (!queue->is_over) continue;
        Chain<Place> places = std::exchange(queue->places, {});
        while (!places.empty()) {
            Place* place = places.take_first();
            const bool is_list = place->list != nullptr;
            if (is_list && place->is_granted && !place->has_failed && !place->is_given_back) {
                queue->places.append(place);
                continue;
            }
            if (!place->is_given_back && (is_list || !is_cts_stream(stream())))
                core_.reports.add({.token = place->token, .code = code, .peer = peer.rank}, name);
            free_place(*place);
        }
    }
    watch();
}

void DedicatedConnection::part() {
    for (Wire* wire : {in, out}) {
        if (wire == nullptr || wire->state != Wire::State::up) continue;
        (void)shutdown(wire->fd.get(), SHUT_WR);
        wire->state = Wire::State::parting;
        wire->link = nullptr;
        wire->parts = &peer;
        wire->parted = name;
        wire->listen_for(EPOLLIN);
    }
    in = out = nullptr;
    drop();
}

void DedicatedConnection::drop() {
    for (Wire* wire : {calling, in, out}) {
        // (`in` and `out` may be the same wire.)
        if (wire != nullptr && wire->state != Wire::State::closed) core_.close(*wire);
    }
    for (Direction* queue : {&sends_, &receives_}) {
        while (!queue->places.empty()) free_place(*queue->places.take_first());
    }
    core_.note_owing(*this);
}

}  // namespace weft::tcp
