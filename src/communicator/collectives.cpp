#include "communicator/collectives.h"

#include <limits>

#include "communicator/agreement.h"
#include "weft/collective.h"

namespace weft {
namespace {

using algorithm::Family;
using algorithm::InPlace;
using algorithm::Problem;

Status check_buffer(const char* name, const void* buffer, std::int64_t bytes) {
    if (bytes == 0 || (buffer && buffer != WEFT_IN_PLACE)) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = %s; expected a buffer of %lld bytes", name,
                   buffer ? "WEFT_IN_PLACE" : "null", static_cast<long long>(bytes));
}

Status check_overlap(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes) {
    auto send = reinterpret_cast<std::uintptr_t>(send_buf);
    auto recv = reinterpret_cast<std::uintptr_t>(recv_buf);
    if (send_bytes == 0 || recv_bytes == 0) return ok;
    if (send >= recv + static_cast<std::uintptr_t>(recv_bytes) ||
        recv >= send + static_cast<std::uintptr_t>(send_bytes)) {
        return ok;
    }
    return failure(
        WEFT_REFUSED_ARGUMENT,
        "send_buf = %p (%lld bytes) overlaps recv_buf = %p (%lld bytes); expected separate "
        "buffers or WEFT_IN_PLACE",
        send_buf, static_cast<long long>(send_bytes), recv_buf, static_cast<long long>(recv_bytes));
}

// More than a process can address. Schedules compute with small multiples of it: scratch for a
// block of every child in a tree, rounded up.
constexpr std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max() / 64;

// count * size of type, when `blocks` times as much can still be addressed.
Result<std::int64_t> total_bytes(const Call& call, Rank blocks) {
    std::size_t element = type_bytes(call.type);
    if (element == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(call.type));
    }
    auto most = static_cast<std::size_t>(bytes_max) / element / static_cast<std::size_t>(blocks);
    if (call.count > most) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "count = %zu; expected at most %zu for %s on %d ranks", call.count, most,
                       type_name(call.type), blocks);
    }
    return static_cast<std::int64_t>(call.count * element);
}

bool is_in_place(InPlace allowed, const Call& call, Place place) {
    const bool is_root = place.rank == call.root;
    switch (allowed) {
        case InPlace::never: return false;
        case InPlace::send: return call.send_buf == WEFT_IN_PLACE;
        case InPlace::send_at_root: return is_root && call.send_buf == WEFT_IN_PLACE;
        case InPlace::recv_at_root: return is_root && call.recv_buf == WEFT_IN_PLACE;
    }
    return false;
}

Problem problem_of(const Signature& s, Place place) {
    return {place.rank, place.ranks, s.root,        s.bytes,   s.element_bytes,
            s.in_place, {},          s.commutative, s.combines};
}

}  // namespace

const char* collective_name(Collective collective) { return algorithm::family_of(collective).name; }

Status check_buffers(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes, const char* recv_name) {
    WEFT_RETURN_IF_NOT_OK(check_buffer(recv_name, recv_buf, recv_bytes));
    WEFT_RETURN_IF_NOT_OK(check_buffer("send_buf", send_buf, send_bytes));
    return check_overlap(send_buf, send_bytes, recv_buf, recv_bytes);
}

Result<Checked> check(const Call& call, Place place) {
    const Family& family = algorithm::family_of(call.collective);
    Result<std::int64_t> bytes =
        total_bytes(call, family.has_block_of_every_rank() ? place.ranks : 1);
    if (!bytes.is_ok()) return bytes.status();
    if (family.has_root && (call.root < 0 || call.root >= place.ranks)) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    Checked checked;
    Signature& signature = checked.signature;
    signature.collective = call.collective;
    signature.of_library = call.of_library;
    signature.root = family.has_root ? call.root : 0;
    signature.bytes = *bytes;
    if (family.reduces) {
        Result<Reduction> reduction = bind_reduction(call.op, call.type);
        if (!reduction.is_ok()) return reduction.status();
        checked.binding.reduction = *reduction;
        signature.commutative = reduction->commutative;
        signature.combines = place.combines && reduction->kernel != nullptr;
        // Data that only moves may be described by different types on different ranks.
        signature.element_bytes = static_cast<std::int64_t>(type_bytes(call.type));
    }
    signature.in_place = is_in_place(family.in_place, call, place);

    const Problem problem = problem_of(signature, place);
    const std::int64_t send_bytes = family.send_bytes(problem);
    const std::int64_t recv_bytes = family.recv_bytes(problem);
    const char* recv_name = call.collective == Collective::bcast ? "buf" : "recv_buf";
    WEFT_RETURN_IF_NOT_OK(
        check_buffers(call.send_buf, send_bytes, call.recv_buf, recv_bytes, recv_name));
    checked.binding.send = static_cast<const std::byte*>(call.send_buf);
    checked.binding.recv = static_cast<std::byte*>(call.recv_buf);
    return checked;
}

Result<Schedule> build_schedule(const Signature& signature, Place place, const Selector& selector,
                                bool is_checked) {
    Problem problem = problem_of(signature, place);
    static const Selector nothing_forced;
    const Selector& chooser = signature.of_library ? nothing_forced : selector;
    Result<Choice> choice = chooser.choose(signature.collective, problem.size());
    if (!choice.is_ok()) return choice.status();
    problem.tuning = choice->tuning;
    ScheduleBuilder builder(place.rank, place.ranks);
    if (is_checked) Agreement::add_to(builder, place);
    WEFT_RETURN_IF_NOT_OK(choice->algorithm->build(problem, builder));
    return builder.seal();
}

}  // namespace weft
