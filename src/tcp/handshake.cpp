#include "tcp/handshake.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/random.h"

namespace weft::tcp {

namespace {

constexpr std::uint32_t protocol_version = 2;

// Offsets of the fields in the header's table.
constexpr std::size_t version_at = 8;
constexpr std::size_t from_at = 12;
constexpr std::size_t to_at = 16;
constexpr std::size_t connection_at = 20;
constexpr std::size_t caller_nonce_at = 28;
constexpr std::size_t answer_at = 60;
constexpr std::size_t listener_nonce_at = 68;
constexpr std::size_t listener_mac_at = 100;
constexpr std::size_t proof_at = 132;
constexpr std::size_t end_at = 164;

constexpr std::size_t nonce_bytes = 32;

using Name = std::array<char, 8>;
constexpr Name caller_magic = {'W', 'E', 'F', 'T', 'c', 'a', 'l', 'l'};
constexpr Name listener_magic = {'W', 'E', 'F', 'T', 'a', 'n', 's', 'w'};
constexpr Name caller_label = {'c', 'a', 'l', 'l', 'e', 'r', '\0', '\0'};
constexpr Name listener_label = {'l', 'i', 's', 't', 'e', 'n', 'e', 'r'};

void put_number(std::byte* at, std::uint32_t number) {
    for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(number >> 8 * i);
}

std::uint32_t number_at(const std::byte* at) {
    std::uint32_t number = 0;
    for (int i = 4; i-- > 0;) number = number << 8 | std::to_integer<std::uint32_t>(at[i]);
    return number;
}

}  // namespace

const char* refusal_name(Refusal refusal) {
    switch (refusal) {
        case Refusal::none: return "none";
        case Refusal::garbage: return "garbage";
        case Refusal::wrong_version: return "wrong version";
        case Refusal::wrong_rank: return "wrong rank";
        case Refusal::wrong_key: return "wrong key";
        case Refusal::no_crypto: return "no random numbers or no HMAC at this end";
    }
    return "unknown";
}

Handshake::Handshake(const JobKey& key, End own, Rank rank, Rank ranks)
    : key_(key), own_(own), rank_(rank), ranks_(ranks) {}

Handshake Handshake::caller(const JobKey& key, const Hello& hello) {
    Handshake made(key, End::caller, hello.from, 0);
    made.hello_ = hello;
    made.has_hello_ = true;
    made.write_hello();
    return made;
}

Handshake Handshake::listener(const JobKey& key, Rank own, Rank ranks) {
    return Handshake(key, End::listener, own, ranks);
}

bool Handshake::is_own_turn() const {
    const bool is_answer = done_ >= answer_at && done_ < proof_at;
    return own_ == (is_answer ? End::listener : End::caller);
}

std::size_t Handshake::message_end() const {
    return done_ < answer_at ? answer_at : done_ < proof_at ? proof_at : end_at;
}

Bytes Handshake::to_send() const {
    if (state_ != State::going || !is_own_turn()) return {};
    return Bytes(bytes_).subspan(done_, message_end() - done_);
}

void Handshake::sent(std::size_t bytes) {
    WEFT_ASSERT(bytes <= to_send().size());
    done_ += bytes;
    if (done_ == end_at) state_ = State::proven;
}

MutBytes Handshake::wanted() {
    if (state_ != State::going || is_own_turn()) return {};
    return MutBytes(bytes_).subspan(done_, message_end() - done_);
}

void Handshake::received(std::size_t bytes) {
    WEFT_ASSERT(bytes <= wanted().size());
    if (bytes == 0) return;
    done_ += bytes;
    if (own_ == End::caller) {
        check_magic(listener_magic.data(), answer_at);
        if (done_ == proof_at) {
            verify_mac(End::listener, listener_mac_at);
            write_mac(End::caller, proof_at);
        }
    } else if (done_ < proof_at) {
        check_magic(caller_magic.data(), 0);
        if (done_ >= from_at && number_at(&bytes_[version_at]) != protocol_version) {
            refuse(Refusal::wrong_version);
        }
        if (done_ == answer_at) {
            read_hello();
            write_answer();
        }
    } else if (done_ == end_at) {
        verify_mac(End::caller, proof_at);
        if (state_ == State::going) state_ = State::proven;
    }
}

// The first reason counts.
void Handshake::refuse(Refusal refusal) {
    if (state_ == State::refused) return;
    state_ = State::refused;
    refusal_ = refusal;
}

// Checks as much of it as has arrived.
void Handshake::check_magic(const char* magic, std::size_t at) {
    const std::size_t arrived = std::min(done_ - at, sizeof(Name));
    if (std::memcmp(&bytes_[at], magic, arrived) != 0) refuse(Refusal::garbage);
}

void Handshake::write_hello() {
    std::memcpy(&bytes_[0], caller_magic.data(), sizeof(Name));
    put_number(&bytes_[version_at], protocol_version);
    put_number(&bytes_[from_at], static_cast<std::uint32_t>(hello_.from));
    put_number(&bytes_[to_at], static_cast<std::uint32_t>(hello_.to));
    put_number(&bytes_[connection_at], static_cast<std::uint32_t>(hello_.connection));
    put_number(&bytes_[connection_at + 4], static_cast<std::uint32_t>(hello_.connection >> 32));
    write_nonce(caller_nonce_at);
}

void Handshake::read_hello() {
    if (state_ != State::going) return;
    const std::uint32_t from = number_at(&bytes_[from_at]);
    const std::uint32_t to = number_at(&bytes_[to_at]);
    const auto own = static_cast<std::uint32_t>(rank_);
    if (to != own || from == own || from >= static_cast<std::uint32_t>(ranks_)) {
        return refuse(Refusal::wrong_rank);
    }
    hello_ = {static_cast<Rank>(from), rank_,
              std::uint64_t{number_at(&bytes_[connection_at + 4])} << 32 |
                  number_at(&bytes_[connection_at])};
    has_hello_ = true;
}

void Handshake::write_answer() {
    if (state_ != State::going) return;
    std::memcpy(&bytes_[answer_at], listener_magic.data(), sizeof(Name));
    write_nonce(listener_nonce_at);
    write_mac(End::listener, listener_mac_at);
}

void Handshake::write_nonce(std::size_t at) {
    if (!random_bytes(MutBytes(bytes_).subspan(at, nonce_bytes)).is_ok()) {
        refuse(Refusal::no_crypto);
    }
}

// Over its maker's label and all bytes before `at`.
Mac Handshake::mac(End of, std::size_t at) {
    std::array<std::byte, sizeof(Name) + proof_at> text;
    std::memcpy(&text[0], (of == End::caller ? caller_label : listener_label).data(), sizeof(Name));
    std::memcpy(&text[sizeof(Name)], bytes_.data(), at);
    Mac made{};
    if (!hmac_sha256(key_, Bytes(text).first(sizeof(Name) + at), made)) refuse(Refusal::no_crypto);
    return made;
}

void Handshake::write_mac(End of, std::size_t at) {
    if (state_ != State::going) return;
    const Mac made = mac(of, at);
    std::copy(made.begin(), made.end(), &bytes_[at]);
}

void Handshake::verify_mac(End of, std::size_t at) {
    if (state_ != State::going) return;
    const Mac expected = mac(of, at);
    if (!equal_in_constant_time(expected, Bytes(bytes_).subspan(at, expected.size()))) {
        refuse(Refusal::wrong_key);
    }
}

short advance(Handshake& handshake, int socket) {
    while (handshake.state() == Handshake::State::going) {
        const Bytes out = handshake.to_send();
        const MutBytes in = handshake.wanted();
        const ssize_t n = out.empty()
                              ? recv(socket, in.data(), in.size(), MSG_DONTWAIT)
                              : send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return out.empty() ? POLLIN : POLLOUT;
        if (n <= 0) return 0;
        if (out.empty())
            handshake.received(static_cast<std::size_t>(n));
        else
            handshake.sent(static_cast<std::size_t>(n));
    }
    return 0;
}

}  // namespace weft::tcp
