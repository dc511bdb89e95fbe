// The simulated network of a job whose ranks share one thread: virtual time, and all messages in
// flight.
//
// A seed decides every delay, which messages are buffered, how lanes overtake one another and when
// a completion is reported. The same seed and the same calls give the same history. Nothing moves
// by itself: only posts and advance() change anything, and no real clock is read.
//
// Thread safety: none. Invariants: the messages of a wire arrive and are delivered in posting
// order, and its completions are reported in posting order at either end. What is cut off (a killed
// rank, an abandoned context) never comes back, so a late event finds nothing and does nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "transport/matching/contexts.h"
#include "transport/transport.h"

namespace weft {

// When a send completes: once its bytes have been copied, or once its receive has taken them.
enum class Buffering : std::uint8_t { random, always, never };

struct SimOptions {
    Buffering buffering = Buffering::random;
    std::uint32_t delay_max = 64;   // of seven delays in eight; the last is up to 16 times longer
    std::uint32_t busy_one_in = 0;  // one post in this many is answered busy; 0: none
    bool done_at_once = true;       // posts may be answered done
};

class SimNetwork {
  public:
    SimNetwork(Rank ranks, std::uint64_t seed, SimOptions options = {});

    SimNetwork(const SimNetwork&) = delete;
    SimNetwork& operator=(const SimNetwork&) = delete;

    Rank ranks() const { return static_cast<Rank>(nodes_.size()); }

    // Advances virtual time until some rank has something to poll, or a little further. False:
    // nothing is in flight; if no rank has anything to poll either, waiters wait forever.
    bool advance();

    std::int64_t time() const { return time_; }

    // The rank dies: now, at a virtual time, or instead of its n-th post (from 1). From then on its
    // posts and polls do nothing. Its messages in flight may still arrive.
    void kill(Rank rank);
    void kill_at(Rank rank, std::int64_t time);
    void kill_at_post(Rank rank, std::uint64_t n);
    bool is_dead(Rank rank) const { return node(rank).dead; }

    // A hash of everything that has happened so far.
    std::uint64_t history_hash() const { return hash_; }

    // How many lanes are recorded.
    std::size_t lanes() const { return wires_.size(); }

    // A line for each post that has not finished: who waits for whom. Empty: none.
    std::string pending() const;

    // The verbs of one rank's transport; see transport.h.
    Posted post_send(Rank from, Lane lane, Bytes data, Token token);
    Posted post_recv(Rank to, Lane lane, MutBytes data, Token token);
    std::size_t poll(Rank rank, std::span<Completion> done);
    void abandon(Rank rank, std::uint32_t context);
    void admit(Rank rank, std::uint32_t context);
    void retire(Rank rank, std::uint32_t context);
    void keep_early(Rank rank, bool keep);

  private:
    using Index = std::uint32_t;
    static constexpr Index none = ~Index{0};

    struct Queue {
        Index head = none;
        Index tail = none;
    };

    struct Post {
        Completion completion;
        std::byte* into = nullptr;  // receives
        std::size_t bytes = 0;
        Index next = none;
        bool finished = false;
    };

    struct Message {
        const std::byte* data = nullptr;
        std::size_t bytes = 0;
        Index post = none;  // the send that completes on delivery; none: the data is a copy
        Index next = none;
        std::vector<std::byte> copy;
    };

    // One end of a wire. Its posts, oldest first: `ready` ones, which the next poll may report;
    // then `scheduled` ones, which an event makes ready; then the rest.
    struct Side {
        Queue posts;
        Index unscheduled = none;  // the first of the rest
        std::uint32_t ready = 0;
        std::uint32_t scheduled = 0;
        std::int64_t last_report = 0;
    };

    // A lane and its messages. Of those not delivered, the first `arrived` have reached the
    // receiver; of these, the first `matched` are being delivered.
    struct Wire {
        Rank from = 0;
        Rank to = 0;
        StreamId stream;
        Side sends;
        Side recvs;
        Queue messages;
        std::uint32_t in_flight = 0;
        std::uint32_t arrived = 0;
        std::uint32_t matched = 0;
        std::uint32_t waiting = 0;  // receives without a message
        std::int64_t last_arrival = 0;
        std::int64_t last_delivery = 0;
        std::uint32_t use = 0;  // how many wires have had this place
        bool used = false;

        bool is_idle() const {
            return sends.posts.head == none && recvs.posts.head == none && messages.head == none;
        }
    };

    struct End {
        Index wire;
        bool sends;
        friend bool operator==(const End&, const End&) = default;
    };

    struct Node {
        bool dead = false;
        std::uint64_t posts = 0;
        std::uint64_t dies_at_post = 0;
        std::vector<End> ready;  // ends with ready posts
        std::vector<Rank> unreported;
        std::vector<Rank> lost;
        Contexts contexts;
    };

    enum class Kind : std::uint8_t {
        arrive,       // a: wire, b: its use
        deliver,      // a: wire, b: its use
        report_send,  // a: wire, b: its use
        report_recv,  // a: wire, b: its use
        kill,         // a: rank
        discover,     // a: rank, b: the dead rank
        report_lost,  // a: rank, b: the dead rank
        retry,        // after a busy answer
    };

    struct Event {
        std::int64_t time;
        std::uint64_t sequence;
        Kind kind;
        Index a;
        Index b;
    };

    static bool is_later(const Event& left, const Event& right);

    Node& node(Rank rank) { return nodes_[static_cast<std::size_t>(rank)]; }
    const Node& node(Rank rank) const { return nodes_[static_cast<std::size_t>(rank)]; }
    Side& side(End end) { return end.sends ? wires_[end.wire].sends : wires_[end.wire].recvs; }
    Node& owner(End end) { return node(end.sends ? wires_[end.wire].from : wires_[end.wire].to); }
    bool wants(Rank rank, std::uint32_t context) const;
    void drop_unwanted_messages(Rank rank);
    bool has_lost(Rank rank, Rank peer) const;

    template <class T>
    static Index take(std::vector<T>& pool, Index& free);
    template <class T>
    static void append(std::vector<T>& pool, Queue& list, Index index);
    template <class T>
    static void remove_first(std::vector<T>& pool, Queue& list, Index& free);

    Index find_wire(Rank from, Rank to, StreamId stream);
    void forget_idle_wires();
    void rebuild_table();

    std::int64_t delay();
    void schedule(std::int64_t time, Kind kind, Index a, Index b = 0);
    void schedule_wire(std::int64_t time, Kind kind, Index wire);
    void handle(const Event& event);
    void record(char what, std::uint64_t a, std::uint64_t b, std::uint64_t c);

    bool dies_now(Rank rank);
    bool is_busy();
    Index add_post(End end, Rank peer, std::byte* into, std::size_t bytes, Token token);
    void finish(End end, Index post, weft_status code);
    void schedule_reports(End end);
    void break_posts(End end);
    void forget_posts(End end);
    void report(End end);

    void arrive(Index wire);
    void match(Index wire);
    void deliver(Index wire);
    void take_first(Index wire, std::byte* into);
    void drop_first(Wire& wire);
    void drop_all(Wire& wire);
    void drop_after(Wire& wire, std::uint32_t kept);
    void discover(Rank rank, Rank dead);

    SimOptions options_;
    Prng random_;
    std::int64_t time_ = 0;
    std::uint64_t sequence_ = 0;
    std::uint64_t hash_ = 0;
    bool seen_ = false;  // an event gave a rank something to poll

    std::vector<Node> nodes_;
    std::vector<Wire> wires_;
    std::vector<Index> free_wires_;
    std::vector<Index> table_;   // open addressing: hash of a wire's name -> wire
    std::vector<Event> events_;  // a heap, the next event first
    std::vector<Post> posts_;
    std::vector<Message> messages_;
    Index free_post_ = none;
    Index free_message_ = none;
};

}  // namespace weft
