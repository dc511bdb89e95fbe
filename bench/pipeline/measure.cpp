// The measuring loop.
#include "bench/pipeline/measure.h"

#include <algorithm>

#include "base/clock.h"

namespace weft::bench {
namespace {

// One rank's part in a broadcast. Clocks are the machine's.
struct PipelineMoments {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    double cpu_s = 0;  // of all threads
    double alone_cpu_s = 0;
    std::int64_t computations = 0;
};

// One contestant, and one size.
class PipelineRunner {
  public:
    PipelineRunner(const Job& job, const PipelineContestant& contestant, std::int64_t bytes)
        : job_(job),
          contestant_(contestant),
          product_(*contestant.product),
          case_(make_case(contestant.job, ibcast_, bytes)),
          way_(contestant.make(case_)) {}

    PipelineTurn turn() {
        switch_engine(job_, contestant_.engine);
        ibcast_.fill(case_, ++seed_);
        barrier();
        PipelineMoments mine;
        way_->surround([&] { run(mine); });
        // (The last of an MPI's messages may need its calls.)
        barrier();
        verify(ibcast_, case_);
        const double begin_s = cpu_seconds();
        for (std::int64_t i = 0; i < mine.computations; ++i) product_.compute();
        mine.alone_cpu_s = cpu_seconds() - begin_s;
        switch_engine(job_, WEFT_ENGINE_MANUAL);
        return put_together(gather(job_, std::vector<PipelineMoments>{mine}));
    }

  private:
    void barrier() {
        if (contestant_.rival) contestant_.rival->barrier();
        must(weft_barrier(job_.comm), "weft_barrier");
    }

    void run(PipelineMoments& mine) {
        const double begin_s = cpu_seconds();
        mine.begin_ns = now_ns();
        way_->start();
        way_->compute([&] {
            do {
                product_.compute();
                ++mine.computations;
            } while (!way_->query());
        });
        mine.end_ns = now_ns();
        mine.cpu_s = cpu_seconds() - begin_s;
    }

    static PipelineTurn put_together(std::span<const PipelineMoments> all) {
        std::int64_t begin_ns = all[0].begin_ns;
        std::int64_t end_ns = all[0].end_ns;
        double cpu_s = 0;
        double alone_cpu_s = 0;
        double computations = 0;
        for (const PipelineMoments& one : all) {
            begin_ns = std::min(begin_ns, one.begin_ns);
            end_ns = std::max(end_ns, one.end_ns);
            cpu_s += one.cpu_s;
            alone_cpu_s += one.alone_cpu_s;
            computations += static_cast<double>(one.computations);
        }
        return {static_cast<double>(end_ns - begin_ns) / 1000, (cpu_s - alone_cpu_s) / cpu_s,
                computations / static_cast<double>(all.size())};
    }

    const Collective& ibcast_ = **find_collective("ibcast");
    const Job job_;
    const PipelineContestant& contestant_;
    Product& product_;
    Case case_;
    std::unique_ptr<ChainBcast> way_;
    std::uint64_t seed_ = 0;
};

}  // namespace

std::vector<double> PipelineCell::samples(double PipelineTurn::*value) const {
    std::vector<double> all;
    for (const PipelineTurn& turn : turns) all.push_back(turn.*value);
    return all;
}

std::vector<PipelineCell> measure_pipelines(const Job& job, std::int64_t bytes,
                                            std::span<const PipelineContestant> contestants,
                                            const PipelineEffort& effort) {
    std::vector<std::unique_ptr<PipelineRunner>> runners;
    std::vector<PipelineCell> cells;
    for (const PipelineContestant& one : contestants) {
        runners.push_back(std::make_unique<PipelineRunner>(job, one, bytes));
        cells.push_back({one.name, bytes, one.product->name(), {}});
    }
    // The first time opens connections and touches pages.
    for (int repetition = -1; repetition < effort.repetitions; ++repetition) {
        for (std::size_t i = 0; i < runners.size(); ++i) {
            const PipelineTurn turn = runners[i]->turn();
            if (repetition >= 0) cells[i].turns.push_back(turn);
        }
        if (effort.progress) effort.progress(repetition);
    }
    return cells;
}

}  // namespace weft::bench
