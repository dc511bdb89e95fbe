// What the catalogue promises of a collective is what its definition says (support/reference.h): the
// checker proves the right thing.
#include <cstring>
#include <map>

#include "support/problems.h"
#include "support/reference.h"

namespace weft::test::promises_test {

constexpr std::int64_t element_bytes = 8;

// Contributions are numbered; combined they are a text that tells which, and in which order.
using Number = std::uint64_t;

class Texts {
  public:
    Number number_of(const std::string& text) {
        return numbers_.try_emplace(text, numbers_.size() + 1).first->second;
    }
    const std::string& text_of(Number number) const {
        for (const auto& [text, known] : numbers_) {
            if (known == number) return text;
        }
        static const std::string none = "?";
        return none;
    }

  private:
    std::map<std::string, Number> numbers_;
};

Texts* texts = nullptr;  // of the test that runs

void combine(const std::byte* left, std::byte* right) {
    Number l;
    Number r;
    std::memcpy(&l, left, sizeof l);
    std::memcpy(&r, right, sizeof r);
    r = texts->number_of(texts->text_of(l) + texts->text_of(r));
    std::memcpy(right, &r, sizeof r);
}

Number& element(std::vector<std::byte>& buffer, std::int64_t byte) {
    return *reinterpret_cast<Number*>(buffer.data() + byte);
}

// Empty: the promise is the definition.
std::string difference(const Postcondition& promise, const algorithm::CollectiveSpec& spec,
                       const Trial& t) {
    Texts all_texts;
    texts = &all_texts;
    Arguments arguments = {.collective = spec.name,
                           .ranks = t.ranks,
                           .root = t.root,
                           .count = static_cast<std::size_t>(t.local_block / element_bytes),
                           .in_place = t.in_place,
                           .element_bytes = element_bytes,
                           .combine = combine};
    for (std::size_t i = 0; i < t.sizes.size(); ++i) {
        arguments.counts.push_back(static_cast<std::size_t>(t.sizes[i] / element_bytes));
        arguments.displacements.push_back(t.offsets[i] / element_bytes);
    }
    for (Rank from = 0; spec.sizes == algorithm::Sizes::rank_local && from < t.ranks; ++from) {
        for (Rank to = 0; to < t.ranks; ++to)
            arguments.amounts.push_back(
                static_cast<std::size_t>(t.amount(from, to) / element_bytes));
        arguments.has_gaps = true;
    }
    if (t.neighbors) arguments.neighbors = t.neighbors->neighbors;
    AllBuffers before;
    for (Rank r = 0; r < t.ranks; ++r) {
        const auto rank = std::to_string(r);
        const std::size_t send = arguments.send_elements(r) * element_bytes;
        const std::size_t recv = arguments.recv_elements(r) * element_bytes;
        const auto i = static_cast<std::size_t>(r);
        if (promise.send_bytes[i] != static_cast<std::int64_t>(send))
            return "the send buffer of rank " + rank;
        if (promise.recv_bytes[i] != static_cast<std::int64_t>(recv))
            return "the receive buffer of rank " + rank;
        before.send.emplace_back(send);
        before.recv.emplace_back(recv);
        for (auto* buffer : {&before.send[i], &before.recv[i]}) {
            const char name = buffer == &before.send[i] ? 's' : 'r';
            for (std::int64_t at = 0; at < std::ssize(*buffer); at += element_bytes) {
                element(*buffer, at) = all_texts.number_of(
                    "(" + rank + name + std::to_string(at / element_bytes) + ")");
            }
        }
    }
    // What each rank contributes, by origin.
    std::map<std::pair<Rank, std::int64_t>, Number> contributions;
    auto memory = [](AllBuffers& buffers, const Holding& held) -> std::vector<std::byte>& {
        auto& side = held.where.buffer == Buffer::send ? buffers.send : buffers.recv;
        return side[static_cast<std::size_t>(held.rank)];
    };
    for (const Holding& held : promise.before) {
        for (std::int64_t at = 0; at < held.where.bytes; at += element_bytes) {
            contributions[{held.sources.first, held.origin + at}] =
                element(memory(before, held), held.where.offset + at);
        }
    }
    AllBuffers promised = before;
    for (const Holding& held : promise.after) {
        for (std::int64_t at = 0; at < held.where.bytes; at += element_bytes) {
            std::string text;
            for (Rank r = held.sources.first; r <= held.sources.last; ++r)
                text += all_texts.text_of(contributions[{r, held.origin + at}]);
            element(memory(promised, held), held.where.offset + at) = all_texts.number_of(text);
        }
    }
    AllBuffers defined = before;
    perform(arguments, defined);
    if (promised.send != defined.send) return "a send buffer is promised to change";
    for (Rank r = 0; r < t.ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        for (std::int64_t at = 0; at < std::ssize(defined.recv[i]); at += element_bytes) {
            const Number is = element(promised.recv[i], at);
            const Number must = element(defined.recv[i], at);
            if (is == must) continue;
            return "rank " + std::to_string(r) + ", element " + std::to_string(at / element_bytes) +
                   ": promised " + all_texts.text_of(is) + ", defined " + all_texts.text_of(must);
        }
    }
    return "";
}

// Calls body(spec, trial) for small calls of every collective.
template <class Body>
void for_each_call(const std::vector<Rank>& ranks, Body body) {
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        for (Rank p : ranks) {
            Trial t;
            t.ranks = p;
            t.element_bytes = element_bytes;
            t.commutative = false;
            for (t.root = 0; t.root < (spec.has_root ? p : 1); ++t.root) {
                const Subject subject = {&spec, spec.algorithms.front()};
                for (std::size_t i = 0; i < 3 * t.ways(subject); ++i) {
                    const std::int64_t counts[] = {0, 1, 3};
                    t.bytes = counts[i % 3] * element_bytes;
                    t.lie(subject, i / 3);
                    t.make_differ(spec, t.bytes);
                    for (const bool in_place : {false, true}) {
                        t.in_place = in_place && spec.has_in_place();
                        body(spec, t);
                    }
                }
            }
        }
    }
}

TEST(Postconditions, AreTheDefinitions) {
    for_each_call({1, 2, 3, 4, 5, 6, 7, 8, 9},
                  [](const algorithm::CollectiveSpec& spec, const Trial& t) {
                      if (!spec.has_data()) return;
                      ASSERT_EQ(difference(promise_of(spec, t), spec, t), "")
                          << to_text({&spec, spec.algorithms.front()}, t);
                  });
}

// Every mutant differs: the comparison sees each field of a promise.
TEST(Postconditions, ThatAreWrongDiffer) {
    for_each_call({2, 3}, [](const algorithm::CollectiveSpec& spec, const Trial& t) {
        if (t.local_block == 0 || !spec.has_data()) return;
        const Postcondition right = promise_of(spec, t);
        auto expect_noticed = [&](const Postcondition& wrong, const char* what) {
            ASSERT_NE(difference(wrong, spec, t), "")
                << what << ": " << to_text({&spec, spec.algorithms.front()}, t);
        };
        for (std::size_t i = 0; i < right.after.size(); ++i) {
            const Holding& held = right.after[i];
            if (held.where.bytes == 0) continue;
            // Data that does not move need not be promised.
            Postcondition dropped = right;
            dropped.after.erase(dropped.after.begin() + static_cast<std::ptrdiff_t>(i));
            const bool is_at_home = difference(dropped, spec, t).empty();
            if (is_at_home) {
                EXPECT_TRUE(held.sources.is_one() && (t.in_place || held.rank == t.root));
                continue;
            }
            Postcondition source = right;
            source.after[i].sources.first = (held.sources.first + 1) % t.ranks;
            source.after[i].sources.last =
                held.sources.is_one() ? source.after[i].sources.first : held.sources.last;
            expect_noticed(source, "another source");
            if (held.where.bytes < 2 * element_bytes) continue;
            Postcondition shorter = right;
            shorter.after[i].where.bytes -= element_bytes;
            expect_noticed(shorter, "shorter");
            Postcondition moved = right;
            moved.after[i].where.bytes -= element_bytes;
            moved.after[i].origin += element_bytes;
            expect_noticed(moved, "another origin");
        }
        Postcondition larger = right;
        larger.recv_bytes.back() += element_bytes;
        expect_noticed(larger, "a larger buffer");
    });
}

}  // namespace weft::test::promises_test
