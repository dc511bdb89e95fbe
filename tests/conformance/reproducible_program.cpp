// Reductions of floating-point numbers of very different magnitude, with WEFT_REPRODUCIBLE=1, on communicators with each
// of these settings: [SETTINGS...]. Every rank ends with status 1 and a sentence if a result is not that of the
// reference, bit for bit. Ranks round in different ways meanwhile.
#include <unistd.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "conformance/in_fibers.h"
#include "reduce/half.h"
#include "support/any_call.h"
#include "support/float_states.h"

namespace {

using weft::Collective;
using weft::collectives;
using weft::Prng;
using namespace weft::test;

int calls = 0;

struct Bfloat {
    std::uint16_t bits;

    Bfloat() = default;
    explicit Bfloat(float value) : bits(weft::Bfloat16::narrow<weft::RoundTo::nearest>(value)) {}
    operator float() const { return weft::Bfloat16::widen(bits); }
};

template <class T>
void add(const std::byte* left, std::byte* right) {
    T l;
    T r;
    std::memcpy(&l, left, sizeof l);
    std::memcpy(&r, right, sizeof r);
    r = static_cast<T>(l + r);
    std::memcpy(right, &r, sizeof r);
}

// What T is made of.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// 2^-20..2^20 times something between 1 and 2, of either sign.
template <class T>
T value(int rank, const Place& place, std::size_t i) {
    const int buffer = rank + (place.is_in_recv ? world_size : 0);
    Prng random(static_cast<std::uint64_t>(buffer + 1) * 1'000'003 + place.begin + i);
    const auto mantissa = static_cast<double>(random.below(1u << 30)) / (1u << 30) + 1;
    const double number = std::ldexp(mantissa, static_cast<int>(random.below(41)) - 20);
    return static_cast<T>(static_cast<Wide<T>>(random.one_in(2) ? number : -number));
}

// What a rank has there before the call.
template <class T>
std::vector<std::byte> values(int rank, const Place& place) {
    std::vector<std::byte> all(place.count * sizeof(T));
    for (std::size_t i = 0; i < place.count; ++i) {
        const T one = value<T>(rank, place, i);
        std::memcpy(all.data() + i * sizeof one, &one, sizeof one);
    }
    return all;
}

weft_status start(weft_comm comm, Collective collective, const Arguments& a, void* send, void* recv,
                  weft_type type, weft_request* request) {
    OwnArguments own{send, recv};
    Call call = call_of(a, collective, world_rank, type, /*as_bytes=*/false, own);
    call.op = WEFT_SUM;
    const weft_call record = call;
    return weft_start_call(&record, WEFT_NONBLOCKING, comm, request);
}

// Whether the association matters, as a rank finds that has a result of all ranks: the reference gives other bits without it.
template <class T>
bool expect_right(weft_comm comm, Collective collective, Arguments a, weft_type type) {
    a.element_bytes = sizeof(T);
    a.combine = add<T>;
    std::vector<std::byte> send = values<T>(world_rank, {false, 0, a.send_elements(world_rank)});
    std::vector<std::byte> recv = values<T>(world_rank, {true, 0, a.recv_elements(world_rank)});
    std::vector<std::byte> expected = recv;
    std::vector<std::byte> otherwise = recv;
    perform(a, world_rank, values<T>, otherwise);
    a.reproducible = true;
    perform(a, world_rank, values<T>, expected);

    const std::string what = a.collective + " of " + std::to_string(a.count) + " x " +
                             std::to_string(sizeof(T)) + " bytes, root " + std::to_string(a.root) +
                             (a.in_place ? ", in place, " : ", ") + setting;
    // Ranks are late in turn.
    usleep(static_cast<useconds_t>(Prng(a.count + static_cast<unsigned>(world_rank)).below(1000)));
    weft_request request = WEFT_REQUEST_NULL;
    constexpr int rounded_alike[] = {0, 4, 5};
    weft::test::set_float_state(rounded_alike[(world_rank + calls++) % 3]);
    if (start(comm, collective, a, send.data(), recv.data(), type, &request) != WEFT_OK ||
        weft_wait(&request) != WEFT_OK)
        fail(__LINE__, what.c_str());
    weft::test::set_float_state(0);
    for (int b = 0; b < a.received(world_rank); ++b) {
        const Place place = a.result(world_rank, b);
        const std::size_t begin = place.begin * sizeof(T);
        if (place.count > 0 &&
            std::memcmp(recv.data() + begin, expected.data() + begin, place.count * sizeof(T)) != 0)
            fail(__LINE__, ("that it has the bits of the reference: " + what).c_str());
    }
    const int judge = entry_of(collective).has_root ? a.root : world_size - 1;
    return world_rank != judge || otherwise != expected;
}

bool expect_all_right(weft_comm comm, std::size_t count) {
    bool matters = true;
    for (std::size_t c = 0; c < collectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        const CollectiveEntry& entry = entry_of(collective);
        if (!entry.reduces) continue;
        for (const bool in_place : {false, true}) {
            Arguments a = {.collective = entry.name,
                           .ranks = world_size,
                           .count = count,
                           .in_place = in_place};
            if (entry.has_root && !in_place) a.root = world_size - 1;
            if (entry.differ != Differ::no) {
                for (int r = 0; r < world_size; ++r)
                    a.counts.push_back(count / 2 * static_cast<std::size_t>(1 + r % 3));
            }
            matters &= expect_right<float>(comm, collective, a, WEFT_FLOAT32);
            matters &= expect_right<double>(comm, collective, a, WEFT_FLOAT64);
            matters &= expect_right<Bfloat>(comm, collective, a, WEFT_BFLOAT16);
        }
    }
    return matters;
}

}  // namespace

int main(int argc, char** argv) {
    join_job();
#if defined(__x86_64__)
    // Ranks combine by different versions of the loops.
    const char* const versions[] = {"portable", "avx2", "avx512", "avx512_bf16"};
    setenv("WEFT_HOOK_LOOPS", versions[world_rank % 4], 1);
#endif
    run_here_or_in_fibers([&](weft_comm world) {
        for (int i = 0; i < argc; ++i) {
            weft_comm comm = WEFT_COMM_NULL;
            setting = i == 0 ? "" : argv[i];  // "": the library's choice
            EXPECT(weft_comm_dup_with(world, setting, &comm) == WEFT_OK);
            expect_all_right(comm, 1);
            const bool order_matters = expect_all_right(comm, 1000);
            EXPECT(order_matters || world_size <= 4);
            expect_all_right(comm, 5'003);
            EXPECT(weft_comm_free(&comm) == WEFT_OK);
        }
    });
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
