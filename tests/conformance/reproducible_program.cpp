// Reductions of floating-point numbers of very different magnitude, with WEFT_REPRODUCIBLE=1: every
// rank ends with status 1 and a sentence if a result is not that of the reference, bit for bit. Ranks
// round in different ways meanwhile.
#include <unistd.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "conformance/in_fibers.h"
#include "support/any_call.h"
#include "support/float_states.h"

namespace {

using weft::Collective;
using weft::collectives;
using weft::Prng;
using namespace weft::test;

int own_rank = -1;
int ranks = 0;
int calls = 0;

void must(weft_status status, const std::string& what) {
    if (status == WEFT_OK) return;
    std::fprintf(stderr, "rank %d: %s: %s\n", own_rank, what.c_str(), weft_last_detail());
    std::exit(1);
}

template <class T>
void add(const std::byte* left, std::byte* right) {
    T l;
    T r;
    std::memcpy(&l, left, sizeof l);
    std::memcpy(&r, right, sizeof r);
    r = l + r;
    std::memcpy(right, &r, sizeof r);
}

// 2^-20..2^20 times something between 1 and 2, of either sign.
template <class T>
void fill(std::vector<std::byte>& buffer, int rank) {
    Prng random(static_cast<std::uint64_t>(rank) + 1);
    for (std::size_t at = 0; at < buffer.size(); at += sizeof(T)) {
        const auto mantissa = static_cast<double>(random.below(1u << 30)) / (1u << 30) + 1;
        const auto value =
            static_cast<T>(std::ldexp(mantissa, static_cast<int>(random.below(41)) - 20) *
                           (random.one_in(2) ? 1 : -1));
        std::memcpy(buffer.data() + at, &value, sizeof value);
    }
}

weft_status start(weft_comm comm, Collective collective, const Arguments& a, void* send, void* recv,
                  weft_type type, weft_request* request) {
    OwnArguments own{send, recv};
    Call call = call_of(a, collective, own_rank, type, /*as_bytes=*/false, own);
    call.op = WEFT_SUM;
    const weft_call record = call;
    return weft_start_call(&record, WEFT_NONBLOCKING, comm, request);
}

// Whether the association matters: the reference gives other bits without it.
template <class T>
bool expect_right(weft_comm comm, Collective collective, Arguments a, weft_type type) {
    a.element_bytes = sizeof(T);
    a.combine = add<T>;
    AllBuffers before;
    for (int r = 0; r < ranks; ++r) {
        fill<T>(before.send.emplace_back(a.send_elements(r) * sizeof(T)), r);
        fill<T>(before.recv.emplace_back(a.recv_elements(r) * sizeof(T)), ranks + r);
    }
    AllBuffers expected = before;
    a.reproducible = true;
    perform(a, expected);
    AllBuffers otherwise = before;
    a.reproducible = false;
    perform(a, otherwise);

    const auto own = static_cast<std::size_t>(own_rank);
    std::vector<std::byte>& send = before.send[own];
    std::vector<std::byte>& recv = before.recv[own];
    const std::string what = a.collective + " of " + std::to_string(a.count) + " x " +
                             std::to_string(sizeof(T)) + " bytes, root " + std::to_string(a.root) +
                             (a.in_place ? ", in place" : "");
    // Ranks are late in turn.
    usleep(static_cast<useconds_t>(Prng(a.count + own).below(1000)));
    weft_request request = WEFT_REQUEST_NULL;
    constexpr int rounded_alike[] = {0, 4, 5};
    weft::test::set_float_state(rounded_alike[(own_rank + calls++) % 3]);
    must(start(comm, collective, a, send.data(), recv.data(), type, &request), what);
    must(weft_wait(&request), what);
    weft::test::set_float_state(0);
    for (int b = 0; b < a.received(own_rank); ++b) {
        const Place place = a.result(own_rank, b);
        if (place.count == 0) continue;
        const std::size_t begin = place.begin * sizeof(T);
        if (std::memcmp(recv.data() + begin, expected.recv[own].data() + begin,
                        place.count * sizeof(T)) == 0)
            continue;
        std::fprintf(stderr, "rank %d: %s has other bits than the reference\n", own_rank,
                     what.c_str());
        std::exit(1);
    }
    return otherwise.recv != expected.recv;
}

bool expect_all_right(weft_comm comm, std::size_t count) {
    bool matters = true;
    for (std::size_t c = 0; c < collectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        const CollectiveEntry& entry = entry_of(collective);
        if (!entry.reduces) continue;
        for (const bool in_place : {false, true}) {
            Arguments a = {
                .collective = entry.name, .ranks = ranks, .count = count, .in_place = in_place};
            if (entry.has_root && !in_place) a.root = ranks - 1;
            if (entry.differ != Differ::no) {
                for (int r = 0; r < ranks; ++r)
                    a.counts.push_back(count / 2 * static_cast<std::size_t>(1 + r % 3));
            }
            matters &= expect_right<float>(comm, collective, a, WEFT_FLOAT32);
            matters &= expect_right<double>(comm, collective, a, WEFT_FLOAT64);
        }
    }
    return matters;
}

}  // namespace

int main() {
    must(weft_init(), "weft_init");
    must(weft_comm_rank(weft_comm_world(), &own_rank), "weft_comm_rank");
    must(weft_comm_size(weft_comm_world(), &ranks), "weft_comm_size");
    run_here_or_in_fibers([](weft_comm comm) {
        expect_all_right(comm, 1);
        if (!expect_all_right(comm, 1000) && ranks > 4) {
            std::fprintf(stderr, "the order of combination does not matter here\n");
            std::exit(1);
        }
        expect_all_right(comm, 5'003);
    });
    must(weft_finalize(), "weft_finalize");
    return 0;
}
