#include "communicator/collectives.h"

#include <limits>

#include "weft/collective.h"

namespace weft {
namespace {

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

// count * size of type, when `blocks` times as much can still be addressed.
Result<std::int64_t> total_bytes(const Call& call, Rank blocks) {
    std::size_t element = type_bytes(call.type);
    if (element == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(call.type));
    }
    auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / element /
                static_cast<std::size_t>(blocks);
    if (call.count > most) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "count = %zu; expected at most %zu for %s on %d ranks", call.count, most,
                       type_name(call.type), blocks);
    }
    return static_cast<std::int64_t>(call.count * element);
}

void bind_send_and_recv(const Call& call, Checked& checked) {
    checked.signature.in_place = call.send_buf == WEFT_IN_PLACE;
    checked.binding.recv = static_cast<std::byte*>(call.recv_buf);
    checked.binding.send = checked.signature.in_place
                               ? checked.binding.recv
                               : static_cast<const std::byte*>(call.send_buf);
}

Result<Checked> check_bcast(const Call& call, Place place) {
    Result<std::int64_t> bytes = total_bytes(call, 1);
    if (!bytes.is_ok()) return bytes.status();
    if (call.root < 0 || call.root >= place.ranks) {
        return failure(WEFT_REFUSED_ARGUMENT, "root = %d; expected 0..%d", call.root,
                       place.ranks - 1);
    }
    WEFT_RETURN_IF_NOT_OK(check_buffer("buf", call.recv_buf, *bytes));
    Checked checked;
    checked.signature.root = call.root;
    checked.signature.bytes = *bytes;
    checked.binding.recv = static_cast<std::byte*>(call.recv_buf);
    return checked;
}

Result<Checked> check_allgather(const Call& call, Place place) {
    Result<std::int64_t> bytes = total_bytes(call, place.ranks);
    if (!bytes.is_ok()) return bytes.status();
    std::int64_t all_bytes = *bytes * place.ranks;
    WEFT_RETURN_IF_NOT_OK(check_buffer("recv_buf", call.recv_buf, all_bytes));
    Checked checked;
    bind_send_and_recv(call, checked);
    checked.signature.bytes = *bytes;
    if (!checked.signature.in_place) {
        WEFT_RETURN_IF_NOT_OK(check_buffer("send_buf", call.send_buf, *bytes));
        WEFT_RETURN_IF_NOT_OK(check_overlap(call.send_buf, *bytes, call.recv_buf, all_bytes));
    }
    return checked;
}

Result<Checked> check_allreduce(const Call& call, Place) {
    Result<std::int64_t> bytes = total_bytes(call, 1);
    if (!bytes.is_ok()) return bytes.status();
    Result<Reduction> reduction = bind_reduction(call.op, call.type);
    if (!reduction.is_ok()) return reduction.status();
    WEFT_RETURN_IF_NOT_OK(check_buffer("recv_buf", call.recv_buf, *bytes));
    Checked checked;
    bind_send_and_recv(call, checked);
    checked.signature.bytes = *bytes;
    if (!checked.signature.in_place) {
        WEFT_RETURN_IF_NOT_OK(check_buffer("send_buf", call.send_buf, *bytes));
        WEFT_RETURN_IF_NOT_OK(check_overlap(call.send_buf, *bytes, call.recv_buf, *bytes));
    }
    checked.binding.reduction = *reduction;
    return checked;
}

}  // namespace

const char* collective_name(Collective collective) {
    switch (collective) {
        case Collective::barrier: return "ibarrier";
        case Collective::bcast: return "ibcast";
        case Collective::allgather: return "iallgather";
        case Collective::allreduce: return "iallreduce";
    }
    return "?";
}

Result<Checked> check(const Call& call, Place place) {
    Result<Checked> checked = Checked{};
    switch (call.collective) {
        case Collective::barrier: break;
        case Collective::bcast: checked = check_bcast(call, place); break;
        case Collective::allgather: checked = check_allgather(call, place); break;
        case Collective::allreduce: checked = check_allreduce(call, place); break;
    }
    if (checked.is_ok()) {
        checked->signature.collective = call.collective;
        // Data that only moves may be described by different types on different ranks.
        if (call.collective == Collective::allreduce) {
            checked->signature.element_bytes = static_cast<std::int64_t>(type_bytes(call.type));
        }
    }
    return checked;
}

Result<Schedule> build_schedule(const Signature& s, Place place, const Selector& selector) {
    ScheduleBuilder builder(place.rank, place.ranks);
    algorithm::Size size{place.ranks, s.bytes, {}};
    Region own{s.in_place ? Buffer::recv : Buffer::send, 0, s.bytes};
    switch (s.collective) {
        case Collective::barrier: {
            auto choice = selector.barrier(size);
            WEFT_RETURN_IF_NOT_OK(choice.algorithm->build({place.rank, place.ranks}, builder));
            break;
        }
        case Collective::bcast: {
            auto choice = selector.bcast(size);
            algorithm::BcastArgs args{place.rank,      place.ranks,
                                      s.root,          {Buffer::recv, 0, s.bytes},
                                      s.element_bytes, choice.tuning};
            WEFT_RETURN_IF_NOT_OK(choice.algorithm->build(args, builder));
            break;
        }
        case Collective::allgather: {
            auto choice = selector.allgather(size);
            if (s.in_place) own.offset = place.rank * s.bytes;
            algorithm::AllgatherArgs args{
                place.rank, place.ranks, own, {Buffer::recv, 0, place.ranks * s.bytes}, s.in_place};
            WEFT_RETURN_IF_NOT_OK(choice.algorithm->build(args, builder));
            break;
        }
        case Collective::allreduce: {
            auto choice = selector.allreduce(size);
            algorithm::AllreduceArgs args{place.rank, place.ranks,
                                          own,        {Buffer::recv, 0, s.bytes},
                                          s.in_place, s.element_bytes};
            WEFT_RETURN_IF_NOT_OK(choice.algorithm->build(args, builder));
            break;
        }
    }
    return builder.seal();
}

}  // namespace weft
