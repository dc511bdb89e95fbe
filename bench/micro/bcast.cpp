// A broadcast of 1 MiB to one other rank, compared with other ways to move the same bytes.
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/micro/ring_copy.h"
#include "bench/micro/rows.h"
#include "bench/micro/shared.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

constexpr std::size_t bytes = 1 << 20;
constexpr double bar = 1.5;  // ring copies

struct Buffers {
    Job job;
    RingCopy& ring;
    PageBuffer data{bytes};  // rank 0: the source; rank 1: the destination
    PageBuffer expected{bytes};
    struct {
        pid_t process;
        void* address;
    } source{};  // rank 0's data, for process_vm_readv
};

// A way to move rank 0's data to rank 1. False: this machine does not allow it.
struct Way {
    const char* what;
    const char* engine;  // "": none
    weft_engine value;
    bool (*move)(Buffers&);
};

bool bcast(Buffers& b) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_ibcast(b.data.data(), bytes, WEFT_BYTE, 0, b.job.comm, &request), "weft_ibcast");
    must(weft_wait(&request), "weft_wait");
    return true;
}

bool ring_copy(Buffers& b) {
    if (b.job.rank == 0) {
        b.ring.write(b.data.as<std::byte>());
    } else {
        b.ring.read(b.data.as<std::byte>());
    }
    return true;
}

bool local_copy(Buffers& b) {
    if (b.job.rank == 1) std::memcpy(b.data.data(), b.expected.data(), bytes);
    return true;
}

bool kernel_copy(Buffers& b) {
    if (b.job.rank == 0) return true;
    const iovec into{b.data.data(), bytes};
    const iovec from{b.source.address, bytes};
    return process_vm_readv(b.source.process, &into, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

constexpr Way ways[] = {
    {"memcpy within rank 1", "", WEFT_ENGINE_MANUAL, local_copy},
    {"process_vm_readv", "", WEFT_ENGINE_MANUAL, kernel_copy},
    {"ring copy by hand", "", WEFT_ENGINE_MANUAL, ring_copy},
    {"bcast of 1 MiB, start + wait", "manual", WEFT_ENGINE_MANUAL, bcast},
    {"bcast of 1 MiB, start + wait", "thread", WEFT_ENGINE_THREAD, bcast},
};
constexpr std::size_t ring_way = 2;

// This rank's time; negative if the way is not allowed.
double time_us(Buffers& b, const Way& way, std::uint64_t seed) {
    must(weft_set_engine(way.value), "weft_set_engine");
    // An engine's thread starts with the first operation that may need it.
    if (way.move == bcast) bcast(b);
    fill_pattern(b.expected.as<std::uint8_t>(), 0, seed);
    if (b.job.rank == 0) {
        std::memcpy(b.data.data(), b.expected.data(), bytes);
    } else {
        std::memset(b.data.data(), 0xff, bytes);
    }
    must(weft_barrier(b.job.comm), "weft_barrier");
    const std::int64_t begin = now_ns();
    const bool moved = way.move(b);
    const std::int64_t end = now_ns();
    must(weft_barrier(b.job.comm), "weft_barrier");  // the bytes may be read until then
    if (!moved) return -1;
    if (std::memcmp(b.data.data(), b.expected.data(), bytes) != 0) {
        fail("rank %d: %s: wrong bytes arrived", b.job.rank, way.what);
    }
    return static_cast<double>(end - begin) / 1000;
}

// The slower rank's times of one way; empty if it is not allowed.
std::vector<double> merge_ranks(const Job& job, const std::vector<double>& mine) {
    const std::vector<double> all = gather(job, mine);
    std::vector<double> merged;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (all[i] < 0 || all[i + mine.size()] < 0) return {};
        merged.push_back(std::max(all[i], all[i + mine.size()]));
    }
    return merged;
}

}  // namespace

MicroRows measure_bcast(const Job& job, int repetitions) {
    // If the system restricts tracing to descendants, a rank must admit its peer.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    SharedMemory memory(job, sizeof(RingCopy));
    Buffers buffers{.job = job, .ring = *memory.at<RingCopy>(0)};
    buffers.source = {getpid(), buffers.data.data()};
    must(weft_bcast(&buffers.source, sizeof buffers.source, WEFT_BYTE, 0, job.comm), "weft_bcast");

    std::vector<double> samples[std::size(ways)];
    for (int i = -2; i < repetitions; ++i) {
        for (std::size_t w = 0; w < std::size(ways); ++w) {
            const double time = time_us(buffers, ways[w], static_cast<std::uint64_t>(i + 2));
            if (i >= 0) samples[w].push_back(time);  // the first two are warm-up
        }
    }
    for (auto& way : samples) way = merge_ranks(job, way);
    const double ring = median(samples[ring_way]);
    MicroRows rows;
    for (std::size_t w = 0; w < std::size(ways); ++w) {
        if (samples[w].empty()) {
            rows.push_back(
                {.what = ways[w].what + std::string(": not permitted here"), .unit = "us"});
            continue;
        }
        const double value = median(samples[w]);
        rows.push_back(
            {.what = ways[w].what, .engine = ways[w].engine, .value = value, .unit = "us"});
        if (ways[w].move != bcast) continue;
        rows.push_back({"  in ring copies", ways[w].engine, value / ring, "x", bar, "<= 1.5 x"});
    }
    return rows;
}

}  // namespace weft::bench
