// The ring of records: what goes in comes out, in order, whatever the sizes and the filling.
#include "transport/shm/ring.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/test.h"
#include "transport/shm/copy.h"

namespace weft::shm::shm_ring_test {

struct Memory {
    explicit Memory(std::size_t capacity) : ring{&control, nullptr, capacity} {
        ring.data =
            static_cast<std::byte*>(::operator new (capacity, std::align_val_t{slot_bytes}));
        // Only the first word has to be 0: everything else may be what it wants.
        std::memset(ring.data, 0x5a, capacity);
        std::memset(ring.data, 0, 64);
    }
    ~Memory() { ::operator delete (ring.data, std::align_val_t{slot_bytes}); }

    RingControl control;
    RingMemory ring;
};

std::byte fill_of(std::uint64_t message, std::size_t i) {
    return static_cast<std::byte>(message * 31 + i * 7 + (i >> 8));
}

bool write(RingWriter& writer, std::uint64_t message, std::size_t bytes) {
    Record* record = writer.reserve(bytes);
    if (record == nullptr) return false;
    for (std::size_t i = 0; i < bytes; ++i) record->payload()[i] = fill_of(message, i);
    writer.publish(record, RecordKind::eager, message, bytes);
    return true;
}

void expect_message(Record* record, std::uint64_t message, std::size_t bytes) {
    ASSERT_EQ(record->kind(std::memory_order_relaxed), RecordKind::eager);
    ASSERT_EQ(record->id, message);
    ASSERT_EQ(record->bytes, bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        ASSERT_EQ(record->payload()[i], fill_of(message, i)) << "byte " << i;
}

TEST(ShmRing, starts_empty) {
    Memory memory(1024);
    RingReader reader(memory.ring);
    EXPECT_EQ(reader.peek(), nullptr);
}

TEST(ShmRing, a_message_of_48_bytes_takes_one_line_and_its_neighbour_stays_free) {
    EXPECT_EQ(sizeof(Record) + 48, line_bytes);
    EXPECT_EQ(record_span(0), 2 * line_bytes);
    EXPECT_EQ(record_span(48), 2 * line_bytes);
    EXPECT_EQ(record_span(2 * line_bytes - sizeof(Record) + 1), 4 * line_bytes);
}

TEST(ShmRing, a_full_ring_refuses_until_the_reader_gives_room_back) {
    Memory memory(1024);
    RingWriter writer(memory.ring);
    RingReader reader(memory.ring);
    std::uint64_t written = 0;
    while (write(writer, written, 8)) ++written;
    EXPECT_EQ(written,
              1024 / slot_bytes - 1);  // one slot stays free for the word behind the last record
    EXPECT_FALSE(writer.ask_for_room(8));

    expect_message(reader.peek(), 0, 8);
    (void)reader.pop(reader.peek());
    EXPECT_TRUE(reader.yield_room()) << "the writer waits: all room must be offered, and told";
    EXPECT_TRUE(write(writer, written, 8));
    EXPECT_FALSE(write(writer, written, 8));
}

TEST(ShmRing, a_reader_that_goes_to_sleep_leaves_no_room_untold) {
    Memory memory(1024);
    RingWriter writer(memory.ring);
    RingReader reader(memory.ring);
    EXPECT_TRUE(write(writer, 0, 8));
    (void)reader.pop(reader.peek());
    EXPECT_FALSE(reader.offer_room()) << "nobody waits";
    EXPECT_EQ(writer.refresh_in_flight(), 0u);
    EXPECT_TRUE(writer.ask_until_in_flight(0));
}

TEST(ShmRing, a_writer_is_woken_for_a_good_part_of_the_ring_only) {
    Memory memory(4096);
    RingWriter writer(memory.ring);
    RingReader reader(memory.ring);
    std::uint64_t written = 0;
    while (write(writer, written, 8)) ++written;
    EXPECT_FALSE(writer.ask_for_room(8));
    std::size_t popped = 0;
    bool must_wake = false;
    while (!must_wake) {
        ASSERT_NE(reader.peek(), nullptr);
        must_wake = reader.pop(reader.peek());
        ++popped;
    }
    EXPECT_EQ(popped, 4096 / slot_bytes / 4);  // a quarter
}

// Random sizes against a queue; payloads full of what looks like record heads.
TEST(ShmRing, keeps_order_and_contents_for_random_sizes) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Memory memory(std::size_t{1024} << prng.below(4));
        RingWriter writer(memory.ring);
        RingReader reader(memory.ring);
        std::deque<std::pair<std::uint64_t, std::size_t>> expected;
        std::uint64_t next = 0;
        const std::size_t bytes_max = memory.ring.capacity / 8;
        for (int step = 0; step < 5000; ++step) {
            if (prng.one_in(2)) {
                const std::size_t bytes = prng.one_in(2) ? prng.below(100) : prng.below(bytes_max);
                if (write(writer, next, bytes)) expected.emplace_back(next++, bytes);
            } else if (Record* record = reader.peek()) {
                ASSERT_FALSE(expected.empty());
                expect_message(record, expected.front().first, expected.front().second);
                if (HasFatalFailure()) return;
                expected.pop_front();
                (void)reader.pop(record);
            } else {
                ASSERT_TRUE(expected.empty());
                (void)reader.yield_room();
            }
        }
        while (!expected.empty()) {
            Record* record = reader.peek();
            ASSERT_NE(record, nullptr);
            expect_message(record, expected.front().first, expected.front().second);
            expected.pop_front();
            (void)reader.pop(record);
        }
        ASSERT_EQ(reader.peek(), nullptr);
    }
}

TEST(ShmRing, payload_is_never_taken_for_a_record) {
    Memory memory(1024);
    RingWriter writer(memory.ring);
    RingReader reader(memory.ring);
    std::vector<std::uint32_t> heads(112 / 4, static_cast<std::uint32_t>(RecordKind::eager));
    for (std::uint64_t message = 0; message < 1000; ++message) {
        const std::size_t bytes = message % 3 == 0 ? 0 : 112;
        Record* record = writer.reserve(bytes);
        ASSERT_NE(record, nullptr);
        std::memcpy(record->payload(), heads.data(), bytes);
        writer.publish(record, RecordKind::eager, message, bytes);
        record = reader.peek();
        ASSERT_NE(record, nullptr);
        ASSERT_EQ(record->id, message);
        (void)reader.pop(record);
        ASSERT_EQ(reader.peek(), nullptr);
    }
}

TEST(ShmRing, two_threads) {
    constexpr std::uint64_t messages = 20'000;
    Memory memory(4096);
    const std::int64_t deadline_ns = now_ns() + 60'000'000'000;
    auto size_of = [](std::uint64_t message) { return (message * 37) % 500; };

    std::thread producer([&] {
        RingWriter writer(memory.ring);
        for (std::uint64_t message = 0; message < messages && now_ns() < deadline_ns;) {
            if (write(writer, message, size_of(message)) ||
                (writer.ask_for_room(size_of(message)) && write(writer, message, size_of(message))))
                ++message;
            else
                std::this_thread::yield();
        }
    });
    RingReader reader(memory.ring);
    std::uint64_t message = 0;
    while (message < messages && now_ns() < deadline_ns && !::testing::Test::HasFatalFailure()) {
        if (Record* record = reader.peek()) {
            expect_message(record, message, size_of(message));
            ++message;
            (void)reader.pop(record);
        } else {
            (void)reader.yield_room();
            std::this_thread::yield();
        }
    }
    producer.join();
    EXPECT_EQ(message, messages);
}

TEST(ShmCopy, copies_exactly_what_it_should) {
    for (std::size_t bytes = 0; bytes <= 400; ++bytes) {
        std::vector<std::byte> from(bytes + 2), to(bytes + 2, std::byte{0xee});
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = fill_of(bytes, i);
        copy_bytes(to.data() + 1, from.data() + 1, bytes);
        EXPECT_EQ(to.front(), std::byte{0xee});
        EXPECT_EQ(to.back(), std::byte{0xee});
        for (std::size_t i = 1; i <= bytes; ++i) EXPECT_EQ(to[i], from[i]) << bytes << ", " << i;
    }
}

TEST(ShmCopy, by_streaming_stores_copies_exactly_what_it_should) {
    alignas(64) std::byte to[512];
    for (std::size_t begin = 16; begin <= 80; begin += 16) {
        for (std::size_t bytes = 0; bytes <= 400; ++bytes) {
            std::vector<std::byte> from(bytes + 1);  // not on a multiple of anything
            for (std::size_t i = 0; i < from.size(); ++i) from[i] = fill_of(bytes, i);
            std::ranges::fill(to, std::byte{0xee});
            copy_streaming(to + begin, from.data() + 1, bytes);
            for (std::size_t i = 0; i < std::size(to); ++i) {
                const bool inside = i >= begin && i < begin + bytes;
                ASSERT_EQ(to[i], inside ? from[1 + i - begin] : std::byte{0xee})
                    << bytes << " bytes to " << begin << ", at " << i;
            }
        }
    }
}

// By a string instruction, too.
TEST(ShmCopy, by_a_string_instruction_copies_exactly_what_it_should) {
    for (std::size_t bytes = 0; bytes <= 400; ++bytes) {
        std::vector<std::byte> from(bytes + 2), to(bytes + 2, std::byte{0xee});
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = fill_of(bytes, i);
        copy_string(to.data() + 1, from.data() + 1, bytes);
        EXPECT_EQ(to.front(), std::byte{0xee});
        EXPECT_EQ(to.back(), std::byte{0xee});
        for (std::size_t i = 1; i <= bytes; ++i) EXPECT_EQ(to[i], from[i]) << bytes << ", " << i;
    }
}

// Pieces of 16 KiB that take so many ticks a KiB each way. Returns how many did not go the way that
// is best in the end.
struct Machine {
    std::uint64_t loop;
    std::uint64_t string;
    std::uint64_t streaming;
};

std::size_t send_pieces(CopyChoice& choice, const Machine& machine, std::size_t pieces) {
    std::array<std::size_t, 3> counts{};
    const std::array ticks = {machine.loop, machine.string, machine.streaming};
    for (std::size_t i = 0; i < pieces; ++i) {
        const CopyChoice::Turn turn = choice.next();
        const auto how = static_cast<std::size_t>(turn.how);
        ++counts[how];
        if (turn.timed) choice.took(turn.how, 16 * ticks[how], 16384);
    }
    return pieces - counts[static_cast<std::size_t>(choice.best())];
}

TEST(ShmCopyChoice, takes_what_is_faster_on_this_machine) {
    const std::tuple<Machine, CopyBy> machines[] = {{{70, 40, 120}, CopyBy::string},
                                                    {{300, 90, 110}, CopyBy::string},
                                                    {{70, 400, 120}, CopyBy::loop},
                                                    {{900, 800, 110}, CopyBy::streaming}};
    for (const auto& [machine, best] : machines) {
        CopyChoice choice;
        send_pieces(choice, machine, 512);
        EXPECT_EQ(choice.best(), best) << machine.loop;
        // And tries the others hardly ever.
        EXPECT_LE(send_pieces(choice, machine, 10'000), 50u);
        // Where there are no streaming stores, or they do not help:
        CopyChoice two_ways(2);
        send_pieces(two_ways, machine, 10'000);
        EXPECT_EQ(two_ways.best(), machine.string < machine.loop ? CopyBy::string : CopyBy::loop);
    }
}

TEST(ShmCopyChoice, streaming_stores_must_be_better_by_a_factor) {
    CopyChoice choice;
    send_pieces(choice, {240, 260, 100}, 10'000);
    EXPECT_EQ(choice.best(), CopyBy::loop);
}

TEST(ShmCopyChoice, follows_a_machine_that_changes) {
    CopyChoice choice;
    send_pieces(choice, {70, 60, 120}, 1000);
    EXPECT_EQ(choice.best(), CopyBy::string);
    // Soon when what it does becomes slow: these are 4 MiB.
    send_pieces(choice, {900, 900, 110}, 256);
    EXPECT_EQ(choice.best(), CopyBy::streaming);
    // Later when what it does not do becomes fast.
    send_pieces(choice, {70, 120, 120}, 4000);
    EXPECT_EQ(choice.best(), CopyBy::loop);
}

TEST(ShmCopyChoice, one_slow_piece_changes_nothing) {
    CopyChoice choice;
    send_pieces(choice, {70, 100, 120}, 1000);
    choice.took(CopyBy::loop, 1'000'000'000, 16384);  // another program had the processor
    EXPECT_EQ(choice.best(), CopyBy::loop);
    choice.took(CopyBy::streaming, 0, 16384);
    EXPECT_EQ(choice.best(), CopyBy::loop);
}

}  // namespace weft::shm::shm_ring_test
