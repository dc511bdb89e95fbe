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

enum class Kind { barrier, bcast, allgather, sum, composition };

struct Operation {
    Kind kind = Kind::barrier;
    std::uint64_t number = 0;
    std::size_t count = 0;
    int root = 0;
    bool in_place = false;
    std::vector<std::uint64_t> send;
    std::vector<std::uint64_t> recv;
    weft_request request = WEFT_REQUEST_NULL;
};

template <class Job>
weft_status start(Job& job, Operation& o, weft_op composition) {
    auto ranks = static_cast<std::size_t>(job.ranks());
    auto fill = [&](std::uint64_t* at) {
        for (std::size_t i = 0; i < o.count; ++i) at[i] = element(o.number, job.rank(), i);
    };
    o.send.assign(o.count, 0);
    o.recv.assign(o.count * (o.kind == Kind::allgather ? ranks : 1) + 1, ~std::uint64_t{0});
    std::size_t own =
        o.kind == Kind::allgather ? static_cast<std::size_t>(job.rank()) * o.count : 0;
    fill(o.in_place || o.kind == Kind::bcast ? o.recv.data() + own : o.send.data());
    const void* from = o.in_place ? WEFT_IN_PLACE : o.send.data();
    switch (o.kind) {
        case Kind::barrier: return job.ibarrier(&o.request);
        case Kind::bcast:
            return job.ibcast(o.recv.data(), o.count, WEFT_UINT64, o.root, &o.request);
        case Kind::allgather:
            return job.iallgather(from, o.recv.data(), o.count, WEFT_UINT64, &o.request);
        case Kind::sum:
            return job.iallreduce(from, o.recv.data(), o.count, WEFT_UINT64, WEFT_SUM, &o.request);
        case Kind::composition:
            return job.iallreduce(from, o.recv.data(), o.count, WEFT_UINT64, composition,
                                  &o.request);
    }
    return WEFT_REFUSED_ARGUMENT;
}

inline std::string check(const Operation& o, int ranks) {
    auto expect = [&](std::size_t at, std::uint64_t expected) {
        return o.recv[at] == expected
                   ? std::string()
                   : "operation " + std::to_string(o.number) + " (kind " +
                         std::to_string(static_cast<int>(o.kind)) + ", count " +
                         std::to_string(o.count) + ", root " + std::to_string(o.root) +
                         (o.in_place ? ", in place" : "") + "): element " + std::to_string(at) +
                         " is wrong";
    };
    std::string wrong;
    for (std::size_t i = 0; i < o.count && wrong.empty() && o.kind != Kind::barrier; ++i) {
        if (o.kind == Kind::bcast) wrong = expect(i, element(o.number, o.root, i));
        if (o.kind == Kind::sum) {
            std::uint64_t sum = 0;
            for (int rank = 0; rank < ranks; ++rank) sum += element(o.number, rank, i);
            wrong = expect(i, sum);
        }
        if (o.kind == Kind::composition) {
            std::uint64_t result = element(o.number, ranks - 1, i);
            for (int rank = ranks - 2; rank >= 0; --rank) {
                result = compose(element(o.number, rank, i), result);
            }
            wrong = expect(i, result);
        }
        for (int rank = 0; o.kind == Kind::allgather && rank < ranks && wrong.empty(); ++rank) {
            wrong =
                expect(static_cast<std::size_t>(rank) * o.count + i, element(o.number, rank, i));
        }
    }
    return wrong.empty() ? expect(o.recv.size() - 1, ~std::uint64_t{0}) : wrong;
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
        std::string wrong = check(o, job.ranks());
        outstanding.erase(outstanding.begin() + static_cast<std::ptrdiff_t>(at));
        return wrong;
    };

    for (int i = 0; i < program.operations; ++i) {
        Operation o;
        o.number = program.seed * 100003 + static_cast<std::uint64_t>(i);
        o.kind = static_cast<Kind>(next(shared) % 5);
        o.count = counts[next(shared) % std::size(counts)];
        if (o.count * 8 > program.bytes_max) o.count = program.bytes_max / 8;
        o.root = static_cast<int>(next(shared) % static_cast<std::uint64_t>(job.ranks()));
        o.in_place = o.kind != Kind::bcast && next(shared) % 2 == 0;
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
