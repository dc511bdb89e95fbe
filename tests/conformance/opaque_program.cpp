// Reductions of elements of any size: [COLLECTIVE=ALGORITHM ...]. Every rank makes a communicator with each of these
// settings, and compares what the collective gives there with the sequential result. A '+' in front of a
// setting: its algorithm only serves operations that commute.
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int world_rank = -1;
int ranks = 0;
const char* setting = "";

[[noreturn]] void fail(int line, const char* condition) {
    std::fprintf(stderr, "rank %d, line %d, %s: %s does not hold; detail: %s\n", world_rank, line,
                 setting, condition, weft_last_detail());
    std::exit(1);
}

#define EXPECT(condition)                             \
    do {                                              \
        if (!(condition)) fail(__LINE__, #condition); \
    } while (0)

}  // namespace

#include "conformance/in_fibers.h"

namespace {

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
    std::uint8_t bytes[sizeof element];
    std::uint64_t state = static_cast<std::uint64_t>(rank) * 1'000'003 + i;
    for (std::uint8_t& byte : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<std::uint8_t>(state >> 40);
    }
    std::memcpy(&element, bytes, sizeof element);
    return element;
}

template <class Element>
std::vector<Element> values(int rank, std::size_t count) {
    std::vector<Element> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = value<Element>(rank, i);
    return all;
}

template <class Element>
class Reductions {
  public:
    Reductions(weft_comm comm, const std::string& collective, bool commutes)
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
        if (collective_ == "reduce") {
            for (const int root : {0, ranks - 1}) reduce(count, root);
        } else if (collective_ == "allreduce") {
            std::vector<Element> got = values<Element>(rank_, count);
            EXPECT(weft_allreduce(WEFT_IN_PLACE, got.data(), count, type, op_, comm_) == WEFT_OK);
            EXPECT(is(got, 0, ranks));
        } else if (collective_ == "scan" || collective_ == "exscan") {
            const std::vector<Element> mine = values<Element>(rank_, count);
            std::vector<Element> got(count);
            const bool is_scan = collective_ == "scan";
            EXPECT((is_scan ? weft_scan : weft_exscan)(mine.data(), got.data(), count, type, op_,
                                                       comm_) == WEFT_OK);
            if (is_scan || rank_ > 0) EXPECT(is(got, 0, rank_ + (is_scan ? 1 : 0)));
        } else if (collective_ == "reduce_scatter_block") {
            const auto mine = values<Element>(rank_, count * static_cast<std::size_t>(ranks));
            std::vector<Element> got(count);
            EXPECT(weft_reduce_scatter_block(mine.data(), got.data(), count, type, op_, comm_) ==
                   WEFT_OK);
            EXPECT(is(got, count * static_cast<std::size_t>(rank_), ranks));
        } else if (collective_ == "reduce_scatter") {
            reduce_scatter(count);
        } else {
            fail(__LINE__, "a collective that reduces");
        }
    }

  private:
    static constexpr weft_type type = type_of<Element>;

    // Whether these are the elements from `first` on, combined over the first `of` ranks.
    bool is(const std::vector<Element>& got, std::size_t first, int of) const {
        for (std::size_t i = 0; i < got.size(); ++i) {
            Element expected = value<Element>(0, first + i);
            for (int r = 1; r < of; ++r) {
                const Element next = value<Element>(r, first + i);
                expected = commutes_ ? expected + next : expected * next;
            }
            if (std::memcmp(&got[i], &expected, sizeof expected) != 0) return false;
        }
        return true;
    }

    void reduce(std::size_t count, int root) {
        const std::vector<Element> mine = values<Element>(rank_, count);
        std::vector<Element> got(count);
        EXPECT(weft_reduce(mine.data(), got.data(), count, type, op_, root, comm_) == WEFT_OK);
        if (rank_ == root) EXPECT(is(got, 0, ranks));
    }

    void reduce_scatter(std::size_t count) {
        std::vector<std::size_t> counts;
        std::size_t first = 0;
        std::size_t all = 0;
        for (int r = 0; r < ranks; ++r) {
            counts.push_back(r % 3 == 1 ? 0 : count + static_cast<std::size_t>(r));
            if (r == rank_) first = all;
            all += counts.back();
        }
        const std::vector<Element> mine = values<Element>(rank_, all);
        std::vector<Element> got(counts[static_cast<std::size_t>(rank_)]);
        EXPECT(weft_reduce_scatter(mine.data(), got.data(), counts.data(), type, op_, comm_) ==
               WEFT_OK);
        EXPECT(is(got, first, ranks));
    }

    weft_comm comm_;
    std::string collective_;
    bool commutes_;
    int rank_ = -1;
    weft_op op_ = WEFT_OP_NULL;
};

template <class Element>
void run_all(weft_comm comm, const std::string& collective, bool commutes) {
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
    EXPECT(weft_bcast(data.data(), count, type_of<Element>, ranks - 1, comm) == WEFT_OK);
    const std::vector<Element> sent = values<Element>(ranks - 1, count);
    EXPECT(std::memcmp(data.data(), sent.data(), count * sizeof(Element)) == 0);
    const std::vector<Element> mine = values<Element>(world_rank, count);
    std::vector<Element> all(count * static_cast<std::size_t>(ranks));
    EXPECT(weft_allgather(mine.data(), all.data(), count, type_of<Element>, comm) == WEFT_OK);
    for (int r = 0; r < ranks; ++r) {
        const std::vector<Element> its = values<Element>(r, count);
        EXPECT(std::memcmp(all.data() + static_cast<std::size_t>(r) * count, its.data(),
                           count * sizeof(Element)) == 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(weft_init() == WEFT_OK);
    EXPECT(weft_comm_rank(weft_comm_world(), &world_rank) == WEFT_OK);
    EXPECT(weft_comm_size(weft_comm_world(), &ranks) == WEFT_OK);
    run_here_or_in_fibers([&](weft_comm parent) {
        refused();
        moved(parent);
        for (int i = 1; i < argc; ++i) {
            const bool commutes = *argv[i] == '+';
            const char* const own = setting = argv[i] + (commutes ? 1 : 0);
            const std::string text = own;
            const std::string collective = text.substr(0, text.find('='));
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
