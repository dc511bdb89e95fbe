// Data-parallel training: every rank has a part of each batch, and gradients are summed in buckets
// while the backward pass computes the others, and while the next forward pass begins.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/training/network.h"

namespace apps::training {
namespace {

struct Options {
    int inputs = 256, width = 256, layers = 4, classes = 10;
    int rows = 32, steps = 4, bucket_kib = 128, early = 50;
    double rate = 0.05;
    bool tune = false;
};

// Some gradients that are summed together.
struct Bucket {
    std::size_t begin, end;
    bool is_early;  // travels as soon as it is finished
    Request sum;
    bool is_applied = true;
};

class Training {
  public:
    Training(App& app, const Options& options)
        : app_(app),
          world_(app.exchange()),
          options_(options),
          network_(widths(), app.seed()),
          first_weights_(network_.weights()) {
        for (int step = 0; step < options.steps; ++step)
            batches_.push_back(batch_of(step, world_.rank(), 1));
        hooks_.needed = [this](std::size_t begin, std::size_t end) { apply(begin, end); };
        hooks_.finished = [this](std::size_t count) { take(count); };
        hooks_.pause = [this] { test(); };
    }

    std::size_t bytes() { return network_.gradients().size() * sizeof(float); }

    // All steps, from the same weights.
    void train() {
        network_.weights() = first_weights_;
        losses_.clear();
        cut();
        for (const Batch& batch : batches_) {
            app_.phase("forward", App::hides);
            losses_.push_back(network_.forward(batch, hooks_));
            app_.phase("backward", App::hides);
            started_.clear();
            network_.backward(batch, hooks_);
            for (Bucket* const bucket : late_) start(*bucket);
        }
        app_.phase("last sums", App::hides_nothing);
        apply(0, network_.weights().size());
    }

    // One rank trains by itself, with all examples, once.
    void check() {
        world_.iallreduce_in_place(losses_, weft::sum).wait();
        if (world_.rank() == 0 && expected_.empty()) train_alone();
        const double rows = static_cast<double>(options_.rows) * world_.ranks();
        for (std::size_t step = 0; step < expected_.size(); ++step) {
            const double error = std::abs(losses_[step] - expected_[step]);
            if (!(error <= tolerance * expected_[step]))
                fail("the loss after %zu steps is %.8g; one process by itself has %.8g", step,
                     losses_[step] / rows, expected_[step] / rows);
        }
        app_.note("first loss", losses_.front() / rows);
        app_.note("last loss", losses_.back() / rows);
    }

  private:
    // Numbers of 32 bits are summed in another order.
    static constexpr double tolerance = 1e-3;

    // --- What the passes call ---

    // So many gradients are finished. The early buckets among them begin to travel.
    void take(std::size_t count) {
        for (; finished_ < buckets_.size() && buckets_[finished_].end <= count; ++finished_)
            if (buckets_[finished_].is_early) start(buckets_[finished_]);
        if (count == network_.gradients().size()) finished_ = 0;
    }

    void start(Bucket& bucket) {
        bucket.is_applied = false;
        bucket.sum = world_.iallreduce_in_place(
            std::span(network_.gradients()).subspan(bucket.begin, bucket.end - bucket.begin),
            weft::sum);
        started_.push_back(&bucket);
    }

    // Changes these weights, when their sums are there.
    void apply(std::size_t begin, std::size_t end) {
        const auto rate = static_cast<float>(options_.rate / (options_.rows * world_.ranks()));
        for (Bucket& bucket : buckets_) {
            if (bucket.is_applied || bucket.end <= begin || bucket.begin >= end) continue;
            bucket.sum.wait();
            bucket.is_applied = true;
            for (std::size_t i = bucket.begin; i < bucket.end; ++i)
                network_.weights()[i] -= rate * network_.gradients()[i];
        }
    }

    void test() {
        if (app_.tests() == 0) return;
        const std::size_t interval =
            std::max<std::size_t>(1, network_.pauses() / static_cast<std::size_t>(app_.tests()));
        if (++pauses_ % interval != 0) return;
        for (Bucket* const bucket : started_)
            if (!bucket->sum.test()) break;  // the next ones are behind it
    }

    // Cuts the gradients into buckets, in the order in which they are finished: those of each layer
    // by themselves, the last layer's first. The first of each layer are early ones, of the first
    // layer all. The late ones go in the order in which the forward pass needs them.
    void cut() {
        const std::size_t size =
            static_cast<std::size_t>(options_.bucket_kib) * 1024 / sizeof(float);
        const std::vector<Network::Range> layers = network_.layers();
        buckets_.clear();
        for (std::size_t l = layers.size(); l-- > 0;) {
            const auto [first, last] = layers[l];
            const std::size_t early = (last - first) * static_cast<std::size_t>(options_.early);
            for (std::size_t begin = first; begin < last;) {
                // (Biases do not travel alone: the last one is longer by up to a half.)
                const std::size_t end = last - begin < size + size / 2 ? last : begin + size;
                buckets_.push_back({begin, end, l == 0 || (end - first) * 100 <= early, {}});
                begin = end;
            }
        }
        late_.clear();
        for (const auto& [first, last] : layers)
            for (Bucket& bucket : buckets_)
                if (!bucket.is_early && bucket.begin >= first && bucket.end <= last)
                    late_.push_back(&bucket);
    }

    // --- The problem ---

    void train_alone() {
        Network network(widths(), app_.seed());
        for (int step = 0; step < options_.steps; ++step) {
            const Batch whole = batch_of(step, 0, world_.ranks());
            expected_.push_back(network.forward(whole, {}));
            network.backward(whole, {});
            const auto rate = static_cast<float>(options_.rate / static_cast<double>(whole.rows));
            for (std::size_t i = 0; i < network.weights().size(); ++i)
                network.weights()[i] -= rate * network.gradients()[i];
        }
    }

    std::vector<std::size_t> widths() const {
        std::vector<std::size_t> widths = {static_cast<std::size_t>(options_.inputs)};
        for (int layer = 1; layer < options_.layers; ++layer)
            widths.push_back(static_cast<std::size_t>(options_.width));
        widths.push_back(static_cast<std::size_t>(options_.classes));
        return widths;
    }

    // The part of some ranks. Each class sums some of the inputs: an example's has the largest sum.
    Batch batch_of(int step, int first_rank, int ranks) const {
        Batch made;
        const auto inputs = static_cast<std::size_t>(options_.inputs);
        const auto classes = static_cast<std::size_t>(options_.classes);
        for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
            Random random(app_.seed() * 1000003 + static_cast<std::uint64_t>(step) * 4099 +
                          static_cast<std::uint64_t>(rank));
            for (int row = 0; row < options_.rows; ++row, ++made.rows) {
                std::vector<double> sums(classes);
                for (std::size_t i = 0; i < inputs; ++i) {
                    const double value = 2 * random.uniform() - 1;
                    made.inputs.push_back(static_cast<float>(value));
                    sums[i % classes] += value;
                }
                made.classes.push_back(
                    static_cast<int>(std::ranges::max_element(sums) - sums.begin()));
            }
        }
        return made;
    }

    App& app_;
    Exchange& world_;
    const Options& options_;
    Network network_;
    const std::vector<float> first_weights_;
    Hooks hooks_;
    std::vector<Batch> batches_;
    std::vector<Bucket> buckets_;  // in the order in which the backward pass finishes them
    std::vector<Bucket*> late_, started_;
    std::size_t finished_ = 0;  // buckets, in the backward pass
    std::size_t pauses_ = 0;
    std::vector<double> losses_, expected_;  // by step, summed over examples
};

}  // namespace
}  // namespace apps::training

int main(int argc, char** argv) {
    using namespace apps;
    training::Options options;
    App app("training",
            "Data-parallel training of a small network: buckets of gradients are summed while the "
            "backward pass computes the others");
    app.option("--inputs", options.inputs, "Numbers of an example");
    app.option("--width", options.width, "Outputs of each layer but the last");
    app.option("--layers", options.layers, "Layers");
    app.option("--classes", options.classes, "Outputs of the last layer");
    app.option("--rows", options.rows, "Examples of a rank in each step");
    app.option("--steps", options.steps, "Steps of a repetition, from the same weights");
    app.option("--bucket", options.bucket_kib, "KiB of gradients that are summed together");
    app.option(
        "--early", options.early,
        "Percent of each layer's gradients that travel as soon as they are finished (of the first "
        "layer all do), the others after the backward pass, in the order in which the next forward "
        "pass needs them");
    app.option("--rate", options.rate, "The learning rate");
    app.flag("--tune", options.tune, "Find the fastest --bucket and --early first");
    app.parse(argc, argv);
    for (const int count : {options.inputs, options.width, options.layers, options.classes,
                            options.rows, options.steps, options.bucket_kib})
        if (count < 1) fail("expected at least 1 of everything");
    training::Training training(app, options);
    const auto run = [&] { training.train(); };
    if (options.tune)
        app.tune({{"--bucket", &options.bucket_kib, {64, 128, 256, 512}},
                  {"--early", &options.early, {100, 75, 50, 25}}},
                 run);
    app.measure(training.bytes(), run, [&] { training.check(); });
}
