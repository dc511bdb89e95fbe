// The simulated network of a job whose ranks share one thread: virtual time, and all messages in
// flight.
//
// A seed decides every delay, which messages are buffered, how lanes overtake one another and when
// a completion is reported. The same seed and the same calls give the same history. Nothing moves
// by itself: only posts and advance() change anything, and no real clock is read.
//
// Thread safety: none. Invariants: the messages of a wire arrive and are delivered in posting
// order, and its completions are reported in posting order at either end. A killed rank or an
// abandoned context never comes back, so a late event finds nothing and does nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "transport/matching/contexts.h"
#include "transport/transport.h"

namespace weft {

// When a send completes: once its bytes have been copied, or once its receive has taken them.
enum class Buffering : std::uint8_t { random, always, never };

struct SimOptions {
    Buffering buffering = Buffering::random;
    std::uint32_t delay_max = 64;   // of seven delays in eight; the eighth is up to 16 times longer
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
    NextMessage next_on(Rank to, Lane lane) const;
    std::uint64_t next_changes(Rank rank) const { return node(rank).next_changes; }
    void expect_from(Rank rank, Rank peer, int change) { node(rank).expected[peer] += change; }
    std::size_t poll(Rank rank, std::span<Completion> done);
    void cancel_context(Rank rank, std::uint64_t context);
    void open_context(Rank rank, std::uint64_t context);
    void close_context(Rank rank, std::uint64_t context);
    void buffer_unknown(Rank rank, bool keep);

  private:
    struct Post {
        Completion completion;
        std::byte* into = nullptr;  // receives
        std::size_t bytes = 0;
        bool finished = false;
    };

    struct Message {
        Bytes data;
        std::vector<std::byte> copy{};
        Post* post = nullptr;  // the send that completes on delivery; null: the data is a copy
    };

    // One end of a wire. The first `scheduled` of its posts have an event that makes them ready; of
    // these, the first `ready` may be reported by the next poll.
    struct Side {
        Rank rank = 0;
        Rank peer = 0;
        std::deque<Post> posts;
        std::size_t scheduled = 0;
        std::size_t ready = 0;
        std::int64_t last_report = 0;
    };

    using Name = std::tuple<Rank, Rank, std::uint64_t>;  // sender, receiver, stream

    // A lane and its messages. Of those not delivered, the first `arrived` have reached the
    // receiver; of these, the first `matched` are being delivered.
    struct Wire {
        std::uint32_t place = 0;
        std::uint32_t use = 0;  // how many lanes have had this place
        Name name{};
        StreamId stream{};
        Side sends{};
        Side recvs{};
        std::deque<Message> messages{};
        std::size_t arrived = 0;
        std::size_t matched = 0;
        std::int64_t last_arrival = 0;
        std::int64_t last_delivery = 0;
    };

    struct Node {
        bool dead = false;
        std::uint64_t posts = 0;
        std::uint64_t dies_at_post = 0;
        std::vector<Side*> ready;  // those with ready posts
        std::vector<Rank> unreported;
        std::set<Rank> lost;
        std::map<Rank, int> expected;  // receives from any source, by peer
        std::uint64_t next_changes = 0;
        Contexts contexts;
    };

    // Events, as the history tells them apart.
    enum class Kind { arrive, deliver, report_send, report_recv, kill, discover, lose, retry };

    Node& node(Rank rank) { return nodes_[static_cast<std::size_t>(rank)]; }
    const Node& node(Rank rank) const { return nodes_[static_cast<std::size_t>(rank)]; }
    Wire& find_wire(Rank from, Rank to, StreamId stream);
    void forget_idle_wires();

    std::int64_t delay();
    void schedule(std::int64_t time, Kind kind, std::int64_t a, std::int64_t b,
                  std::function<void()> happen);
    void schedule_on(Wire& wire, std::int64_t& last, Kind kind, std::function<void()> happen);
    template <class... Values>
    void record(char what, Values... values);

    std::optional<Posted> answer(Rank rank, Lane lane, Token token);
    Post& add_post(Wire& wire, Side& side, std::byte* into, std::size_t bytes, Token token);
    void finish(Wire& wire, Post& post, weft_status code);
    void note_change_of_next(Rank rank, Rank peer);
    void forget_posts(Side& side);
    void report(Side& side);

    void arrive(Wire& wire);
    void match(Wire& wire);
    void deliver(Wire& wire);
    void take_first(Wire& wire, std::byte* into);
    void drop_first(Wire& wire);
    void drop_after(Wire& wire, std::size_t kept);
    void drop_unwanted_messages(Rank rank);
    void discover(Rank rank, Rank dead);

    SimOptions options_;
    Prng random_;
    std::int64_t time_ = 0;
    std::uint64_t hash_ = 0;
    bool seen_ = false;  // an event gave a rank something to poll

    std::vector<Node> nodes_;
    std::deque<Wire> wires_;  // they stay where they are: events refer to them
    std::map<Name, Wire*> used_;
    std::vector<Wire*> free_;
    std::size_t used_max_ = 16;  // at this number, idle wires are forgotten
    std::multimap<std::int64_t, std::function<void()>> events_;  // by time, then as scheduled
};

}  // namespace weft
