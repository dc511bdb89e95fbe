// A transport moves bytes between two ranks: post a send, post a receive, poll completions, and a
// descriptor to sleep on.
//
// A lane is the messages from one rank to another within one stream: first in, first out. The k-th
// send on a lane matches the k-th receive; there are no tags. An unexpected message must not cause
// head-of-line blocking in other lanes. How messages travel: matching/rendezvous.h.
//
// Running out of memory. Operations that start work give the strong exception guarantee (they may
// throw std::bad_alloc): post_send, post_recv, post_recv_combined, hold, expect_from; open_context,
// dedicate, buffer_unknown(true). All others do not throw, and lose no completion. A message for
// which there is no memory is lost; that is reported (lost_message()), and further messages of its
// context are dropped. The peer is lost (WEFT_BROKEN_MEMORY) only if there is no memory for the
// notice that a message was dropped (some is reserved), for an unexpected failure notice, for a
// frame that arrived out of order, or for the rest of a frame whose message was cancelled (reserved
// for one at a time). A post of context 0 must not fail for lack of memory while few of them are
// pending: failure notices, which report that memory ran out, are posts of context 0.
//
// Thread safety: none. The progress engine's lock covers every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace weft {

// A communicator (context) and an order of operations in it (stream); the same at both ends of a
// lane. Both are in one word, which headers and keys carry.
class StreamId {
  public:
    static constexpr unsigned context_bits = 40;
    static constexpr unsigned stream_bits = 24;
    static constexpr std::uint32_t stream_max = (1u << stream_bits) - 1;

    constexpr StreamId() = default;
    // REQUIRES: they fit into their bits.
    constexpr StreamId(std::uint64_t context, std::uint32_t stream)
        : packed_(context << stream_bits | stream) {}
    static constexpr StreamId unpack(std::uint64_t packed) {
        return {packed >> stream_bits, static_cast<std::uint32_t>(packed & stream_max)};
    }

    constexpr std::uint64_t context() const { return packed_ >> stream_bits; }
    constexpr std::uint32_t stream() const {
        return static_cast<std::uint32_t>(packed_ & stream_max);
    }
    constexpr std::uint64_t packed() const { return packed_; }
    friend bool operator==(const StreamId&, const StreamId&) = default;

  private:
    std::uint64_t packed_ = 0;
};
static_assert(StreamId::context_bits + StreamId::stream_bits == 64);

// The context of a packed stream.
inline std::uint64_t context_of(std::uint64_t stream) { return StreamId::unpack(stream).context(); }

// One direction to or from one peer. `peer` is a rank of the whole job, not of a communicator.
struct Lane {
    StreamId stream;
    Rank peer = 0;

    Lane() = default;
    Lane(Rank p, StreamId s) : stream(s), peer(p) {}
};

// Given with a post, returned with its completion; opaque to the transport.
struct Token {
    void* run = nullptr;
    std::uint32_t op = 0;
};

enum class Posted : std::uint8_t {
    pending,  // a completion with the token follows from poll()
    done,     // completed at once; no completion follows
    busy,     // nothing started; post again after a later poll()
};

// A finished send or receive. With a null token.run: `peer` is lost, and why. WEFT_BROKEN_RANK: it
// died or left. WEFT_BROKEN_TRANSPORT: it does not answer (its host is dead, or the link cut), or
// its bytes violate the protocol. WEFT_BROKEN_MEMORY: one of the two ends has no descriptor for the
// connection, or no memory for data that must not be lost. Or a lost_message(). Of a task list, and
// then `peer` is this rank: WEFT_BROKEN_MEMORY: the kernel had none for it; WEFT_REFUSED_STATE: the
// thread that owned it has ended.
struct Completion {
    Token token;
    weft_status code = WEFT_OK;  // WEFT_OK, a WEFT_BROKEN_* or WEFT_REFUSED_STATE
    Rank peer = -1;
    // For WEFT_BROKEN_MESSAGE: what the message and the receive were. For a lost message,
    // `sent_bytes` is its context.
    std::int64_t sent_bytes = 0;
    std::int64_t expected_bytes = 0;
};

// A message from `peer` was lost, because this rank ran out of memory. Completions in the context
// after this report are unreliable: the caller of poll() cancels the context.
inline Completion lost_message(std::uint64_t context, Rank peer) {
    return {.token = {},
            .code = WEFT_BROKEN_MEMORY,
            .peer = peer,
            .sent_bytes = static_cast<std::int64_t>(context)};
}
// The context of a lost message; 0: the completion reports something else.
inline std::uint64_t lost_context(const Completion& completion) {
    return completion.token.run == nullptr ? static_cast<std::uint64_t>(completion.sent_bytes) : 0;
}

// What a receive that is posted now would meet.
enum class NextMessage : std::uint8_t {
    none,  // nothing yet, or an earlier receive waits for it
    here,  // a message, or its RTS
    gone,  // nothing ever: its sender is lost, or has left
};

// The thread that is about to sleep. A process has at most one sleeper of each kind.
enum class Sleeper : std::uint8_t { none = 0, thread = 1, waiter = 2 };

// How a waiting rank treats peers whose messages are missing, or that have not received its own: it
// does nothing, shows that it waits, or also wakes their progress threads.
enum class Demand : std::uint8_t { none, quiet, wakes };

// Combines the bytes of a receive: stores `left[i] (op) received[i]` for every element. The message
// may come in pieces of whole elements.
struct Combination {
    using Kernel = void (*)(const void* left, const void* right, void* out, std::size_t count);
    Kernel kernel = nullptr;  // null: none
    const std::byte* left = nullptr;
    static constexpr std::size_t element_bytes_max = 16;
    std::size_t element_bytes = 1;  // a power of two, at most element_bytes_max
};

// Abilities of a transport beyond the four verbs; asked once.
struct Abilities {
    bool can_sleep = false;     // has wait_fd(); otherwise it can only be polled
    bool knows_demand = false;  // demand() reaches every peer
    bool any_thread = true;     // otherwise only a thread of the program may call it
    bool can_signal = false;    // has signal_arrivals()
    // A message of fewer bytes is sent without its receiver's help...
    std::size_t eager_bytes = SIZE_MAX;
    // ... until so many bytes, with those of the transport's own, wait for the receiver.
    std::size_t buffer_bytes = SIZE_MAX;
    // Its verbs make system calls that are cancellation points (base/cancellation.h).
    bool has_cancellation_points = true;
};

// The resources of a transport in this process, for `weft info`.
struct Usage {
    std::size_t connections = 0;  // to other ranks
    std::size_t descriptors = 0;
    std::size_t bytes = 0;  // of memory, its own and what it shares
    // Refused callers, by reason: "wrong key".
    std::vector<std::pair<const char*, std::uint64_t>> turned_away{};
};

// A source of completions: a transport, or the offload that runs task lists.
class CompletionSource {
  public:
    virtual ~CompletionSource() = default;

    virtual const char* name() const = 0;
    virtual Abilities abilities() const = 0;

    // Makes progress, and reports finished posts: in posting order within a lane, in any
    // order across lanes. Never blocks. Returns the number of entries of `done` filled; when that
    // is done.size(), there may be more. A lost peer is reported once, before or after the broken
    // completions of the posts that involved it; one that left in good order is not.
    virtual std::size_t poll(std::span<Completion> done) = 0;

    // Readable when poll() has something to do, provided arm() was called for this sleeper.
    virtual int wait_fd(Sleeper) const { return -1; }

    // `sleeper` is about to sleep on its wait_fd(): arrivals wake it from now on. If something has
    // already arrived, returns false (poll before sleeping), or the descriptor is readable at
    // once. arm(Sleeper::none): no thread sleeps, suppress wake-ups.
    virtual bool arm(Sleeper) { return true; }

    // As arm(Sleeper::thread); but while no rank waits for this one's work, only failure notices
    // and a demand wake the thread. A transport that knows no demands is armed for everything.
    virtual bool arm_on_demand() { return arm(Sleeper::thread); }

    // The program waits: demands the missing messages from the peers. Demand::none: it does not
    // wait any more. Cheap to repeat: a demand is renewed when the peer has sent something.
    // The first call, with any argument, announces that the ranks of this job demand.
    // True: a peer was woken.
    virtual bool demand(Demand) { return false; }

    // Whether the program waits, or a peer's demand is pending.
    virtual bool is_demanded() { return false; }

    // `sleeper` was woken through its wait_fd(): makes the descriptor unreadable again, at the
    // latest when poll() has taken everything.
    virtual void acknowledge(Sleeper) {}

    // Wakes sleeping peers for new data. A transport may delay wake-ups until this call,
    // or for a few polls: a peer that is about to poll needs no wake-up. Call it before leaving the
    // transport alone for a while; arm() does it too. True: the progress thread of a peer was woken
    // since the last call.
    virtual bool wake_peers() { return false; }

    // Counts the pieces of large messages moved so far. While it grows, a peer is at work at the
    // other end, and sleeping until the next piece would cost more than it saves.
    virtual std::uint64_t pieces_moved() const { return 0; }

    // poll() has something to do for which no wake-up comes.
    virtual bool has_work() const { return false; }

    // Adds the peers it is for, each once. For messages about a peer that does not receive its
    // messages. REQUIRES: there is room for all peers.
    virtual void list_owed(std::vector<Rank>&) const {}

    // Forgets every post of this context without completing it. When this returns, no rank writes
    // to the buffers of such a post, or uses data that it reads there. Messages of the context that
    // are still in flight are dropped.
    virtual void cancel_context(std::uint64_t context) = 0;

    // The user has freed this context and has no posts on it: further arrivals are dropped. Sent
    // messages still arrive.
    virtual void close_context(std::uint64_t context) = 0;
};

class DedicatedConnections;

// A transport whose receives can combine.
class Combining {
  public:
    // As Transport::post_recv(), with a combination.
    virtual Posted post_recv_combined(const Lane& lane, MutBytes data,
                                      const Combination& combination, Token token) = 0;

  protected:
    ~Combining() = default;
};

class Transport : public CompletionSource {
  public:
    virtual Usage usage() const { return {}; }
    // For a sentence about a peer that was lost without having been reached: from where and at what
    // addresses this rank has called it. Empty: it was reached, or not called.
    virtual std::string vain_call(Rank) const { return {}; }
    // How many messages, or their RTSs, came before their receive. Any thread may ask.
    virtual std::uint64_t unexpected_messages() const { return 0; }

    // (The lane is passed by reference so that the other arguments fit into registers. A token that
    // is read from the stack in another width than it was written waits for all earlier stores;
    // behind a message, that is a cache line on its way between two cores: 25 ns.)

    // Starts sending `data` to the lane's peer. Never blocks. `data` stays lent until completion.
    virtual Posted post_send(const Lane& lane, Bytes data, Token token) = 0;

    // Posts the receive of the lane's next message, which must have exactly data.size() bytes.
    // Never blocks. With WEFT_BROKEN_MESSAGE nothing was written outside `data`.
    virtual Posted post_recv(const Lane& lane, MutBytes data, Token token) = 0;

    // The user has this context from now on: its unexpected messages are kept.
    virtual void open_context(std::uint64_t context) = 0;

    // From now on, arrivals send this signal to that thread of the operating system; 0: no
    // more.
    virtual void signal_arrivals(int /*signal*/, int /*thread*/) {}

    // Receives that combine; null: there are none.
    virtual Combining* combining() { return nullptr; }

    // --- For receives from any source, which are not posted before a message is here ---

    virtual NextMessage next_on(const Lane& lane) = 0;
    // Grows whenever next_on() of any lane may have changed.
    virtual std::uint64_t next_changes() const = 0;
    // So many more receives, or fewer, may be for a message of this peer: it is reached, demanded
    // from and watched as if they were posted. May throw if it is more; then nothing has happened.
    virtual void expect_from(Rank /*peer*/, int /*change*/) {}

    // Null: there are none.
    virtual DedicatedConnections* dedicated_connections() { return nullptr; }

    // From now on, and until the context is cancelled or closed, its streams 0 to `streams` - 1
    // have dedicated connections: all its ranks have agreed. Call it before the context is
    // opened.
    virtual void dedicate(std::uint64_t /*context*/, std::uint32_t /*streams*/) {}

    // Whether unexpected messages of contexts that were never opened are kept (the user is about to
    // get contexts that its peers may have already), or dropped, including those kept so far. A new
    // transport keeps them.
    virtual void buffer_unknown(bool keep) = 0;
};

}  // namespace weft
