#include "bench/run/computation.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "bench/player/mpi.h"
#include "bench/sleep.h"
#include "bench/statistics.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

// A product of two small matrices of float64.
void product() {
    constexpr std::size_t n = 64;
    static std::vector<double> a(n * n, 1.5), b(n * n, 0.5), c(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
            const double factor = a[i * n + k];
            for (std::size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
        }
    }
    asm volatile("" : : "g"(c.data()) : "memory");
}

// Stays inside the operating system, which gives it 32 MiB of pages.
void populate() {
    constexpr std::size_t bytes = std::size_t{32} << 20;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) fail("mmap of 32 MiB: %s", std::strerror(errno));
    munmap(memory, bytes);
}

double us_of(void (*step)()) {
    std::vector<double> samples;
    for (int i = 0; i < 5; ++i) {
        const std::int64_t begin = now_ns();
        step();
        samples.push_back(static_cast<double>(now_ns() - begin) / 1000);
    }
    return median(samples);
}

// On this rank.
double step_us_of(Compute::What what) {
    // Its thread of asynchronous progress may run already: this was measured before.
    if (const Mpi* mpi = Mpi::of_this_job(); mpi && what == Compute::What::loop)
        return mpi->ns_per_iteration() / 1000;
    switch (what) {
        case Compute::What::loop: return calibrate_ns_per_iteration() / 1000;
        case Compute::What::product: return us_of(product);
        case Compute::What::mmap: return us_of(populate);
        case Compute::What::sleep:
        case Compute::What::spinner: break;
    }
    return 0.001;
}

}  // namespace

double Computation::calibrate_step_us(const Job& job, Compute::What what) {
    // Ranks may share a core, and then some measure too long a time: the fastest is right.
    const std::vector<double> steps = gather(job, std::vector<double>{step_us_of(what)});
    return *std::ranges::min_element(steps);
}

Computation::Computation(Compute::What what, double us, double step_us)
    : what_(what),
      steps_(std::max<std::int64_t>(static_cast<std::int64_t>(std::llround(us / step_us)), 1)) {}

void Computation::run(int index, int pieces) const {
    const std::int64_t steps = steps_ * (index + 1) / pieces - steps_ * index / pieces;
    switch (what_) {
        case Compute::What::loop: return work(steps);
        case Compute::What::product:
            for (std::int64_t i = 0; i < steps; ++i) product();
            return;
        case Compute::What::mmap:
            for (std::int64_t i = 0; i < steps; ++i) populate();
            return;
        case Compute::What::sleep:
        case Compute::What::spinner: return sleep_until(now_ns() + steps);
    }
}

}  // namespace weft::bench
