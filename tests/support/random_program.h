// A program of random collectives, the same on every rank by its seed, with many outstanding at a
// time and completed in an order of each rank's own; every result is checked.
//
// Needs nothing but the public types, so that both test programs and tests of the internals use it.
// A Job has rank(), ranks(), detail(), and the calls of weft/collective.h and weft/request.h
// without communicator.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weft::test {

struct RandomProgram {
    std::uint64_t seed = 0;
    int operations = 200;
    int outstanding_max = 8;
    std::size_t bytes_max = 1 << 20;
};

namespace random_program {

// SplitMix64.
inline std::uint64_t next(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

inline std::uint64_t element(std::uint64_t operation, int rank, std::size_t i) {
    std::uint64_t state = operation * 1000003 + static_cast<std::uint64_t>(rank) * 7919 + i;
    return next(state);
}

// x -> a x + b modulo 2^32, packed: composition does not commute.
inline std::uint64_t compose(std::uint64_t left, std::uint64_t right) {
    auto a = static_cast<std::uint32_t>((left >> 32) * (right >> 32));
    auto b = static_cast<std::uint32_t>((left >> 32) * (right & 0xffffffffu) + left);
    return std::uint64_t{a} << 32 | b;
}

inline void compose_vectors(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::uint64_t*>(in);
    auto* right = static_cast<std::uint64_t*>(inout);
    for (size_t i = 0; i < count; ++i) right[i] = compose(left[i], right[i]);
}

enum class Kind {
    barrier,
    bcast,
    gather,
    scatter,
    allgather,
    alltoall,
    reduced_sum,
    reduced_composition,
    sum,
    composition
};
constexpr int kinds = 10;

struct Operation {
    Kind kind = Kind::barrier;
    std::uint64_t number = 0;
    std::size_t count = 0;
    int root = 0;
    bool in_place = false;  // where the collective allows it
    std::vector<std::uint64_t> send;
    std::vector<std::uint64_t> recv;  // and a word behind that nobody may write
    weft_request request = WEFT_REQUEST_NULL;
};

template <class Job>
weft_status start(Job& job, Operation& o, weft_op composition) {
    const auto ranks = static_cast<std::size_t>(job.ranks());
    const bool is_root = job.rank() == o.root;
    const bool rooted = o.kind == Kind::bcast || o.kind == Kind::gather ||
                        o.kind == Kind::scatter || o.kind == Kind::reduced_sum ||
                        o.kind == Kind::reduced_composition;
    const bool in_place = o.in_place && (is_root || !rooted);
    const bool sends_all = o.kind == Kind::alltoall || o.kind == Kind::scatter;
    const bool receives_all =
        o.kind == Kind::alltoall || o.kind == Kind::gather || o.kind == Kind::allgather;
    o.send.assign(o.count * (sends_all ? ranks : 1), 0);
    o.recv.assign(o.count * (receives_all ? ranks : 1) + 1, ~std::uint64_t{0});

    // In place the contribution is in the receive buffer, of a gather in its own block; but that of
    // a scatter stays where it is.
    std::uint64_t* own = o.send.data();
    if (o.kind == Kind::bcast || (in_place && o.kind != Kind::scatter)) own = o.recv.data();
    if (in_place && (o.kind == Kind::gather || o.kind == Kind::allgather)) {
        own += static_cast<std::size_t>(job.rank()) * o.count;
    }
    for (std::size_t i = 0; i < o.send.size(); ++i) own[i] = element(o.number, job.rank(), i);

    const void* from = in_place ? WEFT_IN_PLACE : o.send.data();
    void* into = o.recv.data();
    const weft_op op = o.kind == Kind::sum || o.kind == Kind::reduced_sum ? WEFT_SUM : composition;
    switch (o.kind) {
        case Kind::barrier: return job.ibarrier(&o.request);
        case Kind::bcast: return job.ibcast(into, o.count, WEFT_UINT64, o.root, &o.request);
        case Kind::gather: return job.igather(from, into, o.count, WEFT_UINT64, o.root, &o.request);
        case Kind::scatter:
            if (in_place) into = const_cast<void*>(WEFT_IN_PLACE);
            return job.iscatter(o.send.data(), into, o.count, WEFT_UINT64, o.root, &o.request);
        case Kind::allgather: return job.iallgather(from, into, o.count, WEFT_UINT64, &o.request);
        case Kind::alltoall: return job.ialltoall(from, into, o.count, WEFT_UINT64, &o.request);
        case Kind::reduced_sum:
        case Kind::reduced_composition:
            return job.ireduce(from, into, o.count, WEFT_UINT64, op, o.root, &o.request);
        case Kind::sum:
        case Kind::composition:
            return job.iallreduce(from, into, o.count, WEFT_UINT64, op, &o.request);
    }
    return WEFT_REFUSED_ARGUMENT;
}

// What must be at `i` of this rank's receive buffer; nothing is promised of others' than the root's.
inline std::uint64_t expected(const Operation& o, int rank, int ranks, std::size_t i) {
    const auto sender = static_cast<int>(i / o.count);
    const std::size_t at = i % o.count;
    switch (o.kind) {
        case Kind::barrier: break;
        case Kind::bcast: return element(o.number, o.root, i);
        case Kind::scatter:
            return element(o.number, o.root, static_cast<std::size_t>(rank) * o.count + i);
        case Kind::gather:
        case Kind::allgather: return element(o.number, sender, at);
        case Kind::alltoall:
            return element(o.number, sender, static_cast<std::size_t>(rank) * o.count + at);
        case Kind::reduced_sum:
        case Kind::sum: {
            std::uint64_t sum = 0;
            for (int r = 0; r < ranks; ++r) sum += element(o.number, r, i);
            return sum;
        }
        case Kind::reduced_composition:
        case Kind::composition: {
            std::uint64_t result = element(o.number, ranks - 1, i);
            for (int r = ranks - 2; r >= 0; --r) result = compose(element(o.number, r, i), result);
            return result;
        }
    }
    return 0;
}

inline std::string check(const Operation& o, int rank, int ranks) {
    const std::size_t behind = o.recv.size() - 1;
    const bool root_only = o.kind == Kind::gather || o.kind == Kind::reduced_sum ||
                           o.kind == Kind::reduced_composition;
    const bool in_send = o.kind == Kind::scatter && o.in_place && rank == o.root;
    for (std::size_t i = 0; i <= behind; ++i) {
        const bool untouched =
            i == behind || o.kind == Kind::barrier || in_send || (root_only && rank != o.root);
        const std::uint64_t right = untouched ? ~std::uint64_t{0} : expected(o, rank, ranks, i);
        if (o.recv[i] == right) continue;
        return "operation " + std::to_string(o.number) + " (kind " +
               std::to_string(static_cast<int>(o.kind)) + ", count " + std::to_string(o.count) +
               ", root " + std::to_string(o.root) + (o.in_place ? ", in place" : "") +
               "): element " + std::to_string(i) + " is wrong";
    }
    return "";
}

}  // namespace random_program

// Runs the program on the calling rank. Returns what went wrong first; empty: nothing.
template <class Job>
std::string run(Job& job, const RandomProgram& program) {
    using namespace random_program;
    std::uint64_t shared = program.seed;  // the same draws on every rank
    std::uint64_t own = program.seed ^ (static_cast<std::uint64_t>(job.rank()) + 1) << 32;
    static const std::size_t counts[] = {0, 1, 2, 7, 100, 1000, 5000, 20000, 131072};
    weft_op composition = WEFT_OP_NULL;
    if (weft_op_create(compose_vectors, 0, nullptr, &composition) != WEFT_OK) return "op_create";

    std::vector<Operation> outstanding;
    auto complete = [&](std::size_t at) -> std::string {
        Operation& o = outstanding[at];
        weft_status status = WEFT_PENDING;
        if (next(own) % 2 == 0) {
            for (int i = 0; i < 50 && status == WEFT_PENDING; ++i) status = job.test(&o.request);
        }
        if (status == WEFT_PENDING) status = job.wait(&o.request);
        if (status != WEFT_OK) {
            return std::string(weft_status_name(status)) + " in operation " +
                   std::to_string(o.number) + ": " + job.detail();
        }
        std::string wrong = check(o, job.rank(), job.ranks());
        outstanding.erase(outstanding.begin() + static_cast<std::ptrdiff_t>(at));
        return wrong;
    };

    for (int i = 0; i < program.operations; ++i) {
        Operation o;
        o.number = program.seed * 100003 + static_cast<std::uint64_t>(i);
        o.kind = static_cast<Kind>(next(shared) % kinds);
        o.count = counts[next(shared) % std::size(counts)];
        if (o.count * 8 > program.bytes_max) o.count = program.bytes_max / 8;
        o.root = static_cast<int>(next(shared) % static_cast<std::uint64_t>(job.ranks()));
        o.in_place = next(shared) % 2 == 0 && o.kind != Kind::barrier && o.kind != Kind::bcast;
        outstanding.push_back(std::move(o));
        if (start(job, outstanding.back(), composition) != WEFT_OK) {
            return std::string("start refused: ") + job.detail();
        }
        // A rank's own pace: sometimes it computes, sometimes it completes something.
        volatile std::uint64_t work = 0;
        for (std::uint64_t n = next(own) % 4 == 0 ? next(own) % 20000 : 0; n > 0; --n)
            work = work + n;
        while (!outstanding.empty() &&
               (outstanding.size() >= static_cast<std::size_t>(program.outstanding_max) ||
                next(own) % 3 == 0)) {
            std::string wrong = complete(next(own) % outstanding.size());
            if (!wrong.empty()) return wrong;
        }
    }
    while (!outstanding.empty()) {
        std::string wrong = complete(next(own) % outstanding.size());
        if (!wrong.empty()) return wrong;
    }
    return weft_op_free(&composition) == WEFT_OK ? "" : "op_free";
}

}  // namespace weft::test
