// The handshake of a connection: two that hold the key prove it to each other, whatever the chunks;
// nobody else gets through, whatever the bytes.
#include "tcp/handshake.h"

#include "base/random.h"
#include "support/test.h"

namespace weft::tcp::tcp_handshake_test {

using State = Handshake::State;

constexpr Rank ranks = 5;
constexpr Hello hello = {.from = 3, .to = 1, .connection = std::uint64_t{7} << 32 | 2};
constexpr std::size_t hello_bytes = 60;
constexpr std::size_t answer_bytes = 72;
constexpr std::size_t proof_bytes = 32;

JobKey key_of(std::uint64_t seed) {
    Prng prng(seed);
    JobKey key;
    for (std::byte& b : key) b = static_cast<std::byte>(prng.next());
    return key;
}

const JobKey key = key_of(1);

Handshake new_caller(const JobKey& of = key) { return Handshake::caller(of, hello); }
Handshake new_listener(const JobKey& of = key) { return Handshake::listener(of, hello.to, ranks); }

using Wire = std::vector<std::byte>;

// All that `end` has to say now.
Wire taken_from(Handshake& end) {
    const Bytes bytes = end.to_send();
    Wire taken(bytes.begin(), bytes.end());
    end.sent(bytes.size());
    return taken;
}

// Gives `bytes` to `end` as far as it wants any; returns how many it took.
std::size_t give(Handshake& end, Bytes bytes) {
    std::size_t taken = 0;
    for (MutBytes place; taken < bytes.size() && !(place = end.wanted()).empty();) {
        const Bytes chunk = bytes.subspan(taken, std::min(place.size(), bytes.size() - taken));
        std::ranges::copy(chunk, place.begin());
        end.received(chunk.size());
        taken += chunk.size();
    }
    return taken;
}

// What two honest ends said to each other.
struct Record {
    Wire hello;
    Wire answer;
    Wire proof;
};

// Lets both talk until neither has anything to send; `change` may spoil bytes in flight.
template <class Change>
Record talk(Handshake& caller, Handshake& listener, Change change) {
    Record record;
    auto carry = [&](Handshake& from, Handshake& to, Wire& message, std::size_t before) {
        message = taken_from(from);
        change(message, before);
        give(to, message);
    };
    carry(caller, listener, record.hello, 0);
    carry(listener, caller, record.answer, hello_bytes);
    carry(caller, listener, record.proof, hello_bytes + answer_bytes);
    return record;
}

Record talk(Handshake& caller, Handshake& listener) {
    return talk(caller, listener, [](Wire&, std::size_t) {});
}

void expect_refused(const Handshake& end, Refusal why) {
    EXPECT_EQ(end.state(), State::refused);
    EXPECT_STREQ(refusal_name(end.refusal()), refusal_name(why));
    EXPECT_TRUE(end.to_send().empty());
}

// --- Two honest ends ------------------------------------------------------------------------------

TEST(TcpHandshake, TwoThatHoldTheKeyProveIt) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    const Record record = talk(caller, listener);
    EXPECT_EQ(caller.state(), State::proven);
    EXPECT_EQ(listener.state(), State::proven);
    EXPECT_EQ(caller.refusal(), Refusal::none);
    EXPECT_EQ(listener.refusal(), Refusal::none);
    ASSERT_NE(listener.hello(), nullptr);
    EXPECT_EQ(listener.hello()->from, hello.from);
    EXPECT_EQ(listener.hello()->to, hello.to);
    EXPECT_EQ(listener.hello()->connection, hello.connection);
    EXPECT_EQ(record.hello.size(), hello_bytes);
    EXPECT_EQ(record.answer.size(), answer_bytes);
    EXPECT_EQ(record.proof.size(), proof_bytes);
}

TEST(TcpHandshake, AnyChunksWillDoAndWhatFollowsStaysInTheStream) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE(seed);
        Prng prng(seed);
        const std::uint64_t chunk_max = seed == 0 ? 1 : 1 + prng.below(200);
        Handshake ends[] = {new_caller(), new_listener()};
        Wire streams[2];  // to each end, sent and not yet read
        bool followed[] = {false, false};
        for (int steps = 0; steps < 10'000; ++steps) {
            const std::size_t self = prng.below(2);
            Handshake& end = ends[self];
            Wire& in = streams[self];
            Wire& out = streams[1 - self];
            EXPECT_TRUE(end.to_send().empty() || end.wanted().empty());
            if (const Bytes bytes = end.to_send(); !bytes.empty()) {
                const std::size_t chunk =
                    std::min<std::size_t>(prng.below(chunk_max + 1), bytes.size());
                out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<long>(chunk));
                end.sent(chunk);
            }
            const MutBytes place = end.wanted();
            const std::size_t chunk =
                std::min({1 + prng.below(chunk_max), place.size(), in.size()});
            std::copy_n(in.begin(), chunk, place.begin());
            end.received(chunk);
            in.erase(in.begin(), in.begin() + static_cast<long>(chunk));
            // The first byte behind the handshake follows as soon as this end is done with it.
            if (end.state() == State::proven && !std::exchange(followed[self], true)) {
                out.push_back(std::byte{0x77});
            }
        }
        for (std::size_t self : {0u, 1u}) {
            EXPECT_EQ(ends[self].state(), State::proven);
            EXPECT_EQ(streams[self], Wire{std::byte{0x77}});
        }
    }
}

TEST(TcpHandshake, EveryHandshakeHasItsOwnBytes) {
    Handshake callers[] = {new_caller(), new_caller()};
    Handshake listeners[] = {new_listener(), new_listener()};
    const Record one = talk(callers[0], listeners[0]);
    const Record other = talk(callers[1], listeners[1]);
    EXPECT_NE(one.hello, other.hello);
    EXPECT_NE(one.answer, other.answer);
    EXPECT_NE(one.proof, other.proof);
}

TEST(TcpHandshake, TheListenerKnowsWhoCallsBeforeItAnswers) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    const Wire first = taken_from(caller);
    give(listener, Bytes(first).first(hello_bytes - 1));
    EXPECT_EQ(listener.hello(), nullptr);
    give(listener, Bytes(first).last(1));
    ASSERT_NE(listener.hello(), nullptr);
    EXPECT_EQ(listener.hello()->from, hello.from);
    EXPECT_EQ(listener.state(), State::going);
}

// --- The wrong key, the wrong rank ----------------------------------------------------------------

TEST(TcpHandshake, ACallerWithAnotherKeyThanTheListenerRefusesAndProvesNothing) {
    for (auto [of_caller, of_listener] : {std::pair(key, key_of(2)), std::pair(key_of(2), key)}) {
        Handshake caller = new_caller(of_caller);
        Handshake listener = new_listener(of_listener);
        const Record record = talk(caller, listener);
        expect_refused(caller, Refusal::wrong_key);
        EXPECT_TRUE(record.proof.empty());
        EXPECT_EQ(listener.state(), State::going);
    }
}

// A caller that does not care what the listener proves.
TEST(TcpHandshake, AProofWithAnotherKeyIsRefusedByTheListener) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Handshake caller = new_caller();
        Handshake listener = new_listener();
        give(listener, taken_from(caller));
        give(caller, taken_from(listener));
        Wire proof = taken_from(caller);
        ASSERT_EQ(proof.size(), proof_bytes);
        std::ranges::copy(key_of(seed + 100), proof.begin());
        give(listener, proof);
        expect_refused(listener, Refusal::wrong_key);
    }
}

TEST(TcpHandshake, OnlyOtherRanksOfTheJobMayCallAndOnlyThisOne) {
    for (Rank from = -2; from <= ranks + 1; ++from) {
        for (Rank to = -2; to <= ranks + 1; ++to) {
            const bool may = to == hello.to && from != to && from >= 0 && from < ranks;
            Handshake caller = Handshake::caller(key, {from, to, 0});
            Handshake listener = new_listener();
            talk(caller, listener);
            EXPECT_EQ(listener.state(), may ? State::proven : State::refused) << from << " " << to;
            EXPECT_EQ(listener.hello() != nullptr, may);
            if (!may) expect_refused(listener, Refusal::wrong_rank);
        }
    }
}

// --- Replay and reflection ------------------------------------------------------------------------

TEST(TcpHandshake, ARecordedCallerIsRefusedByAnotherListener) {
    Handshake caller = new_caller();
    Handshake first = new_listener();
    const Record record = talk(caller, first);
    ASSERT_EQ(first.state(), State::proven);
    Handshake second = new_listener();
    EXPECT_EQ(give(second, record.hello), hello_bytes);
    taken_from(second);
    give(second, record.proof);
    expect_refused(second, Refusal::wrong_key);
}

TEST(TcpHandshake, ARecordedListenerIsRefusedByAnotherCaller) {
    Handshake first = new_caller();
    Handshake listener = new_listener();
    const Record record = talk(first, listener);
    ASSERT_EQ(first.state(), State::proven);
    Handshake second = new_caller();
    taken_from(second);
    give(second, record.answer);
    expect_refused(second, Refusal::wrong_key);
}

// What an end says never serves against itself, nor against another of its kind.
TEST(TcpHandshake, ReflectedMessagesAreRefused) {
    Handshake caller = new_caller();
    const Wire said = taken_from(caller);
    give(caller, said);
    expect_refused(caller, Refusal::garbage);

    // The listener's proof sent back to it as the caller's, and with it its whole answer.
    for (std::size_t from : {std::size_t{0}, answer_bytes - proof_bytes}) {
        Handshake honest = new_caller();
        Handshake listener = new_listener();
        give(listener, taken_from(honest));
        const Wire answer = taken_from(listener);
        give(listener, Bytes(answer).subspan(from));
        expect_refused(listener, Refusal::wrong_key);
    }

    // Between two callers: what one says is no answer for the other.
    Handshake one = new_caller();
    Handshake other = new_caller();
    taken_from(one);
    give(one, taken_from(other));
    expect_refused(one, Refusal::garbage);
}

// A proof is of one pair only, even when everything else of it could be had.
TEST(TcpHandshake, AProofForOneRankIsNoneForAnother) {
    Handshake caller = Handshake::caller(key, {3, 2, 0});  // calls rank 2, and is led to rank 1
    Handshake listener = new_listener();
    Wire said = taken_from(caller);
    said[16] = std::byte{1};
    give(listener, said);
    ASSERT_NE(listener.hello(), nullptr);
    give(caller, taken_from(listener));
    expect_refused(caller, Refusal::wrong_key);
}

// --- Garbage --------------------------------------------------------------------------------------

TEST(TcpHandshake, GarbageIsRefusedAtItsFirstWrongByte) {
    for (std::string_view text : {"GET / HTTP/1.1", "\x16\x03\x01", "W3", "WEFTansw", "SSH-2.0"}) {
        Handshake listener = new_listener();
        std::size_t right = 0;
        while (right < text.size() && text[right] == "WEFTcall"[right]) ++right;
        const Bytes bytes = std::as_bytes(std::span(text));
        EXPECT_EQ(give(listener, bytes.first(right)), right);
        EXPECT_EQ(listener.state(), State::going);
        EXPECT_EQ(give(listener, bytes.subspan(right, 1)), 1u);
        expect_refused(listener, Refusal::garbage);
        EXPECT_TRUE(listener.wanted().empty());
        EXPECT_EQ(listener.hello(), nullptr);
    }
}

TEST(TcpHandshake, AnotherVersionIsRefusedAsThat) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    Wire said = taken_from(caller);
    said[8] = std::byte{99};
    EXPECT_EQ(give(listener, Bytes(said).first(12)), 12u);
    expect_refused(listener, Refusal::wrong_version);
}

// The other end's honest bytes up to `right`, then random ones forever.
Wire spoilt(const Wire& honest, std::size_t right, Prng& prng) {
    Wire wire(honest.begin(), honest.begin() + static_cast<long>(right));
    while (wire.size() < 300) wire.push_back(static_cast<std::byte>(prng.next()));
    return wire;
}

TEST(TcpHandshake, RandomBytesProveNothing) {
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
        Prng prng(seed);
        // Every other time the beginning is right, so that all parts of a message are reached.
        const std::size_t right = seed % 2 == 0 ? 0 : prng.below(hello_bytes + 1);
        Handshake caller = new_caller();
        Handshake listener = new_listener();
        Handshake honest = new_listener();
        const Wire said = taken_from(caller);
        give(honest, said);
        const Wire answer = taken_from(honest);

        const Wire to_caller = spoilt(answer, std::min(right, answer_bytes - proof_bytes), prng);
        EXPECT_LE(give(caller, to_caller), answer_bytes);
        EXPECT_EQ(caller.state(), State::refused) << seed;

        const Wire to_listener = spoilt(said, right, prng);
        const std::size_t taken = give(listener, to_listener);
        EXPECT_LE(taken, hello_bytes);
        taken_from(listener);
        EXPECT_LE(give(listener, Bytes(to_listener).subspan(taken)), proof_bytes);
        EXPECT_EQ(listener.state(), State::refused) << seed;
    }
}

// --- Every bit counts -----------------------------------------------------------------------------

TEST(TcpHandshake, AnyBitChangedOnTheWayIsRefused) {
    for (std::size_t bit = 0; bit < 8 * (hello_bytes + answer_bytes + proof_bytes); ++bit) {
        Handshake caller = new_caller();
        Handshake listener = new_listener();
        bool is_flipped = false;
        talk(caller, listener, [&](Wire& message, std::size_t before) {
            if (bit / 8 < before || bit / 8 - before >= message.size()) return;
            message[bit / 8 - before] ^= std::byte{1} << bit % 8;
            is_flipped = true;
        });
        EXPECT_TRUE(is_flipped) << bit;
        EXPECT_NE(listener.state(), State::proven) << bit;
        EXPECT_TRUE(caller.state() == State::refused || listener.state() == State::refused) << bit;
    }
}

TEST(TcpHandshake, CutShortItIsNeitherProvenNorRefused) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    for (auto [from, to] : {std::pair(&caller, &listener), std::pair(&listener, &caller),
                            std::pair(&caller, &listener)}) {
        const Wire message = taken_from(*from);
        for (std::size_t cut = 0; cut < message.size(); ++cut) {
            Handshake copy = *to;
            EXPECT_EQ(give(copy, Bytes(message).first(cut)), cut);
            EXPECT_EQ(copy.state(), State::going);
            EXPECT_TRUE(copy.to_send().empty());
            EXPECT_EQ(copy.wanted().size(), message.size() - cut);
        }
        give(*to, message);
    }
    EXPECT_EQ(listener.state(), State::proven);
}

// The caller is through only when its own proof is on its way, to the last byte.
TEST(TcpHandshake, TheCallerHasProvenNothingBeforeItsLastByteIsSent) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    give(listener, taken_from(caller));
    give(caller, taken_from(listener));
    EXPECT_EQ(caller.to_send().size(), proof_bytes);
    caller.sent(proof_bytes - 1);
    EXPECT_EQ(caller.state(), State::going);
    caller.sent(1);
    EXPECT_EQ(caller.state(), State::proven);
}

// --- The layout of the header's table -------------------------------------------------------------

TEST(TcpHandshake, TheCallersFirstBytesAreAsDocumented) {
    Handshake caller = Handshake::caller(key, {0x0201, 0x04030201, 0x1817161514131211});
    const Wire said = taken_from(caller);
    const std::string_view expected(
        "WEFTcall\x02\0\0\0\x01\x02\0\0\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18", 28);
    ASSERT_GE(said.size(), expected.size());
    EXPECT_EQ(std::memcmp(said.data(), expected.data(), expected.size()), 0);
}

// The proof over `label` and everything said before it.
Wire documented_proof(std::string_view label, std::initializer_list<Bytes> said) {
    const Bytes label_bytes = std::as_bytes(std::span(label));
    Wire text(label_bytes.begin(), label_bytes.end());
    for (Bytes bytes : said) text.insert(text.end(), bytes.begin(), bytes.end());
    Mac mac{};
    EXPECT_TRUE(hmac_sha256(key, text, mac));
    return {mac.begin(), mac.end()};
}

TEST(TcpHandshake, TheProofsAreAsDocumented) {
    Handshake caller = new_caller();
    Handshake listener = new_listener();
    const Record record = talk(caller, listener);
    ASSERT_EQ(record.answer.size(), answer_bytes);
    const auto begin = Bytes(record.answer).first(answer_bytes - proof_bytes);
    const auto proof = Bytes(record.answer).last(proof_bytes);
    EXPECT_TRUE(std::ranges::equal(proof, documented_proof("listener", {record.hello, begin})));
    EXPECT_EQ(record.proof, documented_proof({"caller\0\0", 8}, {record.hello, record.answer}));
}

}  // namespace weft::tcp::tcp_handshake_test
