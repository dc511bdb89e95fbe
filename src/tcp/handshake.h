// The handshake at the beginning of every connection, by which both ends prove that they hold the
// job's key. It has no socket: the owner moves the bytes and keeps the deadline. Not thread safe;
// does not block. Once proven or refused, it reads and sends nothing more.
//
//   bytes   written by   field
//    0   8  caller       "WEFTcall"
//    8   4               version of this protocol
//   12   4               rank that calls          (numbers: unsigned, little endian)
//   16   4               rank that is called
//   20   8               connection of the pair
//   28  32               random nonce
//   60   8  listener     "WEFTansw"
//   68  32               random nonce
//  100  32               HMAC-SHA-256(key, "listener" and bytes 0 to 99)
//  132  32  caller       HMAC-SHA-256(key, "caller\0\0" and bytes 0 to 131)
//
// Each proof covers the other end's fresh nonce, so recorded bytes are worthless later; its maker's
// label, so it cannot be sent back as the other end's; and the ranks, so a proof for one rank is
// none for another. The caller sends its proof only after it has verified the listener's. An
// attacker who can change bytes between two honest ends can still change what follows: the stream
// behind the handshake is neither encrypted nor authenticated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/job_key.h"
#include "base/status.h"
#include "tcp/hmac.h"

namespace weft::tcp {

// Caller and listener, and which of the pair's connections it is.
struct Hello {
    Rank from = -1;
    Rank to = -1;
    // A shared connection: its number, as a stream of context 0. A dedicated one: its stream,
    // packed.
    std::uint64_t connection = 0;
};

enum class Refusal : std::uint8_t {
    none,
    garbage,        // not this protocol
    wrong_version,  // this protocol, but not this version of it
    wrong_rank,     // it called another rank, or claims to be one that cannot call
    wrong_key,      // another job, a replay, or bytes changed on the way
    no_crypto,      // this end has no random numbers or no HMAC
};
inline constexpr std::size_t refusal_kinds = 6;
const char* refusal_name(Refusal refusal);  // "wrong key"

class Handshake {
  public:
    enum class State { going, proven, refused };

    static Handshake caller(const JobKey& key, const Hello& hello);
    static Handshake listener(const JobKey& key, Rank own, Rank ranks);

    // The bytes to write now; empty: none. Report with `sent` how many were written.
    Bytes to_send() const;
    void sent(std::size_t bytes);

    // Where to read the next bytes into, never more than the other end sends before it waits;
    // empty: none. Report with `received` how many were read. It refuses at the first byte that
    // cannot belong to a handshake.
    MutBytes wanted();
    void received(std::size_t bytes);

    // The caller is proven when all its bytes are sent, the listener when it has verified them.
    State state() const { return state_; }
    Refusal refusal() const { return refusal_; }

    // At the listener: null until the caller has sent a possible one; unverified until proven. The
    // owner may drop the connection because of it. At the caller: its own.
    const Hello* hello() const { return has_hello_ ? &hello_ : nullptr; }

  private:
    enum class End : bool { caller, listener };

    Handshake(const JobKey& key, End own, Rank rank, Rank ranks);
    bool is_own_turn() const;
    std::size_t message_end() const;
    void refuse(Refusal refusal);
    // These do nothing once refused.
    void check_magic(const char* magic, std::size_t at);
    void write_hello();
    void read_hello();
    void write_answer();
    void write_nonce(std::size_t at);
    Mac mac(End of, std::size_t at);
    void write_mac(End of, std::size_t at);
    void verify_mac(End of, std::size_t at);

    JobKey key_;
    End own_;
    Rank rank_;   // listener: this rank
    Rank ranks_;  // listener: how many there are
    State state_ = State::going;
    Refusal refusal_ = Refusal::none;
    bool has_hello_ = false;
    Hello hello_;
    std::array<std::byte, 164> bytes_{};  // of both ends, as in the table above
    std::size_t done_ = 0;                // the number of them sent or received
};

// Moves a handshake on over its non-blocking socket, as far as that goes. Returns what poll() must
// wait for; 0: nothing, it is proven, refused, or the other end has hung up.
short advance(Handshake& handshake, int socket);

}  // namespace weft::tcp
