// Ends: of connections, of peers, and of the transport.
#include <errno.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "transport/tcp/tcp.h"

#include <linux/sockios.h>

namespace weft {
namespace {

constexpr int calls_unexplained_max = 4;

}  // namespace

// The poster has ended: pending reads and writes must not touch its buffers.
void TcpTransport::forget_posts() {
    for (std::optional<std::uint64_t> context; (context = context_left());)
        cancel_context(*context);
}

// One that has posts.
std::optional<std::uint64_t> TcpTransport::context_left() {
    std::optional<std::uint64_t> found;
    for_each_shared([&](SharedConnection& shared) {
        shared.for_each_context([&](std::uint64_t context) { found = context; });
    });
    for_each_dedicated([&](const DedicatedConnection& dedicated) {
        if (dedicated.is_needed()) found = dedicated.stream().context();
    });
    return found;
}

// The peer has answered our call with `full`.
void TcpTransport::refused_by(Wire& wire, const tcp::Frame& frame) {
    if (frame.bytes != 0 && wire.link->out == nullptr) lose(wire.link->peer, tcp::no_descriptor);
    fail(wire, EMFILE);
}

void TcpTransport::fail(Wire& wire, int error) {
    const bool was_up = wire.state == Wire::State::up;
    Link* link = wire.link;
    if (was_up && link->is_dedicated()) return static_cast<DedicatedConnection*>(link)->end(error);
    if (error == 0) error = wire.write_error;
    close(wire);
    if (link == nullptr) {
        ++Core::counters.hung_up;
        return;
    }
    if (!was_up) return fail_before_use(*link, error);
    const bool has_ended = error == ECONNREFUSED || tcp::is_gone(error) ||
                           static_cast<SharedConnection*>(link)->has_left();
    if (has_ended || link->peer.ending_since_ns != 0) return await_end(link->peer);
    lose(link->peer, WEFT_BROKEN_TRANSPORT);
}

// A call of ours has failed.
void TcpTransport::fail_before_use(Link& link, int error) {
    DedicatedConnection* dedicated =
        link.is_dedicated() ? static_cast<DedicatedConnection*>(&link) : nullptr;
    // Only the wire that the peer sends on counts, not a superfluous call.
    if (link.out != nullptr) {
        if (dedicated != nullptr) dedicated->go_on();
        return;
    }
    if (dedicated != nullptr && link.peer.lost) return dedicated->break_without_wire();
    if (link.peer.ending_since_ns == 0) {
        const std::optional<int> last = connector_.call_elsewhere(link, error);
        if (!last) return;
        error = *last;
    }
    if (error == ECONNREFUSED || link.peer.ending_since_ns != 0) return await_end(link.peer);
    if (!tcp::is_gone(error) && !tcp::is_shortage(error))
        return lose(link.peer, WEFT_BROKEN_TRANSPORT);
    if (error == EMFILE) return connector_.call_later(link, tcp::no_descriptor);
    // It hung up: its own call may be on its way. If it always does, it is not the peer, or has
    // cancelled the context, and reports it.
    if (dedicated != nullptr && link.calls_failed >= calls_unexplained_max)
        dedicated->await_reason();
    const bool is_none = tcp::is_gone(error) && dedicated == nullptr;
    connector_.call_later(link, is_none ? WEFT_BROKEN_RANK : WEFT_BROKEN_TRANSPORT);
}

// The peer has ended, and all its connections with it: data on the others is read first.
void TcpTransport::await_end(Peer& peer) {
    if (peer.lost) return;
    if (peer.ending_since_ns == 0) {
        peer.ending_since_ns = now_ns();
        plan_timer(peer.ending_since_ns + settings.peer_timeout_ns);
        look_around_ = true;
    }
    part_from(peer);
}

// One connection has ended, and the others are silent.
void TcpTransport::give_up_ending(std::int64_t now) {
    for (Peer& peer : peers_) {
        if (peer.ending_since_ns == 0 || peer.lost) continue;
        const std::int64_t deadline_ns = peer.ending_since_ns + settings.peer_timeout_ns;
        if (deadline_ns > now)
            plan_timer(deadline_ns);
        else
            lose(peer, WEFT_BROKEN_RANK);
    }
}

// The peer is lost when nothing more comes on any connection. It has left in good order if it has
// said so on each.
void TcpTransport::part_from(Peer& peer) {
    bool was_up = false;
    bool has_left = true;
    for (const auto& shared : peer.shared) {
        if (!shared) continue;
        if (shared->may_say_more() && !shared->has_left()) return;
        was_up |= shared->was_up;
        has_left &= shared->has_left() || !shared->was_up;
    }
    peer.has_left = was_up && has_left;
    lose(peer, WEFT_BROKEN_RANK);
}

// The peer's data still counts; nothing more will arrive.
void TcpTransport::lose(Peer& peer, weft_status how) {
    if (peer.lost) return;
    peer.lost = true;
    ++losses_;
    if (peer.expected > 0) expect_less(shared_at(peer, 0));
    peer.loss = peer.has_left ? WEFT_BROKEN_RANK : how;
    const bool is_out_of_reach = peer.loss != WEFT_BROKEN_RANK;
    connector_.for_each_wire([&](Wire& wire) {
        if (wire.link != nullptr && &wire.link->peer == &peer) {
            // Dedicated connections are read to their ends.
            const bool may_be_read = wire.link->is_dedicated() &&
                                     (wire.state == Wire::State::up ||
                                      (wire.state == Wire::State::unanswered && !is_out_of_reach));
            if (!may_be_read) close(wire);
        } else if (wire.parts == &peer && is_out_of_reach) {
            close(wire);
        }
    });
    for (auto& shared : peer.shared) {
        if (shared) shared->break_posts();
    }
    for (const auto& dedicated : peer.dedicated) dedicated->lose();
    look_around_ = true;
    report_loss(peer);
}

void TcpTransport::report_loss(Peer& peer) {
    if (peer.loss_reported || peer.has_left) return;
    peer.loss_reported = true;
    reports.add({.token = {}, .code = peer.loss, .peer = peer.rank}, 0);
}

void TcpTransport::read_parting(Wire& wire) {
    iovec all{staging.data(), staging.size()};
    while (may_move > 0) {
        int error = 0;
        const ssize_t n = wire.read({&all, 1}, error);
        if (n < 0) return close(wire);
        if (n == 0) return;
        count_moved(static_cast<std::uint64_t>(n));
    }
}

// Sends a `bye` on every connection. Closing a socket while the peer sends would lose the data in
// flight: waits until the peer's machine has everything, but no longer than the peer timeout.
void TcpTransport::say_goodbye() {
    for_each_shared([&](SharedConnection& shared) {
        if (!shared.peer.lost && shared.out != nullptr) shared.say_goodbye();
    });
    write_put_off(moved_bytes_max);
    for (Peer& peer : peers_) {
        for (const auto& dedicated : peer.dedicated) dedicated->part();
    }
    const std::int64_t deadline_ns = now_ns() + settings.peer_timeout_ns;
    for (long pause_ns = 20'000;; pause_ns = std::min(2 * pause_ns, 5'000'000l)) {
        bool all_taken = true;
        auto is_taken = [](const Wire& wire) {
            int waiting = 0;
            return ioctl(wire.fd.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
        };
        // Unread bytes would make closing the socket look like a crash.
        connector_.for_each_wire([&](Wire& wire) {
            may_move = moved_bytes_max;
            if (wire.state == Wire::State::up) return wire.link->read(wire);
            if (wire.state != Wire::State::parting) return;
            all_taken &= is_taken(wire);
            read_parting(wire);
        });
        for_each_shared([&](SharedConnection& shared) {
            if (shared.peer.lost || shared.out == nullptr) return;
            may_move = moved_bytes_max;
            shared.write();
            all_taken &= is_taken(*shared.out) && !(shared.owes() && shared.out->write_error == 0);
        });
        if (all_taken || now_ns() > deadline_ns) return;
        const timespec pause{0, pause_ns};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace weft
