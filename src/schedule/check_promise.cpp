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

Promise allgather(const CallShape& call) {
    Promise promise = with_buffers(call, call.in_place ? 0 : call.bytes, call.ranks * call.bytes);
    auto block = [&](Rank r) { return Region{Buffer::recv, r * call.bytes, call.bytes}; };
    const Region apart = {Buffer::send, 0, call.bytes};
    for (Rank r = 0; r < call.ranks; ++r) {
        promise.before.push_back({r, call.in_place ? block(r) : apart, r, 0});
        for (Rank of = 0; of < call.ranks; ++of) promise.after.push_back({r, block(of), of, 0});
    }
    return promise;
}

Promise allreduce(const CallShape& call) {
    Promise promise = with_buffers(call, call.in_place ? 0 : call.bytes, call.bytes);
    for (Rank r = 0; r < call.ranks; ++r) {
        const Buffer own = call.in_place ? Buffer::recv : Buffer::send;
        promise.before.push_back({r, {own, 0, call.bytes}, r, 0});
        promise.after.push_back({r, {Buffer::recv, 0, call.bytes}, everyone, 0});
    }
    return promise;
}

}  // namespace

Result<Promise> promise_of(std::string_view collective, const CallShape& call) {
    if (collective == "barrier") return barrier(call);
    if (collective == "bcast") return bcast(call);
    if (collective == "allgather") return allgather(call);
    if (collective == "allreduce") return allreduce(call);
    return failure(WEFT_REFUSED_ARGUMENT, "the checker knows no promise of %s",
                   std::string(collective).c_str());
}

}  // namespace weft
