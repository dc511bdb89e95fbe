#include "schedule/check/check.h"

#include "schedule/check/parts.h"
#include "schedule/text.h"

namespace weft {
namespace checking {

std::string name_of(const Schedule& schedule, OpId op, std::int64_t iteration) {
    std::string text =
        "operation " + std::to_string(op) + " of rank " + std::to_string(schedule.rank()) + " (";
    bool spaced = false;
    for (char c : to_text(schedule.at(op, iteration))) {
        if (c != ' ' || !spaced) text += c;
        spaced = c == ' ';
    }
    text += ')';
    if (schedule.repeat_of(op)) text += " in iteration " + std::to_string(iteration);
    return text;
}

namespace {

// No edge enters or leaves a repeat: its two joins connect it.
bool edges_respect_repeats(const Schedule& schedule) {
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        const Repeat* repeat = schedule.repeat_of(id);
        for (const Edge& edge : schedule.after_completion(id)) {
            if (schedule.repeat_of(edge.to) != repeat) return false;
        }
    }
    return true;
}

// Whether the region lies inside its buffer in every iteration. Offsets are compared by their
// distance from the end, so that none overflows.
bool is_inside(const Op& op, Region region, const Repeat* repeat, std::int64_t buffer_bytes) {
    if (op.bytes == 0) return true;
    auto fits = [&](std::int64_t offset, std::int64_t bytes) {
        return bytes >= 0 && bytes <= buffer_bytes && offset <= buffer_bytes - bytes;
    };
    if (region.offset < 0 || region.offset > buffer_bytes) return false;
    if (!repeat) return fits(region.offset, region.bytes);
    const std::int64_t last = repeat->iterations - 1;
    if (region.buffer != Buffer::scratch) {
        if (repeat->stride < 0 || (last > 0 && repeat->stride > buffer_bytes / last)) return false;
        return fits(region.offset + last * repeat->stride, region.bytes - repeat->short_bytes) &&
               (last == 0 || fits(region.offset + (last - 1) * repeat->stride, region.bytes));
    }
    if (region.offset < repeat->scratch_begin) return fits(region.offset, region.bytes);
    const std::int64_t slot = std::min<std::int64_t>(repeat->window - 1, last);
    return fits(region.offset + slot * repeat->scratch_stride, region.bytes);
}

void check_regions(const Schedule& schedule, const Postcondition& promise, Findings& findings) {
    const auto rank = static_cast<std::size_t>(schedule.rank());
    auto check_one = [&](OpId id, Region region, bool written) {
        const char* buffer = region.buffer == Buffer::send   ? "send buffer"
                             : region.buffer == Buffer::recv ? "receive buffer"
                                                             : "scratch";
        const std::int64_t size = region.buffer == Buffer::send   ? promise.send_bytes[rank]
                                  : region.buffer == Buffer::recv ? promise.recv_bytes[rank]
                                                                  : schedule.scratch_bytes();
        if (!is_inside(schedule.ops()[id], region, schedule.repeat_of(id), size)) {
            findings.add(Flaw::region, name_of(schedule, id, 0) + " reaches outside the " + buffer +
                                           " of " + std::to_string(size) + " bytes");
        }
        if (written && region.buffer == Buffer::send && region.bytes > 0) {
            findings.add(Flaw::region, name_of(schedule, id, 0) + " writes the send buffer");
        }
    };
    for (OpId id = 0; id < schedule.ops().size() && !findings.full(); ++id) {
        const Op& op = schedule.ops()[id];
        if (reads(op)) check_one(id, op.from(), spoils(op));
        if (writes(op)) check_one(id, op.into(), true);
    }
}

}  // namespace

void check_structure(std::span<const Schedule> schedules, const Postcondition& promise,
                     Findings& findings) {
    const auto ranks = static_cast<Rank>(schedules.size());
    if (promise.send_bytes.size() != schedules.size()) {
        findings.add(Flaw::structure, "the promise is for " +
                                          std::to_string(promise.send_bytes.size()) +
                                          " ranks, the schedules are for " + std::to_string(ranks));
        return;
    }
    for (Rank r = 0; r < ranks && !findings.full(); ++r) {
        const Schedule& schedule = schedules[static_cast<std::size_t>(r)];
        if (schedule.rank() != r || schedule.ranks() != ranks) {
            findings.add(Flaw::structure, "schedule " + std::to_string(r) + " of " +
                                              std::to_string(ranks) + " belongs to rank " +
                                              std::to_string(schedule.rank()) + " of " +
                                              std::to_string(schedule.ranks()));
        } else if (!edges_respect_repeats(schedule)) {
            findings.add(Flaw::structure, "in the schedule of rank " + std::to_string(r) +
                                              " an edge crosses the border of a repeat");
        } else {
            check_regions(schedule, promise, findings);
        }
    }
}

}  // namespace checking

const char* flaw_name(Flaw flaw) {
    switch (flaw) {
        case Flaw::structure: return "structure";
        case Flaw::region: return "region";
        case Flaw::matching: return "matching";
        case Flaw::deadlock: return "deadlock";
        case Flaw::hazard: return "hazard";
        case Flaw::result: return "result";
    }
    return "?";
}

Verdict check(std::span<const Schedule> schedules, const Postcondition& promise) {
    checking::Findings findings;
    Verdict verdict;
    auto finish = [&] {
        verdict.findings = findings.take();
        return verdict;
    };
    checking::check_structure(schedules, promise, findings);
    if (!findings.empty()) return finish();

    checking::check_lanes(schedules, findings);
    for (const Schedule& schedule : schedules) checking::check_hazards(schedule, findings);
    if (!findings.empty()) return finish();

    checking::Terms terms(static_cast<Rank>(schedules.size()), promise.commutative);
    std::vector<checking::Buffers> buffers;
    verdict.operations = checking::play(schedules, promise, buffers, terms, findings);
    for (const Schedule& schedule : schedules) {
        for (OpId id = 0; id < schedule.ops().size(); ++id) {
            if (schedule.ops()[id].kind != OpKind::send) continue;
            const Repeat* repeat = schedule.repeat_of(id);
            verdict.messages += repeat ? repeat->iterations : 1;
        }
    }
    if (findings.empty()) checking::check_result(promise, buffers, terms, findings);
    return finish();
}

Verdict check(std::span<const Schedule> schedules) {
    Postcondition promise;
    promise.follows_data = false;
    for (const Schedule& schedule : schedules) {
        promise.send_bytes.push_back(schedule.reach(Buffer::send));
        promise.recv_bytes.push_back(schedule.reach(Buffer::recv));
    }
    return check(schedules, promise);
}

}  // namespace weft
