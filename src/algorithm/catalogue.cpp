#include "algorithm/catalogue.h"

namespace weft::algorithm {
namespace {

Region own(const Problem& p, std::int64_t offset_in_place) {
    if (p.in_place) return {Buffer::recv, offset_in_place, p.bytes};
    return {Buffer::send, 0, p.bytes};
}

void set(BarrierArgs& args, const Problem& p) { args = {p.rank, p.ranks}; }

void set(BcastArgs& args, const Problem& p) {
    args = {p.rank, p.ranks, p.root, {Buffer::recv, 0, p.bytes}, p.element_bytes, p.tuning};
}

void set(AllgatherArgs& args, const Problem& p) {
    const Region all = {Buffer::recv, 0, p.ranks * p.bytes};
    args = {p.rank, p.ranks, own(p, p.rank * p.bytes), all, p.in_place};
}

void set(AllreduceArgs& args, const Problem& p) {
    const Region into = {Buffer::recv, 0, p.bytes};
    args = {p.rank, p.ranks, own(p, 0), into, p.in_place, p.element_bytes};
}

template <class Args>
std::vector<Entry> entries(std::span<const Algorithm<Args>* const> algorithms) {
    std::vector<Entry> all;
    for (const Algorithm<Args>* algorithm : algorithms) {
        auto build = [algorithm](const Problem& problem) -> Result<Schedule> {
            Args args;
            set(args, problem);
            ScheduleBuilder builder(problem.rank, problem.ranks);
            WEFT_RETURN_IF_NOT_OK(algorithm->build(args, builder));
            return builder.seal();
        };
        all.push_back({algorithm->name, algorithm->source, algorithm->rounds,
                       algorithm->sent_bytes_max, build});
    }
    return all;
}

std::int64_t none(const Problem&) { return 0; }
std::int64_t vector(const Problem& p) { return p.bytes; }
std::int64_t operand(const Problem& p) { return p.in_place ? 0 : p.bytes; }
std::int64_t blocks(const Problem& p) { return p.ranks * p.bytes; }

}  // namespace

std::span<const Family> catalogue() {
    // name, root, in place, reduces, bytes of the send and of the receive buffer, algorithms
    static const Family families[] = {
        {"barrier", false, false, false, none, none, entries(barriers())},
        {"bcast", true, false, false, none, vector, entries(bcasts())},
        {"allgather", false, true, false, operand, blocks, entries(allgathers())},
        {"allreduce", false, true, true, operand, vector, entries(allreduces())},
    };
    return families;
}

const Family* find_family(std::string_view collective) {
    for (const Family& family : catalogue()) {
        if (family.name == collective) return &family;
    }
    return nullptr;
}

const Entry* Family::find(std::string_view algorithm) const {
    for (const Entry& entry : algorithms) {
        if (entry.name == algorithm) return &entry;
    }
    return nullptr;
}

Result<std::vector<Schedule>> build_all(const Entry& entry, Problem problem) {
    std::vector<Schedule> schedules;
    for (problem.rank = 0; problem.rank < problem.ranks; ++problem.rank) {
        Result<Schedule> schedule = entry.build(problem);
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

}  // namespace weft::algorithm
