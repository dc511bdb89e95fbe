#include "schedule/pack.h"

#include <cstring>

#include "schedule/builder.h"

namespace weft {
namespace {

struct Header {
    std::uint64_t ops = 0;
    std::uint64_t edges = 0;
    std::int64_t scratch_bytes = 0;
};

struct PackedEdge {
    OpId before;
    OpId after;
};

// Writes `value` at `place` and advances it.
template <class T>
void put(std::byte*& place, const T& value) {
    std::memcpy(place, &value, sizeof value);
    place += sizeof value;
}

template <class T>
T take(std::span<const std::byte>& bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

}  // namespace

std::vector<std::byte> pack(const Schedule& schedule) {
    WEFT_ASSERT(schedule.repeats().empty());
    Header header{schedule.ops().size(), 0, schedule.scratch_bytes()};
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        header.edges += schedule.after_completion(id).size();
    }
    std::vector<std::byte> bytes(sizeof header + header.ops * sizeof(Op) +
                                 header.edges * sizeof(PackedEdge));
    std::byte* place = bytes.data();
    put(place, header);
    for (const Op& op : schedule.ops()) put(place, op);
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        for (const Edge& edge : schedule.after_completion(id)) put(place, PackedEdge{id, edge.to});
    }
    return bytes;
}

Result<Schedule> unpack(std::span<const std::byte> bytes, Rank rank, Rank ranks) {
    auto bad = [&] {
        return failure(WEFT_BROKEN_MESSAGE, "the bytes of rank %d are not a schedule", rank);
    };
    if (bytes.size() < sizeof(Header)) return bad();
    const auto header = take<Header>(bytes);
    if (header.ops > bytes.size() / sizeof(Op)) return bad();
    if (header.edges > (bytes.size() - header.ops * sizeof(Op)) / sizeof(PackedEdge)) return bad();
    ScheduleBuilder builder(rank, ranks);
    builder.scratch(header.scratch_bytes);
    for (std::uint64_t i = 0; i < header.ops; ++i) builder.add(take<Op>(bytes));
    for (std::uint64_t i = 0; i < header.edges; ++i) {
        const auto edge = take<PackedEdge>(bytes);
        if (edge.before >= header.ops || edge.after >= header.ops) return bad();
        builder.order(edge.before, edge.after);
    }
    return builder.seal();
}

}  // namespace weft
