#include "communicator/call/agreement.h"

#include <cstdio>
#include <cstring>
#include <numeric>

#include "algorithm/catalogue.h"
#include "algorithm/trees.h"
#include "base/hash.h"

namespace weft {
namespace {

// Predefined operations use their own number; more numbers stand for those that programs make.
constexpr std::uint8_t user_op = 255;
constexpr std::uint8_t user_op_in_rank_order = 254;
constexpr std::uint8_t premultiplied_sum = 253;

std::uint8_t op_number(weft_op op, const Signature& signature) {
    const auto value = reinterpret_cast<std::uintptr_t>(op);
    if (value < predefined_op_count) return static_cast<std::uint8_t>(value);
    if (signature.scale == Scale::multiply) return premultiplied_sum;
    return signature.commutative ? user_op : user_op_in_rank_order;
}

std::string op_in_words(std::uint8_t op) {
    if (op == user_op) return "a user-defined operation";
    if (op == user_op_in_rank_order) return "a user-defined operation that does not commute";
    if (op == premultiplied_sum) return "a premultiplied sum";
    return op_name(reinterpret_cast<weft_op>(std::uintptr_t{op}));
}

const algorithm::CollectiveSpec& spec_of(const CallRecord& record) {
    return algorithm::spec_of(static_cast<Collective>(record.collective));
}

std::int64_t bytes_of(const CallRecord& record) {
    return record.count *
           static_cast<std::int64_t>(type_bytes(static_cast<weft_type>(record.type)));
}

// A hash of the blocks' sizes in bytes.
std::uint32_t fingerprint(const Signature& signature) {
    Hash hash;
    for (const auto& counts : {signature.send.counts, signature.recv.counts}) {
        for (const std::int64_t count : counts) {
            const std::int64_t bytes = count * signature.unit_bytes;
            hash.add(static_cast<std::uint64_t>(bytes));
        }
    }
    return static_cast<std::uint32_t>(hash.value() ^ hash.value() >> 32);
}

constexpr std::int32_t tell_index = 0;
constexpr std::int32_t compare_index = 1;

}  // namespace

CallRecord record_of(const weft_call& call, const Signature& signature, bool is_root,
                     bool persistent) {
    CallRecord record;
    record.collective = static_cast<std::uint8_t>(call.collective);
    record.of_library = signature.of_library;
    record.persistent = persistent;
    const algorithm::CollectiveSpec& spec = spec_of(record);
    const weft_side& own = UsedSides(spec, is_root, signature.in_place).own(call);
    record.type = static_cast<std::uint32_t>(own.type);
    if (spec.reduces) record.op = op_number(call.op, signature);
    record.root = signature.root;
    switch (spec.sizes) {
        case algorithm::Sizes::uniform:
            record.count = static_cast<std::int64_t>(own.count);
            record.blocks = static_cast<std::uint32_t>(signature.wire);
            break;
        case algorithm::Sizes::known_to_all:
            // One of both lists is empty.
            for (const auto& counts : {signature.send.counts, signature.recv.counts})
                record.count += std::reduce(counts.begin(), counts.end());
            record.blocks = fingerprint(signature);
            break;
        case algorithm::Sizes::rank_local:
        case algorithm::Sizes::uniform_per_rank: break;  // ranks need not agree
    }
    return record;
}

bool agree(const CallRecord& left, const CallRecord& right) {
    if (left.collective != right.collective || left.of_library != right.of_library ||
        left.persistent != right.persistent || left.root != right.root) {
        return false;
    }
    if (left.blocks != right.blocks) return false;
    if (!spec_of(left).reduces) return bytes_of(left) == bytes_of(right);
    return left.count == right.count && left.type == right.type && left.op == right.op;
}

std::string in_words(const CallRecord& record) {
    // Constructors detect by themselves that only their names differ (process/construct.cpp).
    if (record.of_library) {
        return "comm_dup, another constructor or schedule_check, which exchange " +
               std::to_string(bytes_of(record)) + " bytes";
    }
    const algorithm::CollectiveSpec& spec = spec_of(record);
    std::string words = record.persistent ? "persistent " : "";
    words += spec.name;
    if (static_cast<Collective>(record.collective) == Collective::barrier) return words;
    if (spec.agrees_on_sizes()) {
        words += " of " + std::to_string(record.count) + " x ";
        words += type_name(static_cast<weft_type>(record.type));
    }
    if (spec.sizes == algorithm::Sizes::known_to_all) {
        char text[40];
        std::snprintf(text, sizeof text, " in blocks whose sizes hash to %08x", record.blocks);
        words += text;
    }
    if (spec.reduces) words += " with " + op_in_words(record.op);
    if (spec.has_root)
        words += (spec.reduces ? " and root " : " with root ") + std::to_string(record.root);
    return words;
}

void Disagreement::write_to(Failure& failure) const {
    static_assert(sizeof *this <= sizeof failure.remark);
    failure.has_remark = true;
    std::memcpy(failure.remark.data(), this, sizeof *this);
}

Disagreement Disagreement::of(const Failure& failure) {
    Disagreement disagreement;
    std::memcpy(&disagreement, failure.remark.data(), sizeof disagreement);
    return disagreement;
}

// All records are gathered at rank 0, which broadcasts them in one message.
void Agreement::add_to(ScheduleBuilder& schedule, const CallContext& place) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(CallRecord));
    const Region all = schedule.scratch(place.ranks * bytes);
    const Region mine = all.part(place.rank * bytes, bytes);
    const Tree tree = binomial_tree(place.rank, place.ranks, 0);
    schedule.call(mine, tell_index);
    schedule.fence();
    algorithm::Problem gathering;
    gathering.agreed.ranks = place.ranks;
    gathering.rank = place.rank;
    gathering.in_place = gathering.is_root();
    gathering.send = {.buffer = mine.buffer, .count = 1, .offset = mine.offset, .bytes = bytes};
    gathering.recv = {
        .buffer = all.buffer, .count = place.ranks, .offset = all.offset, .bytes = bytes};
    algorithm::gather_along(tree, gathering, schedule);
    schedule.fence();
    algorithm::bcast_along(tree, all, schedule.start(), schedule);
    schedule.fence();
    schedule.call(all, compare_index);
    schedule.fence();
}

std::int64_t Agreement::sent_bytes(const CallContext& place) {
    ScheduleBuilder builder(place.rank, place.ranks);
    add_to(builder, place);
    Result<Schedule> schedule = builder.seal();
    return schedule.is_ok() ? schedule->sent_bytes() : 0;
}

void Agreement::bind(const CallRecord& mine, const Group& group, Binding& binding) {
    mine_ = mine;
    group_ = &group;
    verdict_ = {};
    calls_[tell_index] = {tell, this};
    calls_[compare_index] = {compare, this};
    binding.calls = calls_.data();
    binding.verdict = &verdict_;
}

void Agreement::tell(void* data, std::size_t bytes, void* agreement) {
    WEFT_ASSERT(bytes == sizeof(CallRecord));
    std::memcpy(data, &static_cast<Agreement*>(agreement)->mine_, bytes);
}

// All ranks compare the same records and come to the same verdict.
void Agreement::compare(void* data, std::size_t bytes, void* agreement) {
    Agreement& self = *static_cast<Agreement*>(agreement);
    const auto* records = static_cast<const std::byte*>(data);
    CallRecord first;
    std::memcpy(&first, records, sizeof first);
    for (std::size_t rank = 1; rank < bytes / sizeof first; ++rank) {
        CallRecord other;
        std::memcpy(&other, records + rank * sizeof other, sizeof other);
        if (agree(first, other)) continue;
        self.verdict_.code = WEFT_BROKEN_MESSAGE;
        self.verdict_.rank = self.group_->members[rank];
        Disagreement{other, first, self.group_->members.front()}.write_to(self.verdict_);
        return;
    }
}

}  // namespace weft
