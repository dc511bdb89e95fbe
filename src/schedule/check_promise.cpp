#include "schedule/check_promise.h"

#include <string>

namespace weft {
namespace {

Promise with_buffers(const CallShape& call, std::int64_t send_bytes, std::int64_t recv_bytes) {
    Promise promise;
    promise.send_bytes.assign(static_cast<std::size_t>(call.ranks), send_bytes);
    promise.recv_bytes.assign(static_cast<std::size_t>(call.ranks), recv_bytes);
    promise.element_bytes = call.element_bytes;
    promise.commutative = call.commutative;
    return promise;
}

Promise barrier(const CallShape& call) {
    Promise promise = with_buffers(call, 0, 0);
    promise.synchronizes = true;
    return promise;
}

Promise bcast(const CallShape& call) {
    Promise promise = with_buffers(call, 0, call.bytes);
    const Region data = {Buffer::recv, 0, call.bytes};
    promise.before.push_back({call.root, data, call.root, 0});
    for (Rank r = 0; r < call.ranks; ++r) promise.after.push_back({r, data, call.root, 0});
    return promise;
}

Region whole(const CallShape& call) { return {Buffer::recv, 0, call.bytes}; }

Region block(Buffer buffer, const CallShape& call, Rank r) {
    return {buffer, r * call.bytes, call.bytes};
}

Promise gather(const CallShape& call) {
    Promise promise = with_buffers(call, call.bytes, 0);
    const auto root = static_cast<std::size_t>(call.root);
    promise.recv_bytes[root] = call.ranks * call.bytes;
    if (call.in_place) promise.send_bytes[root] = 0;
    for (Rank r = 0; r < call.ranks; ++r) {
        const bool in_place = call.in_place && r == call.root;
        const Region own = in_place ? block(Buffer::recv, call, r) : block(Buffer::send, call, 0);
        promise.before.push_back({r, own, r, 0});
        promise.after.push_back({call.root, block(Buffer::recv, call, r), r, 0});
    }
    return promise;
}

Promise scatter(const CallShape& call) {
    Promise promise = with_buffers(call, 0, call.bytes);
    const auto root = static_cast<std::size_t>(call.root);
    promise.send_bytes[root] = call.ranks * call.bytes;
    if (call.in_place) promise.recv_bytes[root] = 0;
    promise.before.push_back({call.root, {Buffer::send, 0, call.ranks * call.bytes}, call.root, 0});
    for (Rank r = 0; r < call.ranks; ++r) {
        if (call.in_place && r == call.root) continue;
        promise.after.push_back({r, whole(call), call.root, r * call.bytes});
    }
    return promise;
}

Promise allgather(const CallShape& call) {
    Promise promise = with_buffers(call, call.in_place ? 0 : call.bytes, call.ranks * call.bytes);
    for (Rank r = 0; r < call.ranks; ++r) {
        const Region own =
            call.in_place ? block(Buffer::recv, call, r) : block(Buffer::send, call, 0);
        promise.before.push_back({r, own, r, 0});
        for (Rank of = 0; of < call.ranks; ++of) {
            promise.after.push_back({r, block(Buffer::recv, call, of), of, 0});
        }
    }
    return promise;
}

Promise alltoall(const CallShape& call) {
    const std::int64_t all = call.ranks * call.bytes;
    Promise promise = with_buffers(call, call.in_place ? 0 : all, all);
    for (Rank r = 0; r < call.ranks; ++r) {
        const Buffer own = call.in_place ? Buffer::recv : Buffer::send;
        promise.before.push_back({r, {own, 0, all}, r, 0});
        for (Rank of = 0; of < call.ranks; ++of) {
            promise.after.push_back({r, block(Buffer::recv, call, of), of, r * call.bytes});
        }
    }
    return promise;
}

Promise reduce(const CallShape& call) {
    Promise promise = with_buffers(call, call.bytes, 0);
    const auto root = static_cast<std::size_t>(call.root);
    promise.recv_bytes[root] = call.bytes;
    if (call.in_place) promise.send_bytes[root] = 0;
    for (Rank r = 0; r < call.ranks; ++r) {
        const bool in_place = call.in_place && r == call.root;
        promise.before.push_back(
            {r, {in_place ? Buffer::recv : Buffer::send, 0, call.bytes}, r, 0});
    }
    promise.after.push_back({call.root, whole(call), everyone, 0});
    return promise;
}

Promise allreduce(const CallShape& call) {
    Promise promise = with_buffers(call, call.in_place ? 0 : call.bytes, call.bytes);
    for (Rank r = 0; r < call.ranks; ++r) {
        const Buffer own = call.in_place ? Buffer::recv : Buffer::send;
        promise.before.push_back({r, {own, 0, call.bytes}, r, 0});
        promise.after.push_back({r, whole(call), everyone, 0});
    }
    return promise;
}

}  // namespace

Result<Promise> promise_of(std::string_view collective, const CallShape& call) {
    if (collective == "barrier") return barrier(call);
    if (collective == "bcast") return bcast(call);
    if (collective == "gather") return gather(call);
    if (collective == "scatter") return scatter(call);
    if (collective == "allgather") return allgather(call);
    if (collective == "alltoall") return alltoall(call);
    if (collective == "reduce") return reduce(call);
    if (collective == "allreduce") return allreduce(call);
    return failure(WEFT_REFUSED_ARGUMENT, "the checker knows no promise of %s",
                   std::string(collective).c_str());
}

}  // namespace weft
