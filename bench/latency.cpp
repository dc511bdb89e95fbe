// Broadcast and acknowledgement of 8 bytes, compared with the same messages over plain sockets.
//
// After NBCBench: Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking
// Collective Operations for MPI, 2007, section 4, doi:10.1145/1362622.1362692
#include "bench/latency.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "bench/contestants.h"
#include "bench/join.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/plain/sockets.h"
#include "bench/rivals/latency.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr double bar = 1.3;
constexpr std::size_t payload_bytes = 8;
constexpr std::size_t header_bytes = 16;  // the library's, over tcp
constexpr int trips = 200;                // in a turn

void bcast(const Job& job, char* data, int root) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_ibcast(data, payload_bytes, WEFT_BYTE, root, job.comm, &request), "weft_ibcast");
    must(weft_wait(&request), "weft_wait");
}

// The median duration of a trip, in microseconds.
template <class Trip>
double median_us(const Job& job, Trip trip) {
    must(weft_barrier(job.comm), "weft_barrier");
    std::vector<double> samples;
    for (int i = 0; i < trips; ++i) {
        const std::int64_t begin = now_ns();
        trip();
        samples.push_back(static_cast<double>(now_ns() - begin) / 1000);
    }
    return median(samples);
}

double library_us(const Job& job) {
    char data[payload_bytes] = {};
    return median_us(job, [&] {
        bcast(job, data, 0);
        bcast(job, data, 1);
    });
}

double plain_us(const Job& job, PlainSockets& sockets) {
    std::array<std::byte, header_bytes + payload_bytes> message{};
    return median_us(job, [&] {
        if (job.rank == 0) sockets.send_spinning(message);
        sockets.recv_spinning(message);
        if (job.rank == 1) sockets.send_spinning(message);
    });
}

int run_rank(const LatencyOptions& options, const std::vector<Engine>& engines) {
    bind_rank(options.testbed);
    const Job job = join_job(options.testbed.ranks);
    if (Rival::of_this_job() != nullptr) {
        measure_rival_latency(job, engines, options.testbed, options.repetitions);
        leave_job();
        return 0;
    }
    PlainSockets sockets(job);
    Table table({"engine", "library us", "sockets us", "ratio", "bar", ""});
    const std::vector<Contestant> chosen = contestants(job, engines);
    for (const Contestant& contestant : chosen) {
        switch_engine(job, contestant.engine.value);
        std::vector<double> library, plain, ratio;
        for (int i = -1; i < options.repetitions; ++i) {
            const double ours = library_us(contestant.job);
            const double theirs = plain_us(job, sockets);
            if (i < 0) continue;
            library.push_back(ours);
            plain.push_back(theirs);
            ratio.push_back(ours / theirs);
        }
        const double typical = median(ratio);
        table.add({contestant.engine.name, fixed(median(library), 2), fixed(median(plain), 2),
                   fixed(typical, 2), "<= 1.3", typical <= bar ? "met" : "missed"});
    }
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        std::printf(
            "Broadcast and acknowledgement of %zu bytes, start + wait, over %s: %s, median of %d "
            "times %d.\nsockets: the same bytes and a header of %zu over nonblocking sockets that "
            "spin, in turn with the library.\n\n",
            payload_bytes, over.c_str(), description(options.testbed).c_str(), options.repetitions,
            trips, header_bytes);
        table.print(stdout);
    }
    print_offload(job, chosen);
    print_links(job, options.testbed);
    leave_job();
    return 0;
}

}  // namespace

int bench_latency(const LatencyOptions& options) {
    if (options.testbed.ranks != 2) {
        std::fprintf(stderr, "weft bench latency: --ranks %d; expected 2\n", options.testbed.ranks);
        return 2;
    }
    const Result<std::vector<Engine>> engines = find_engines(options.engines);
    if (!engines.is_ok() || !check(options.against, options.testbed).is_ok()) {
        std::fprintf(stderr, "weft bench latency: %s\n", last_detail());
        return 2;
    }
    if (is_rank()) return run_rank(options, *engines);
    std::vector<std::string> words = {"bench", "latency", "--repetitions",
                                      std::to_string(options.repetitions)};
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    const Launch job{options.testbed, words};
    return options.against.is_wanted() ? launch_against(options.against, job) : launch(job);
}

}  // namespace weft::bench
