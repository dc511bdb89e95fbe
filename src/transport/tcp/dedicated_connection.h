// A dedicated connection (transport/dedicated.h): the messages of one stream, and nothing else.
//
// A connection serves one stream and is closed with it: its name is the stream's, which no other
// ever has, so bytes of one stream never meet another. It comes up like others (connector.h); the
// first 16 bytes from the called end are the `welcome`. A rank that closes the context announces
// that it sends nothing more, and drops arrivals until the other end has done the same; one that
// cancels it closes the connection at once.
//
// The end of a dedicated connection does not mean that the peer died: it may have cancelled the
// context. The reason comes on the shared connection, which comes up first: a failure notice, or
// the end of the peer. Until then, operations that need the dedicated connection wait, at most
// WEFT_PEER_TIMEOUT.
//
// A connection with the CTSs of another one (cts_stream_of()) has, besides the places of lists, a
// message without bytes for each send and receive of that one that needs a CTS, in the same order.
// They are not reported: a received one lets the other connection go on.
//
// Only the message at the front of a direction is read or written, and no byte behind it that might
// belong to a list.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fifo.h"
#include "transport/dedicated.h"
#include "transport/tcp/core.h"
#include "transport/tcp/link.h"

namespace weft::tcp {

class DedicatedConnection final : public Link {
  public:
    DedicatedConnection(Core& core, Peer& p, StreamId stream)
        : Link(p, stream.packed()), core_(core) {
        sends_.is_over = receives_.is_over = peer.lost;
    }

    Posted send(Bytes data, Token token);
    Posted receive(MutBytes data, Token token);
    Posted hold(bool sends, std::uint32_t messages, ListPlace& hold, Token token);
    static void release(ListPlace& hold);
    static void fail(ListPlace& hold, int error);

    bool owes() const override {
        if (out == nullptr || sends_.is_over || sends_.places.empty()) return false;
        const Place& first = *sends_.places.first;
        return first.list == nullptr && first.moved < may_be_sent(first);
    }
    bool is_needed() const override { return expected > 0 || lists_ > 0; }
    void read(Wire& wire) override;
    void on_event(Wire& wire, std::uint32_t events) override;

    // A wire is up.
    void take_up(Wire& wire);
    // A wire that is up, or that was tried, has ended with this errno; 0: the other end has closed.
    void end(int error);
    // The connection ended without a reason, which the peer will send.
    void await_reason();
    void give_up_unexplained(std::int64_t now);
    // The peer is lost.
    void lose();
    // ... and a call for this connection has failed.
    void break_without_wire() {
        receives_.is_over |= in == nullptr;
        break_places(peer.loss);
    }
    // There is no descriptor for it. Its group breaks; a failure notice tells the peer why.
    void go_without() {
        sends_.is_over = receives_.is_over = true;
        break_places(no_descriptor);
        if (of_ != nullptr) of_->go_without();
    }
    // Moves on after a place or the connection has changed.
    void go_on();

    // Ends the connection whose context was closed: sent messages still arrive.
    void part();
    // ... or cancelled.
    void drop();

  private:
    struct Direction {
        Chain<Place> places;
        std::uint16_t next_sequence = 0;
        bool is_over = false;  // nothing moves any more
    };

    Direction& direction(bool sends) { return sends ? sends_ : receives_; }
    // For a message, and for its CTS; null: it needs none.
    struct Taken {
        Place* message;
        Place* cts;
    };

    // How much of a message with its header.
    std::uint64_t may_be_sent(const Place& send) const {
        return MessageHeader::size + (send.cts <= ctss_come_ ? send.bytes : 0);
    }
    bool needs_cts(std::uint64_t bytes) const { return bytes >= core_.cleared_bytes_min(); }
    Taken take_places(std::uint64_t bytes);
    void give_cts(Place& place);
    void balance_ctss(std::uint64_t sent_bytes, std::uint64_t expected_bytes);
    Place& add_place(Place& place, bool sends, Token token, std::uint32_t messages);
    Posted post_send(Place& place);
    void post_receive();
    void send_cts(Place& place) { (void)post_send(add_place(place, /*sends=*/true, {}, 1)); }
    void receive_cts(Place& place) {
        add_place(place, /*sends=*/false, {}, 1);
        post_receive();
    }
    void cleared();
    void all_cleared();
    void end_ctss();
    void free_place(Place& place);
    void grant(bool sends, const Place* quietly);
    void end_place(bool sends, const Outcome& how = {});
    bool is_unsettled() const;
    void settle();
    bool is_readable() const;
    void watch();
    void write_places();
    bool write(Place& place);
    void end_sends();
    void read_welcome(Wire& wire);
    void read_places(Wire& wire);
    bool take_header(Wire& wire);
    void break_places(weft_status code);

    Core& core_;
    Direction sends_;
    Direction receives_;
    std::size_t lists_ = 0;  // places of lists
    // Of sends that are no list's.
    std::uint64_t ctss_needed_ = 0;
    std::uint64_t ctss_come_ = 0;
    std::uint64_t spare_ctss_ = 0;         // given to receives whose messages needed none
    DedicatedConnection* ctss_ = nullptr;  // the connection with the CTSs; null: not used yet
    DedicatedConnection* of_ = nullptr;    // of one with CTSs: whose they are
    // The message that is being read does not fit its receive.
    bool is_dropping_ = false;
    // Since when the connection is needed, has ended, and the peer has not given a reason; 0: not
    // so.
    std::int64_t unexplained_ns_ = 0;
};

}  // namespace weft::tcp
