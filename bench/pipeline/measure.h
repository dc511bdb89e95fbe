// Measures broadcasts along a chain while every rank repeats a fixed computation, and asks after each whether its part
// has ended. Then the same number of computations alone. Contestants take turns within a repetition.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/pipeline/product.h"
#include "bench/pipeline/ways.h"

namespace weft::bench {

struct PipelineContestant {
    std::string name;
    weft_engine engine;  // in force in its turns
    Job job;
    const Rival* rival;  // whose messages it uses; null: Weft's
    Product* product;
    std::function<std::unique_ptr<ChainBcast>(Case& c)> make;
};

// One broadcast.
struct PipelineTurn {
    double time_us = 0;       // from the first rank's start to the last rank's end
    double outside = 0;       // share of the ranks' CPU time that is not the computations'
    double computations = 0;  // of a rank, on average
};

struct PipelineCell {
    std::string name;
    std::int64_t bytes = 0;
    std::string computation;
    std::vector<PipelineTurn> turns;  // by repetition

    std::vector<double> samples(double PipelineTurn::*value) const;
};

struct PipelineEffort {
    int repetitions = 10;
    std::function<void(int repetition)> progress = {};
};

// One cell per contestant. Collective; rank 0 gets the cells. Every result is verified.
std::vector<PipelineCell> measure_pipelines(const Job& job, std::int64_t bytes,
                                            std::span<const PipelineContestant> contestants,
                                            const PipelineEffort& effort);

}  // namespace weft::bench
