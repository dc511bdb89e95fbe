#include "support/execution.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.h"
#include "support/interpret.h"

namespace weft::test {
namespace {

constexpr std::size_t guard = 64;
constexpr std::byte guard_byte{0xa5};

std::uint64_t mixed(Rank rank, std::int64_t index) {
    return Prng(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint64_t>(index)).next();
}

std::uint64_t real(Rank rank, std::int64_t index) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(mixed(rank, index)) / 3.0);
}

// The function x -> a x + b modulo 2^32, packed into 64 bits. Composing two is associative and does
// not commute.
std::uint64_t compose(std::uint64_t outer, std::uint64_t inner) {
    auto a = static_cast<std::uint32_t>(outer >> 32);
    auto b = static_cast<std::uint32_t>(outer);
    auto c = static_cast<std::uint32_t>(inner >> 32);
    auto d = static_cast<std::uint32_t>(inner);
    return std::uint64_t{a * c} << 32 | (a * d + b);
}

std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
    return 3 * std::rotl(left, 17) ^ 5 * right;
}

std::uint64_t add(std::uint64_t left, std::uint64_t right) { return left + right; }

// In the form of a user-defined operation; wrong schedules may combine at odd addresses.
template <auto combine>
void combine_all(const void* in, void* inout, std::size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::byte*>(in);
    auto* right = static_cast<std::byte*>(inout);
    for (std::size_t at = 0; at < count * 8; at += 8) {
        std::uint64_t l;
        std::uint64_t r;
        std::memcpy(&l, left + at, 8);
        std::memcpy(&r, right + at, 8);
        r = combine(l, r);
        std::memcpy(right + at, &r, 8);
    }
}

template <auto combine>
Reduction user(bool commutative) {
    return {.user = combine_all<combine>,
            .type = WEFT_UINT64,
            .element_bytes = 8,
            .commutative = commutative};
}

MutBytes inside(std::vector<std::byte>& memory) {
    return MutBytes(memory).subspan(guard, memory.size() - 2 * guard);
}

bool guards_untouched(const std::vector<std::byte>& memory) {
    auto is_guard = [](std::byte b) { return b == guard_byte; };
    return std::all_of(memory.begin(), memory.begin() + guard, is_guard) &&
           std::all_of(memory.end() - guard, memory.end(), is_guard);
}

}  // namespace

const Arithmetic sum_of_integers = {"sum of integers", user<add>(true), mixed, add};
const Arithmetic sum_of_reals = {"sum of reals", *bind_reduction(WEFT_SUM, WEFT_FLOAT64), real,
                                 nullptr};
const Arithmetic composition = {"composition", user<compose>(false), mixed, compose};
const Arithmetic mixing = {"mixing", user<mix>(false), mixed, mix};

const Arithmetic& strictest(const Postcondition& promise) {
    return promise.reproducible ? mixing : promise.commutative ? sum_of_integers : composition;
}

Execution::Execution(const Postcondition& promise, const Arithmetic& arithmetic)
    : promise_(promise), arithmetic_(arithmetic) {
    for (std::size_t r = 0; r < promise.send_bytes.size(); ++r) {
        const auto send_bytes = static_cast<std::size_t>(promise.send_bytes[r]);
        const auto recv_bytes = static_cast<std::size_t>(promise.recv_bytes[r]);
        send_.emplace_back(send_bytes + 2 * guard, guard_byte);
        recv_.emplace_back(recv_bytes + 2 * guard, guard_byte);
    }
    for (const Holding& held : promise.before) {
        for (std::int64_t at = 0; at < held.where.bytes; at += 8) {
            const std::uint64_t value =
                arithmetic.operand(held.sources.first, (held.origin + at) / 8);
            std::memcpy(inside(memory(held)).data() + held.where.offset + at, &value, 8);
        }
    }
}

Execution::Memory& Execution::memory(const Holding& held) {
    auto& buffers = held.where.buffer == Buffer::send ? send_ : recv_;
    return buffers[static_cast<std::size_t>(held.rank)];
}

std::uint64_t Execution::read(const Holding& held, std::int64_t at) {
    std::uint64_t value;
    std::memcpy(&value, inside(memory(held)).data() + held.where.offset + at, 8);
    return value;
}

std::uint64_t Execution::expected(const Holding& held, std::int64_t at) {
    const std::int64_t index = (held.origin + at) / 8;
    // In reproducible reductions, the right part begins at the largest power of two below the number.
    std::function<std::uint64_t(Rank, Rank)> all_of = [&](Rank first, Rank last) {
        if (first == last) return arithmetic_.operand(first, index);
        Rank middle = first + 1;
        for (Rank step = 1; promise_.reproducible && first + step <= last; step *= 2)
            middle = first + step;
        return arithmetic_.combine(all_of(first, middle - 1), all_of(middle, last));
    };
    return all_of(held.sources.first, held.sources.last);
}

bool Execution::is_right(const Holding& held, std::int64_t at) {
    const std::uint64_t value = read(held, at);
    if (held.sources.is_one() || arithmetic_.combine) return value == expected(held, at);
    double sum = 0;
    for (Rank r = held.sources.first; r <= held.sources.last; ++r) {
        sum += std::bit_cast<double>(arithmetic_.operand(r, (held.origin + at) / 8));
    }
    const double result = std::bit_cast<double>(value);
    if (result < sum * (1 - 1e-12) || result > sum * (1 + 1e-12)) return false;
    // The same bits as on the first rank that has this element.
    for (const Holding& other : promise_.after) {
        const std::int64_t there = held.origin + at - other.origin;
        if (other.sources != held.sources || there < 0 || there >= other.where.bytes) continue;
        return read(other, there) == value;
    }
    return false;
}

std::string Execution::run(std::span<const Schedule> schedules, std::uint64_t seed) {
    return run([&](std::span<const Buffers> buffers) {
        return interpret(schedules, buffers, arithmetic_.reduction, seed);
    });
}

std::string Execution::run(std::span<const Tasks> tasks, std::uint64_t seed) {
    return run([&](std::span<const Buffers> buffers) {
        return interpret(tasks, buffers, arithmetic_.reduction, seed);
    });
}

std::string Execution::run(
    const std::function<Interpretation(std::span<const Buffers>)>& carry_out) {
    std::vector<Buffers> buffers;
    for (std::size_t r = 0; r < send_.size(); ++r) {
        buffers.push_back({inside(send_[r]), inside(recv_[r])});
    }
    const std::vector<Memory> lent = send_;
    const Interpretation played = carry_out(buffers);
    if (!played.failure.empty()) return played.failure;
    if (promise_.synchronizes && played.finished_before_start) {
        return "a rank left before every rank had entered";
    }
    for (std::size_t r = 0; r < send_.size(); ++r) {
        const std::string rank = "rank " + std::to_string(r);
        if (!guards_untouched(recv_[r])) return rank + " wrote outside its receive buffer";
        if (send_[r] != lent[r]) return rank + " wrote its send buffer";
    }
    for (const Holding& held : promise_.after) {
        for (std::int64_t at = 0; at < held.where.bytes; at += 8) {
            if (is_right(held, at)) continue;
            return "rank " + std::to_string(held.rank) + ": byte " +
                   std::to_string(held.where.offset + at) + " is wrong";
        }
    }
    return "";
}

}  // namespace weft::test
