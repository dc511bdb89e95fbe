// Reductions of elements of any size: [COLLECTIVE=ALGORITHM ...]. Every rank makes a communicator with each of these
// settings, and compares what the collective gives there with the sequential result. A '+' in front of a
// setting: its algorithm only serves operations that commute.
#include <weft/weft.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "conformance/in_fibers.h"
#include "support/any_call.h"

namespace {

using weft::Collective;
using namespace weft::test;

// Matrices of two rows; their product is associative, but does not commute. Words wrap around.
struct Full {
    std::uint64_t a, b, c, d;
    friend Full operator*(const Full& l, const Full& r) {
        return {l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c,
                l.c * r.b + l.d * r.d};
    }
    friend Full operator+(const Full& l, const Full& r) {
        return {l.a + r.a, l.b + r.b, l.c + r.c, l.d + r.d};
    }
};
// Upper triangular ones.
template <class Word>
struct Triangular {
    Word a, b, d;
    static Word word(std::uint64_t value) { return static_cast<Word>(value); }
    friend Triangular operator*(const Triangular& l, const Triangular& r) {
        return {word(std::uint64_t{l.a} * r.a),
                word(std::uint64_t{l.a} * r.b + std::uint64_t{l.b} * r.d),
                word(std::uint64_t{l.d} * r.d)};
    }
    friend Triangular operator+(const Triangular& l, const Triangular& r) {
        return {word(std::uint64_t{l.a} + r.a), word(std::uint64_t{l.b} + r.b),
                word(std::uint64_t{l.d} + r.d)};
    }
};
static_assert(sizeof(Full) == 32 && sizeof(Triangular<std::uint64_t>) == 24 &&
              sizeof(Triangular<std::uint8_t>) == 3);

template <class Element>
constexpr weft_type type_of = WEFT_OPAQUE(sizeof(Element));

template <class Element>
void combine(const void* in, void* inout, std::size_t count, weft_type type, void* commutes) {
    EXPECT(type == type_of<Element>);
    EXPECT(reinterpret_cast<std::uintptr_t>(in) % alignof(Element) == 0);
    EXPECT(reinterpret_cast<std::uintptr_t>(inout) % alignof(Element) == 0);
    const auto* left = static_cast<const Element*>(in);
    auto* right = static_cast<Element*>(inout);
    for (std::size_t i = 0; i < count; ++i)
        right[i] = commutes != nullptr ? left[i] + right[i] : left[i] * right[i];
}

template <class Element>
Element value(int rank, std::size_t i) {
    Element element;
    std::uint64_t words[(sizeof element + 7) / 8];
    weft::Prng random(static_cast<std::uint64_t>(rank) * 1'000'003 + i);
    for (std::uint64_t& word : words) word = random.next();
    std::memcpy(&element, words, sizeof element);
    return element;
}

template <class Element>
std::vector<Element> values(int rank, std::size_t count) {
    std::vector<Element> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = value<Element>(rank, i);
    return all;
}

Collective collective_of(const std::string& name) {
    for (std::size_t c = 0; c < weft::collectives; ++c) {
        if (collective_table[c].name == name && collective_table[c].reduces)
            return static_cast<Collective>(c);
    }
    fail(__LINE__, "a collective that reduces");
}

template <class Element>
class Reductions {
  public:
    Reductions(weft_comm comm, Collective collective, bool commutes)
        : comm_(comm), collective_(collective), commutes_(commutes) {
        EXPECT(weft_comm_rank(comm, &rank_) == WEFT_OK);
        EXPECT(weft_op_create(combine<Element>, commutes, commutes ? this : nullptr, &op_) ==
               WEFT_OK);
        EXPECT(weft_type_size(type) == sizeof(Element));
    }
    ~Reductions() { EXPECT(weft_op_free(&op_) == WEFT_OK); }
    Reductions(const Reductions&) = delete;
    Reductions& operator=(const Reductions&) = delete;

    void run(std::size_t count) {
        const CollectiveEntry& entry = entry_of(collective_);
        run(count, 0);
        if (entry.has_root) run(count, world_size - 1);
    }

  private:
    static constexpr weft_type type = type_of<Element>;

    template <bool commutes>
    static void combine_one(const std::byte* left, std::byte* right) {
        Element l, r;
        std::memcpy(&l, left, sizeof l);
        std::memcpy(&r, right, sizeof r);
        r = commutes ? l + r : l * r;
        std::memcpy(right, &r, sizeof r);
    }

    // Of what a rank has in its buffers before the call.
    static std::vector<std::byte> bytes(int rank, const Place& place) {
        std::vector<std::byte> copy(place.count * sizeof(Element));
        for (std::size_t i = 0; i < place.count; ++i) {
            const auto element = value<Element>(rank, place.begin + i);
            std::memcpy(copy.data() + i * sizeof element, &element, sizeof element);
        }
        return copy;
    }

    void run(std::size_t count, int root) {
        const CollectiveEntry& entry = entry_of(collective_);
        Arguments a = {.collective = entry.name,
                       .ranks = world_size,
                       .root = root,
                       .count = count,
                       .in_place = count % 2 == 0,
                       .element_bytes = sizeof(Element),
                       .combine = commutes_ ? combine_one<true> : combine_one<false>};
        for (int r = 0; entry.differ != Differ::no && r < world_size; ++r)
            a.counts.push_back(r % 3 == 1 ? 0 : count + static_cast<std::size_t>(r));
        std::vector<std::byte> send = bytes(rank_, {false, 0, a.send_elements(rank_)});
        std::vector<std::byte> got = bytes(rank_, {true, 0, a.recv_elements(rank_)});
        std::vector<std::byte> expected = got;
        perform(a, rank_, bytes, expected);
        OwnArguments own{send.data(), got.data()};
        Call call = call_of(a, collective_, rank_, type, /*as_bytes=*/false, own);
        call.op = op_;
        const weft_call record = call;
        EXPECT(weft_start_call(&record, WEFT_BLOCKING, comm_, nullptr) == WEFT_OK);
        for (int block = 0; block < a.received(rank_); ++block) {
            const Place place = a.result(rank_, block);
            const std::size_t begin = place.begin * sizeof(Element);
            EXPECT(place.count == 0 || std::memcmp(got.data() + begin, expected.data() + begin,
                                                   place.count * sizeof(Element)) == 0);
        }
    }

    weft_comm comm_;
    Collective collective_;
    bool commutes_;
    int rank_ = -1;
    weft_op op_ = WEFT_OP_NULL;
};

template <class Element>
void run_all(weft_comm comm, Collective collective, bool commutes) {
    Reductions<Element> reductions(comm, collective, commutes);
    for (const std::size_t count : {0, 1, 7, 1000, 9001}) reductions.run(count);
}

void refused() {
    Full element{};
    weft_comm world = weft_comm_world();
    const weft_type type = type_of<Full>;
    EXPECT(weft_allreduce(WEFT_IN_PLACE, &element, 1, type, WEFT_SUM, world) ==
           WEFT_REFUSED_ARGUMENT);
    EXPECT(std::strstr(weft_last_detail(), "op = sum is not defined for type opaque(32)"));
    for (const long bytes : {0L, WEFT_OPAQUE_MAX + 1L}) {
        EXPECT(weft_type_size(WEFT_OPAQUE(bytes)) == 0);
        EXPECT(weft_bcast(&element, 1, WEFT_OPAQUE(bytes), 0, world) == WEFT_REFUSED_ARGUMENT);
    }
    EXPECT(weft_type_size(WEFT_OPAQUE(WEFT_OPAQUE_MAX)) == WEFT_OPAQUE_MAX);
}

// What only moves data takes such types, too.
void moved(weft_comm comm) {
    using Element = Triangular<std::uint8_t>;
    constexpr std::size_t count = 1001;
    std::vector<Element> data = values<Element>(world_rank, count);
    EXPECT(weft_bcast(data.data(), count, type_of<Element>, world_size - 1, comm) == WEFT_OK);
    const std::vector<Element> sent = values<Element>(world_size - 1, count);
    EXPECT(std::memcmp(data.data(), sent.data(), count * sizeof(Element)) == 0);
    const std::vector<Element> mine = values<Element>(world_rank, count);
    std::vector<Element> all(count * static_cast<std::size_t>(world_size));
    EXPECT(weft_allgather(mine.data(), all.data(), count, type_of<Element>, comm) == WEFT_OK);
    for (int r = 0; r < world_size; ++r) {
        const std::vector<Element> its = values<Element>(r, count);
        EXPECT(std::memcmp(all.data() + static_cast<std::size_t>(r) * count, its.data(),
                           count * sizeof(Element)) == 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    join_job();
    run_here_or_in_fibers([&](weft_comm parent) {
        refused();
        moved(parent);
        for (int i = 1; i < argc; ++i) {
            const bool commutes = *argv[i] == '+';
            const char* const own = setting = argv[i] + (commutes ? 1 : 0);
            const std::string text = own;
            const Collective collective = collective_of(text.substr(0, text.find('=')));
            weft_comm comm = WEFT_COMM_NULL;
            EXPECT(weft_comm_dup_with(parent, own, &comm) == WEFT_OK);
            run_all<Triangular<std::uint8_t>>(comm, collective, commutes);
            run_all<Triangular<std::uint64_t>>(comm, collective, commutes);
            run_all<Full>(comm, collective, commutes);
            EXPECT(weft_comm_free(&comm) == WEFT_OK);
        }
    });
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
