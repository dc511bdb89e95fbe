// Every algorithm computes what its collective promises: any small number of ranks, any root,
// several counts, in place or not, in many random legal orders of execution.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/prng.h"
#include "support/interpret.h"

namespace weft {
namespace {

using algorithm::Entry;
using algorithm::Family;
using algorithm::Problem;
using test::Buffers;

constexpr Rank ranks_max = 17;
constexpr std::uint64_t seeds = 20;
constexpr std::size_t guard = 64;
constexpr std::byte guard_byte{0xa5};

// The function x -> a x + b modulo 2^32, packed into 64 bits. Composing two is associative and does
// not commute.
std::uint64_t compose(std::uint64_t outer, std::uint64_t inner) {
    auto a = static_cast<std::uint32_t>(outer >> 32);
    auto b = static_cast<std::uint32_t>(outer);
    auto c = static_cast<std::uint32_t>(inner >> 32);
    auto d = static_cast<std::uint32_t>(inner);
    return std::uint64_t{a * c} << 32 | (a * d + b);
}

void compose_all(const void* in, void* inout, std::size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::uint64_t*>(in);
    auto* right = static_cast<std::uint64_t*>(inout);
    for (std::size_t i = 0; i < count; ++i) right[i] = compose(left[i], right[i]);
}

// A kind of reduction, and the vector of all ranks' operands at one index combined in rank order.
struct Arithmetic {
    const char* name;
    Reduction reduction;
    std::uint64_t (*operand)(Rank rank, std::size_t index);
    std::uint64_t (*combine)(std::uint64_t left, std::uint64_t right);
};

std::uint64_t mixed(Rank rank, std::size_t index) {
    return Prng(static_cast<std::uint64_t>(rank) << 32 | index).next();
}

std::uint64_t real(Rank rank, std::size_t index) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(mixed(rank, index)) / 3.0);
}

Reduction predefined(weft_op op, weft_type type) { return *bind_reduction(op, type); }

const std::vector<Arithmetic>& arithmetics() {
    static const std::vector<Arithmetic> all = {
        {"sum of integers", predefined(WEFT_SUM, WEFT_UINT64), mixed,
         [](std::uint64_t a, std::uint64_t b) { return a + b; }},
        {"composition",
         {.user = compose_all, .type = WEFT_UINT64, .element_bytes = 8, .commutative = false},
         mixed,
         compose},
        // Rounds: no sequential order to compare with, but all ranks must agree.
        {"sum of reals", predefined(WEFT_SUM, WEFT_FLOAT64), real, nullptr},
    };
    return all;
}

class Vector {
  public:
    explicit Vector(std::int64_t bytes)
        : bytes_(static_cast<std::size_t>(bytes)), memory_(bytes_ + 2 * guard, guard_byte) {}

    MutBytes span() { return MutBytes(memory_).subspan(guard, bytes_); }
    std::uint64_t at(std::size_t index) const {
        std::uint64_t value = 0;
        std::memcpy(&value, memory_.data() + guard + index * sizeof value, sizeof value);
        return value;
    }
    void set(std::size_t index, std::uint64_t value) {
        std::memcpy(memory_.data() + guard + index * sizeof value, &value, sizeof value);
    }
    bool guards_untouched() const {
        for (std::size_t i = 0; i < guard; ++i) {
            if (memory_[i] != guard_byte || memory_[guard + bytes_ + i] != guard_byte) return false;
        }
        return true;
    }

  private:
    std::size_t bytes_;
    std::vector<std::byte> memory_;
};

// One call on all ranks.
class Call {
  public:
    Call(const Family& family, const Entry& entry, Problem problem, const Arithmetic& arithmetic)
        : family_(family), entry_(entry), problem_(problem), arithmetic_(arithmetic) {
        count_ = static_cast<std::size_t>(problem.bytes / 8);
        for (Rank r = 0; r < problem.ranks; ++r) {
            send_.emplace_back(family.send_bytes(problem));
            recv_.emplace_back(family.recv_bytes(problem));
            fill(r);
        }
    }

    // Empty, or what went wrong.
    std::string run(std::uint64_t seed) {
        Result<std::vector<Schedule>> schedules = algorithm::build_all(entry_, problem_);
        if (!schedules.is_ok()) return last_detail();
        std::vector<Buffers> buffers;
        for (std::size_t r = 0; r < send_.size(); ++r) {
            buffers.push_back({send_[r].span(), recv_[r].span()});
        }
        test::Interpretation played =
            test::interpret(*schedules, buffers, arithmetic_.reduction, seed);
        if (!played.failure.empty()) return played.failure;
        if (is("barrier") && played.finished_before_start) {
            return "a rank left the barrier before every rank had entered it";
        }
        return verify();
    }

  private:
    bool is(std::string_view collective) const { return family_.name == collective; }

    void fill(Rank r) {
        auto i = static_cast<std::size_t>(r);
        if (family_.has_root) {
            for (std::size_t e = 0; r == problem_.root && e < count_; ++e) {
                recv_[i].set(e, mixed(r, e));
            }
            return;
        }
        Vector& own = problem_.in_place ? recv_[i] : send_[i];
        std::size_t offset = problem_.in_place && is("allgather") ? i * count_ : 0;
        for (std::size_t e = 0; e < count_; ++e) own.set(offset + e, arithmetic_.operand(r, e));
    }

    // What must be at `index` of rank r's receive buffer.
    std::uint64_t expected(std::size_t index) const {
        if (family_.has_root) return mixed(problem_.root, index);
        if (!family_.reduces) {
            return arithmetic_.operand(static_cast<Rank>(index / count_), index % count_);
        }
        if (!arithmetic_.combine) return recv_[0].at(index);
        std::uint64_t all = arithmetic_.operand(problem_.ranks - 1, index);
        for (Rank r = problem_.ranks - 2; r >= 0; --r) {
            all = arithmetic_.combine(arithmetic_.operand(r, index), all);
        }
        return all;
    }

    bool is_near_the_real_sum(std::size_t index) const {
        double sum = 0;
        for (Rank r = 0; r < problem_.ranks; ++r) sum += std::bit_cast<double>(real(r, index));
        double result = std::bit_cast<double>(recv_[0].at(index));
        return result > sum * (1 - 1e-12) && result < sum * (1 + 1e-12);
    }

    std::string verify() const {
        std::size_t elements = static_cast<std::size_t>(family_.recv_bytes(problem_) / 8);
        for (std::size_t r = 0; r < recv_.size(); ++r) {
            const std::string rank = "rank " + std::to_string(r) + ": ";
            if (!recv_[r].guards_untouched()) return rank + "wrote outside the receive buffer";
            if (!send_[r].guards_untouched()) return rank + "wrote outside the send buffer";
            for (std::size_t i = 0; i < elements; ++i) {
                if (recv_[r].at(i) != expected(i)) return rank + "element " + std::to_string(i);
            }
            std::size_t operands = static_cast<std::size_t>(family_.send_bytes(problem_) / 8);
            for (std::size_t e = 0; e < operands; ++e) {
                if (send_[r].at(e) != arithmetic_.operand(static_cast<Rank>(r), e)) {
                    return rank + "the send buffer has changed";
                }
            }
        }
        if (!family_.reduces || arithmetic_.combine) return "";
        for (std::size_t i = 0; i < elements; ++i) {
            if (!is_near_the_real_sum(i)) return "element " + std::to_string(i) + " is no sum";
        }
        return "";
    }

    const Family& family_;
    const Entry& entry_;
    const Problem problem_;
    const Arithmetic& arithmetic_;
    std::size_t count_;
    std::vector<Vector> send_;
    std::vector<Vector> recv_;
};

// All seeds of one problem; a seed also decides how pipelines are cut.
void check(const Family& family, const Entry& entry, Problem problem,
           const Arithmetic& arithmetic) {
    constexpr std::int64_t segments[] = {8, 16, 30, 128 * 1024};
    constexpr std::uint32_t windows[] = {1, 2, 3, 8, 20};
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        problem.tuning = {segments[seed % 4], windows[seed % 5]};
        std::string failure = Call(family, entry, problem, arithmetic).run(seed);
        ASSERT_EQ(failure, "") << family.name << ' ' << entry.name << " p=" << problem.ranks
                               << " root=" << problem.root << " bytes=" << problem.bytes
                               << (problem.in_place ? " in place" : "") << " seed=" << seed << ' '
                               << arithmetic.name;
    }
}

class Algorithms : public testing::TestWithParam<std::pair<const Family*, const Entry*>> {};

TEST_P(Algorithms, ComputeWhatTheCollectivePromises) {
    const auto [family, entry] = GetParam();
    for (Rank ranks = 1; ranks <= ranks_max; ++ranks) {
        for (Rank root = 0; root < (family->has_root ? ranks : 1); ++root) {
            for (std::int64_t count : {0, 1, 7, 19}) {
                for (bool in_place : {false, true}) {
                    Problem problem{0, ranks, root, count * 8, 8, in_place, {}};
                    if (in_place && !family->has_in_place) continue;
                    if (count > 0 && family->recv_bytes(problem) == 0) continue;  // a barrier
                    std::size_t kinds = family->reduces ? arithmetics().size() : 1;
                    for (std::size_t i = 0; i < kinds; ++i) {
                        check(*family, *entry, problem, arithmetics()[i]);
                        if (HasFatalFailure()) return;
                    }
                }
            }
        }
    }
}

std::vector<std::pair<const Family*, const Entry*>> everything() {
    std::vector<std::pair<const Family*, const Entry*>> all;
    for (const Family& family : algorithm::catalogue()) {
        for (const Entry& entry : family.algorithms) all.emplace_back(&family, &entry);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(everything()), [](const auto& test) {
    return std::string(test.param.first->name) + "_" + test.param.second->name;
});

// Sending first and receiving then, on both sides, needs a buffer that nobody has promised.
TEST(Interpreter, SeesADeadlock) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 2; ++r) {
        ScheduleBuilder builder(r, 2);
        OpId sent = builder.send({Buffer::recv, 0, 8}, 1 - r);
        builder.recv({Buffer::recv, 8, 8}, 1 - r, {sent});
        schedules.push_back(*builder.seal());
    }
    std::vector<std::byte> memory(16);
    std::vector<Buffers> buffers(2, {{}, memory});
    std::string failure = test::interpret(schedules, buffers, Reduction{}, 1).failure;
    EXPECT_NE(failure.find("deadlock"), failure.npos) << failure;
}

// A receive that lands where a send still reads shows in some order.
TEST(Interpreter, SeesAHazard) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<Schedule> schedules;
        std::vector<Vector> memory;
        std::vector<Buffers> buffers;
        for (Rank r = 0; r < 2; ++r) {
            ScheduleBuilder builder(r, 2);
            builder.send({Buffer::recv, 0, 8}, 1 - r);
            builder.recv({Buffer::recv, 0, 8}, 1 - r);
            schedules.push_back(*builder.seal());
            memory.emplace_back(8);
            memory.back().set(0, static_cast<std::uint64_t>(r));
        }
        for (Vector& m : memory) buffers.push_back({{}, m.span()});
        EXPECT_EQ(test::interpret(schedules, buffers, Reduction{}, seed).failure, "");
        if (memory[0].at(0) != 1 || memory[1].at(0) != 0) ++wrong;
    }
    EXPECT_GT(wrong, 0);
}

TEST(Interpreter, SeesAnAccessOutsideTheBuffer) {
    ScheduleBuilder builder(0, 1);
    builder.copy({Buffer::recv, 0, 8}, {Buffer::recv, 12, 8});
    std::vector<Schedule> schedules = {*builder.seal()};
    std::vector<std::byte> memory(16);
    std::vector<Buffers> buffers = {{{}, memory}};
    std::string failure = test::interpret(schedules, buffers, Reduction{}, 1).failure;
    EXPECT_NE(failure.find("outside"), failure.npos) << failure;
}

}  // namespace
}  // namespace weft
