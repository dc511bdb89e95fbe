// Starts of 8 bytes while another thread of the rank reduces 64 MiB.
#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/engine_kind.h"
#include "bench/collective/collective.h"
#include "bench/micro/rows.h"
#include "bench/sleep.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

constexpr std::size_t reduced_bytes = 64 << 20;
constexpr int starts_of_repetition = 10;
constexpr std::int64_t pause_ns = 100'000;
constexpr double bar_us = 300;

// Reduces until all ranks have been told to stop.
class Reducer {
  public:
    explicit Reducer(const Job& job) {
        must(weft_comm_dup(job.comm, &comm_), "weft_comm_dup");
        std::memset(from_.data(), 0, reduced_bytes);
        reduce_once();  // touches the pages
        thread_ = std::thread([this] {
            std::int32_t stops = 0;
            while (stops == 0) {
                reduce_once();
                const std::int32_t mine = stops_;
                must(weft_allreduce(&mine, &stops, 1, WEFT_INT32, WEFT_MAX, comm_),
                     "weft_allreduce");
            }
        });
    }
    ~Reducer() {
        stops_ = 1;
        thread_.join();
        weft_comm_free(&comm_);
    }

  private:
    void reduce_once() {
        must(weft_allreduce(from_.data(), into_.data(), reduced_bytes / sizeof(double),
                            WEFT_FLOAT64, WEFT_SUM, comm_),
             "weft_allreduce");
    }

    weft_comm comm_ = WEFT_COMM_NULL;
    PageBuffer from_{reduced_bytes};
    PageBuffer into_{reduced_bytes};
    std::atomic<std::int32_t> stops_{0};
    std::thread thread_;
};

}  // namespace

MicroRows measure_start_beside(const Job& job, int repetitions) {
    MicroRows rows;
    for (const EngineKind engine : {EngineKind::manual, EngineKind::thread}) {
        must(weft_set_engine(static_cast<weft_engine>(engine)), "weft_set_engine");
        std::vector<double> samples;
        {
            const Reducer reducer(job);
            for (int i = 0; i < starts_of_repetition * repetitions; ++i) {
                char data[8] = {};
                weft_request request = WEFT_REQUEST_NULL;
                const std::int64_t begin = now_ns();
                must(weft_ibcast(data, sizeof data, WEFT_BYTE, 0, job.comm, &request),
                     "weft_ibcast");
                samples.push_back(static_cast<double>(now_ns() - begin) / 1000);
                must(weft_wait(&request), "weft_wait");
                sleep_until(now_ns() + pause_ns);
            }
        }
        const std::string name = traits(engine).name;
        rows.push_back({.what = "start of 8 bytes beside a reduction of 64 MiB",
                        .engine = name,
                        .value = slowest(job, median(samples)),
                        .unit = "us"});
        rows.push_back({"  99th percentile", name, slowest(job, quantile(samples, 0.99)), "us",
                        bar_us, "<= 300 us"});
    }
    must(weft_set_engine(WEFT_ENGINE_MANUAL), "weft_set_engine");
    return rows;
}

}  // namespace weft::bench
