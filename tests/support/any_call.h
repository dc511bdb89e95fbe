// Calls of any collective, for tests that loop over all of them: its row of collectives.def says what
// it takes, its definition (support/reference.h) how large its buffers are and what arrives.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "algorithm/collective.h"
#include "support/call.h"
#include "support/neighbors.h"
#include "support/reference.h"

namespace weft::test {

// Whether blocks differ: in a way known to all ranks, or only to the sender and the receiver of each.
enum class Differ : std::uint8_t { no, by_rank, by_pair };

struct CollectiveEntry {
    const char* name;
    bool has_root;
    bool reduces;
    Differ differ;
    bool lists_sent;  // the sizes of the blocks that it sends
    bool is_among_neighbors;
    bool has_types;  // each block has its own type
};

namespace collective_rows {

enum class Buffer : std::uint8_t { none, uniform, varying, typed };

constexpr CollectiveEntry entry(const char* name, Buffer send, Buffer recv, std::string_view op,
                                std::string_view root, bool is_among_neighbors) {
    const bool has_root = root == "root";
    const bool differs = send >= Buffer::varying || recv >= Buffer::varying;
    // All ranks list the blocks of the one buffer that has one for every rank.
    const bool lists_alike = !has_root && !is_among_neighbors && send != recv;
    return {name,
            has_root,
            op == "op",
            !differs      ? Differ::no
            : lists_alike ? Differ::by_rank
                          : Differ::by_pair,
            send >= Buffer::varying,
            is_among_neighbors,
            send == Buffer::typed};
}

#define NONE Buffer::none
#define UNIFORM(buf, count) Buffer::uniform
#define VARYING(buf, counts, displs) Buffer::varying
#define TYPED(buf, counts, displs, types) Buffer::typed
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    entry(#name, send, recv, #op, #root, false),
#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    entry(#name, send, recv, #op, #root, true),
inline constexpr CollectiveEntry entries[] = {
#include "algorithm/collectives.def"
};
#undef COLLECTIVE
#undef NONE
#undef UNIFORM
#undef VARYING
#undef TYPED

}  // namespace collective_rows

// By Collective.
inline constexpr auto& collective_table = collective_rows::entries;

inline const CollectiveEntry& entry_of(Collective collective) {
    return collective_table[static_cast<std::size_t>(collective)];
}

// Blocks that differ, as a call has them.
struct Described {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> places;
    std::vector<weft_type> types;

    // Overwrites the arrays, as a program may do as soon as the call has returned.
    void overwrite();
};

// A rank's buffers in a call, and its arrays.
struct OwnArguments {
    void* send = nullptr;
    void* recv = nullptr;
    Described sends{};
    Described receives{};
};

// What a rank passes for `a`, whose elements are of this type; `as_bytes`: it describes them as bytes.
// Of collectives that have types, every second block is described as bytes.
Call call_of(const Arguments& a, Collective collective, int rank, weft_type type, bool as_bytes,
             OwnArguments& own);

// A call of every rank on numbers, with blocks that differ if they can, and this rank's part of it.
class OneCall {
  public:
    struct Options {
        int root = 0;
        std::size_t count = 3;
        bool in_place = false;    // where MPI allows it
        bool has_places = false;  // blocks that differ lie in another order
        Neighbors neighbors{};    // of the communicator, if the collective is among them
    };
    OneCall(Collective collective, int rank, int ranks, const Options& options);
    OneCall(const OneCall&) = delete;
    OneCall& operator=(const OneCall&) = delete;

    const weft_call& call() const { return call_; }
    // Sets the receive buffer to what it was before the call.
    void reset() { recv = recv_before_; }
    // Whether the results are there, and nothing else has changed.
    bool is_right() const;

    std::vector<std::byte> send;
    std::vector<std::byte> recv;
    OwnArguments own;

  private:
    Arguments a_;
    int rank_;
    std::vector<std::byte> send_before_;
    std::vector<std::byte> recv_before_;
    std::vector<std::byte> expected_;
    weft_call call_;
};

}  // namespace weft::test
