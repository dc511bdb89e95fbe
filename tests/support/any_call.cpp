#include "support/any_call.h"

#include <algorithm>
#include <cstring>

namespace weft::test {
namespace {

// Every second block as bytes.
void describe_by_types(weft_type type, Described& described, BlockArrays& blocks) {
    described.types.assign(described.counts.size(), type);
    for (std::size_t i = 1; i < described.counts.size(); i += 2) {
        described.counts[i] *= static_cast<std::int64_t>(weft_type_size(type));
        described.types[i] = WEFT_BYTE;
    }
    blocks.types = described.types.data();
}

using Number = std::int64_t;

void add(const std::byte* left, std::byte* right) {
    Number l = 0;
    Number r = 0;
    std::memcpy(&l, left, sizeof l);
    std::memcpy(&r, right, sizeof r);
    r += l;
    std::memcpy(right, &r, sizeof r);
}

// Different in every rank and place.
std::vector<std::byte> numbers(std::size_t elements, Number first) {
    std::vector<std::byte> bytes(elements * sizeof first);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof first, ++first)
        std::memcpy(bytes.data() + at, &first, sizeof first);
    return bytes;
}

}  // namespace

void Described::overwrite() {
    std::ranges::fill(counts, -1);
    std::ranges::fill(places, std::int64_t{1} << 40);
    std::ranges::fill(types, static_cast<weft_type>(-1));
}

Call call_of(const Arguments& a, Collective collective, int rank, weft_type type, bool as_bytes,
             OwnArguments& own) {
    const CollectiveEntry& entry = entry_of(collective);
    Call call;
    call.collective = collective;
    call.send_buf = own.send;
    call.recv_buf = own.recv;
    if (a.in_place && a.is_in_place_on(rank)) {
        if (a.spares_recv())
            call.recv_buf = const_cast<void*>(WEFT_IN_PLACE);
        else
            call.send_buf = WEFT_IN_PLACE;
    }
    call.count = a.counts.empty() ? a.count : a.counts[static_cast<std::size_t>(rank)];
    if (!a.amounts.empty() && a.contributed(rank) == 1)
        call.count = a.contribution(rank, 0).count;
    else if (!a.amounts.empty() && a.received(rank) == 1)
        call.count = a.result(rank, 0).count;
    const std::size_t scale = as_bytes ? weft_type_size(type) : 1;
    if (as_bytes) type = WEFT_BYTE;
    call.type = entry.has_types ? WEFT_BYTE : type;
    call.count *= scale;
    const std::size_t unit = entry.has_types ? a.element_bytes : scale;
    const auto describe = [&](int blocks, auto place_of, Described& d, BlockArrays& into) {
        d.counts.clear();
        d.places.clear();
        for (int b = 0; b < blocks; ++b) {
            const Place place = place_of(rank, b);
            d.counts.push_back(static_cast<std::int64_t>(place.count * scale));
            d.places.push_back(static_cast<std::int64_t>(place.begin * unit));
        }
        if (entry.differ != Differ::no) into.counts = d.counts.data();
        if (a.has_gaps || !a.displacements.empty()) into.displacements = d.places.data();
        if (entry.has_types) describe_by_types(type, d, into);
    };
    // (Some collectives look only at one of them.)
    describe(
        a.contributed(rank), [&](int r, int b) { return a.contribution(r, b); }, own.sends,
        call.send_blocks);
    describe(
        a.received(rank), [&](int r, int b) { return a.result(r, b); }, own.receives,
        call.recv_blocks);
    call.root = a.root;
    return call;
}

OneCall::OneCall(Collective collective, int rank, int ranks, const Options& options) : rank_(rank) {
    const CollectiveEntry& entry = entry_of(collective);
    a_ = {.collective = entry.name,
          .ranks = ranks,
          .root = entry.has_root ? options.root : 0,
          .count = options.count,
          .in_place = options.in_place,
          .element_bytes = sizeof(Number),
          .combine = add};
    if (entry.differ == Differ::by_rank) {
        std::ptrdiff_t end = 0;
        for (int r = 0; r < ranks; ++r)
            a_.counts.push_back(options.count + static_cast<std::size_t>(r));
        if (options.has_places && !entry.lists_sent) {
            a_.displacements.resize(a_.counts.size());
            for (std::size_t r = a_.counts.size(); r-- > 0;) {
                a_.displacements[r] = end;
                end += static_cast<std::ptrdiff_t>(a_.counts[r]);
            }
        }
    }
    if (entry.differ == Differ::by_pair) {
        // Symmetric, for calls in place.
        for (int r = 0; r < ranks * ranks; ++r)
            a_.amounts.push_back(options.count + static_cast<std::size_t>(r / ranks + r % ranks));
        a_.has_gaps = options.has_places;
    }
    if (entry.is_among_neighbors) a_.neighbors = options.neighbors;
    const auto numbers_at = [](int of, const Place& place) {
        const Number first = (place.is_in_recv ? -1'000'000 : 1'000'000) * (of + 1);
        return numbers(place.count, first + static_cast<Number>(place.begin));
    };
    send = send_before_ = numbers_at(rank, {false, 0, a_.send_elements(rank)});
    recv = recv_before_ = expected_ = numbers_at(rank, {true, 0, a_.recv_elements(rank)});
    perform(a_, rank, numbers_at, expected_);
    own.send = send.data();
    own.recv = recv.data();
    Call call = call_of(a_, collective, rank, WEFT_INT64, /*as_bytes=*/false, own);
    if (entry.reduces) call.op = WEFT_SUM;
    call_ = call;
}

bool OneCall::is_right() const {
    if (send != send_before_) return false;
    // (In place, the rest of the buffer is the library's.)
    if (!a_.is_in_place_on(rank_)) return recv == expected_;
    for (int block = 0; block < a_.received(rank_); ++block) {
        const Place place = a_.result(rank_, block);
        const std::size_t begin = place.begin * sizeof(Number);
        if (place.is_in_recv && place.count > 0 &&
            std::memcmp(recv.data() + begin, expected_.data() + begin,
                        place.count * sizeof(Number)) != 0)
            return false;
    }
    return true;
}

}  // namespace weft::test
