// Alltoall in ceil(log2 ranks) rounds: a block for the rank i ahead travels in steps of the powers
// of two that add up to i, the largest first. Any number of ranks. For small blocks, because each is sent several
// times.
//
// On rank r, place i holds the block for rank r + i (modulo ranks). In the round of 2^k the places with bit
// k set are sent 2^k ranks ahead in ascending order, and those that arrive take their place. At the end place i
// holds the block from rank r - i. Blocks stay where they arrived until they are sent on: each is copied once a round.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// Places [first, end) that are contiguous in memory.
struct PlaceRun {
    Rank first;
    Rank end;
    Region region;
    OpId ready;  // no_op: this rank's contribution

    PlaceRun part(Rank begin, Rank last, std::int64_t bytes) const {
        return {begin, last, region.part((begin - first) * bytes, (last - begin) * bytes), ready};
    }
    bool is_empty() const { return first == end; }
};

std::vector<PlaceRun> contribution(const Problem& in) {
    std::vector<PlaceRun> runs;
    for (const Places::Piece& piece : Places(in.send, in.rank).pieces(1, in.ranks())) {
        const auto first = static_cast<Rank>(1 + piece.at / in.send.bytes);
        const auto places = static_cast<Rank>(piece.region.bytes / in.send.bytes);
        runs.push_back({first, first + places, piece.region, no_op});
    }
    return runs;
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block(in.rank));
    const std::int64_t bytes = in.recv.bytes;
    std::vector<PlaceRun> held = contribution(in);
    std::vector<PlaceRun> next;
    std::vector<PlaceRun> leaving;
    std::vector<OpId> copied;
    std::vector<OpId> contribution_read;
    for (int k = ceil_log2(in.ranks()) - 1; k >= 0; --k) {
        const Neighbours peers = dissemination_peers(in.rank, in.ranks(), k);
        const Region arriving = schedule.scratch(count_with_bit(in.ranks(), k) * bytes);
        const OpId arrived = schedule.recv(arriving, peers.from);
        std::int64_t at = 0;
        next.clear();
        leaving.clear();
        for (const PlaceRun& run : held) {
            const Rank with_bit = (run.first >> k | 1) << k;
            const Rank middle = std::clamp(with_bit, run.first, run.end);
            const PlaceRun stays = run.part(run.first, middle, bytes);
            const PlaceRun leaves = run.part(middle, run.end, bytes);
            if (!stays.is_empty()) next.push_back(stays);
            if (leaves.is_empty()) continue;
            leaving.push_back(leaves);
            const std::int64_t length = leaves.region.bytes;
            next.push_back({leaves.first, leaves.end, arriving.part(at, length), arrived});
            at += length;
        }
        held.swap(next);

        if (leaving.size() == 1) {
            const OpId sent = schedule.send(leaving[0].region, peers.to, {leaving[0].ready});
            if (leaving[0].ready == no_op) contribution_read.push_back(sent);
            continue;
        }
        const Region packed = schedule.scratch(at);
        at = 0;
        copied.clear();
        for (const PlaceRun& run : leaving) {
            copied.push_back(
                schedule.copy(run.region, packed.part(at, run.region.bytes), {run.ready}));
            if (run.ready == no_op) contribution_read.push_back(copied.back());
            at += run.region.bytes;
        }
        schedule.send(packed, peers.to, {schedule.join(copied)});
    }
    const OpId overwritable = in.in_place ? schedule.join(contribution_read) : no_op;
    for (const PlaceRun& run : held) {  // of one place each
        const Region into = in.recv.block(around(in.rank, -run.first, in.ranks()));
        schedule.copy(run.region, into, {run.ready, overwritable});
    }
    return ok;
}

std::int64_t sent_bytes(const Agreed& a) {
    std::int64_t blocks = 0;
    for (int k = 0; k < ceil_log2(a.ranks); ++k) blocks += count_with_bit(a.ranks, k);
    return blocks * a.bytes;
}

}  // namespace

extern const Algorithm alltoall_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 3 (index), radix 2",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
