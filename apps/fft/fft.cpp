// A three-dimensional Fourier transform and the one back. Planes are exchanged while the next ones
// are transformed.
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/fft/transform.h"

namespace apps::fft {
namespace {

struct Options {
    int nx = 64, ny = 0, nz = 0;  // 0: as nx
    std::string decomposition = "slab";
    int planes = 4, window = 2, late = 33;
    bool tune = false;
};

// So many points are also transformed by one rank alone.
constexpr std::size_t serial_max = 64 * 64 * 64;

std::size_t to_size(int value) { return static_cast<std::size_t>(value); }

// Rows of the grid of ranks: the smallest divisor that is at least the square root (3 x 1, 4 x 2).
int rows_of(int ranks) {
    int rows = 1;
    while (rows * rows < ranks || ranks % rows != 0) ++rows;
    return rows;
}

class Problem {
  public:
    Problem(App& app, const Options& options)
        : app_(app),
          all_(app.exchange()),
          rows_(options.decomposition == "slab" ? 1 : rows_of(all_.ranks())),
          columns_(all_.ranks() / rows_),
          ab_(all_.split(all_.rank() % columns_)),
          bc_(all_.split(all_.rank() / columns_)),
          lengths_{to_size(options.nx), to_size(options.ny > 0 ? options.ny : options.nx),
                   to_size(options.nz > 0 ? options.nz : options.nx)} {
        expect_multiple("x", lengths_.a, rows_);
        expect_multiple("y", lengths_.b, rows_);
        expect_multiple("y", lengths_.b, columns_);
        expect_multiple("z", lengths_.c, columns_);
        const std::size_t lines = lengths_.b / to_size(rows_);
        const std::size_t planes = lengths_.c / to_size(columns_);
        for (std::size_t z = 0; z < planes; ++z)
            for (std::size_t y = 0; y < lines; ++y)
                for (std::size_t x = 0; x < lengths_.a; ++x)
                    in_.push_back(input(index(x, to_size(ab_.rank()) * lines + y,
                                              to_size(bc_.rank()) * planes + z)));
        waves_.resize(in_.size());
        back_.resize(in_.size());
        if (points() <= serial_max) transform_alone();
    }

    std::size_t points() const { return lengths_.a * lengths_.b * lengths_.c; }

    // There and back. Plans are made when the settings have changed.
    void run(int planes, int window, int late) {
        const Tuning tuning = {to_size(planes), to_size(window), to_size(late)};
        if (!forward_ || !(tuning == tuning_)) {
            tuning_ = tuning;
            forward_.emplace(app_, lengths_, ab_, bc_, FFTW_FORWARD, tuning);
            make_backward();
        }
        forward_->run(in_.data(), waves_.data());
        backward_->run(waves_.data(), back_.data());
    }

    // There and back gives the input times the number of points; the energy is the same (Parseval);
    // a small problem's waves are those that one rank computes alone.
    void check() {
        const auto n = static_cast<double>(points());
        std::array<double, 2> energy = {};
        for (std::size_t i = 0; i < in_.size(); ++i) {
            const double error = std::abs(back_[i] / n - in_[i]);
            if (!(error < 1e-12)) fail("there and back, element %zu is wrong by %g", i, error);
            energy[0] += std::norm(in_[i]);
            energy[1] += std::norm(waves_[i]) / n;
        }
        all_.iallreduce_in_place(energy, weft::sum).wait();
        if (!(std::abs(energy[1] - energy[0]) < 1e-10 * energy[0]))
            fail("the energy is %.17g; expected %.17g", energy[1], energy[0]);
        for (std::size_t i = 0; i < expected_.size(); ++i) {
            const double error = std::abs(waves_[i] - expected_[i]);
            if (!(error < 1e-9)) fail("wave %zu is wrong by %g", i, error);
        }
    }

  private:
    static void expect_multiple(const char* name, std::size_t length, int ranks) {
        if (length == 0 || length % to_size(ranks) != 0)
            fail("%zu points along %s; expected a multiple of %d, the ranks that share them",
                 length, name, ranks);
    }

    std::size_t index(std::size_t x, std::size_t y, std::size_t z) const {
        return (z * lengths_.b + y) * lengths_.a + x;
    }
    Complex input(std::size_t point) const {
        Random random(app_.seed() + point);
        const double real = random.uniform() - 0.5;
        return {real, random.uniform() - 0.5};
    }

    // The way back is the same, too: of slabs the lines along x and z are whole, so that y comes last.
    // Of pencils only those along z are: z, y and x, with the groups in the other order.
    void make_backward() {
        const auto [x, y, z] = lengths_;
        if (rows_ > 1) {
            backward_.emplace(app_, Transform::Lengths{z, y, x}, bc_, ab_, FFTW_BACKWARD, tuning_);
            return;
        }
        const std::size_t ys = y / to_size(columns_);
        backward_.emplace(app_, Transform::Lengths{x, z, y}, ab_, bc_, FFTW_BACKWARD, tuning_,
                          Transform::Strides{ys * z, 1, z}, Transform::Strides{1, y * x, x});
    }

    // FFTW's transform of the whole: this rank's part of the result.
    void transform_alone() {
        std::vector<Complex> whole;
        for (std::size_t i = 0; i < points(); ++i) whole.push_back(input(i));
        auto* const data = reinterpret_cast<fftw_complex*>(whole.data());
        const Plan plan(fftw_plan_dft_3d(static_cast<int>(lengths_.c), static_cast<int>(lengths_.b),
                                         static_cast<int>(lengths_.a), data, data, FFTW_FORWARD,
                                         FFTW_ESTIMATE));
        fftw_execute(plan.get());
        const std::size_t xs = lengths_.a / to_size(rows_), ys = lengths_.b / to_size(columns_);
        for (std::size_t x = 0; x < xs; ++x)
            for (std::size_t y = 0; y < ys; ++y)
                for (std::size_t z = 0; z < lengths_.c; ++z)
                    expected_.push_back(whole[index(to_size(ab_.rank()) * xs + x,
                                                    to_size(bc_.rank()) * ys + y, z)]);
    }

    App& app_;
    Exchange& all_;
    const int rows_, columns_;
    Exchange ab_, bc_;  // those that share x and y, and those that share y and z
    const Transform::Lengths lengths_;
    std::vector<Complex> in_, waves_, back_, expected_;
    Tuning tuning_;
    std::optional<Transform> forward_, backward_;
};

}  // namespace
}  // namespace apps::fft

int main(int argc, char** argv) {
    using namespace apps;
    fft::Options options;
    App app("fft", "Three-dimensional Fourier transform, there and back");
    app.option("--size", options.nx, "Points along x; a multiple of the ranks that share x");
    app.option("--ny", options.ny, "Points along y; 0: as along x");
    app.option("--nz", options.nz, "Points along z; 0: as along x");
    app.option("--decomposition", options.decomposition, {"slab", "pencil"},
               "A rank has whole planes, or lines");
    app.option("--planes-per-message", options.planes, "Planes that are exchanged together");
    app.option("--window", options.window,
               "Exchanges in flight while a message is computed; 0: waits for each at once");
    app.option(
        "--late", options.late,
        "Percent of the lines of the last transform that are exchanged when all planes have been "
        "computed, while the others are transformed");
    app.flag("--tune", options.tune, "Try planes per message, windows and late lines first");
    app.parse(argc, argv);
    if (options.planes == 0) fail("0 planes per message; expected 1 or more");
    if (options.late > 100) fail("%d percent late; expected at most 100", options.late);

    fft::Problem problem(app, options);
    const auto run = [&] { problem.run(options.planes, options.window, options.late); };
    if (options.tune)
        app.tune({{"--planes-per-message", &options.planes, {1, 2, 4, 8, 16, 64}},
                  {"--late", &options.late, {0, 20, 33, 50}},
                  {"--window", &options.window, {1, 2, 4}}},
                 run);
    app.measure(problem.points() * sizeof(fft::Complex), run, [&] { problem.check(); });
}
