// Conjugate gradients for the 3-D Poisson equation, after LibNBC's application (Hoefler,
// Gottschling, Lumsdaine, Rehm 2007), and pipelined (Ghysels, Vanroose,
// doi:10.1016/j.parco.2013.06.001).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>

#include "apps/cg/domain.h"
#include "apps/cg/halo.h"
#include "apps/cg/matrix.h"
#include "apps/common/app.h"

namespace apps::cg {
namespace {

struct Options {
    int x = 64, y = 64, z = 16;
    double tolerance = 1e-8;
    int iterations_max = 5000;
    std::string matrix = "free", halo = "neighbor";
    int pipelined = 0;
    bool tune = false;
};

class Solver {
  public:
    Solver(App& app, const Options& options)
        : app_(app),
          world_(app.exchange()),
          options_(options),
          domain_({options.x, options.y, options.z}, world_.rank(), world_.ranks()),
          matrix_(domain_, options.matrix == "csr"),
          halo_(domain_, world_, options.halo == "alltoallv"),
          b_(right_side()) {}

    std::size_t bytes() const { return domain_.all().points() * sizeof(double); }

    void solve() {
        x_ = domain_.vector();
        if (options_.pipelined == 0)
            solve_plain();
        else
            solve_pipelined();
    }

    // The solution is known: the error cannot be larger than the residual divided by the matrix'
    // smallest eigenvalue.
    void check() {
        Vector r = domain_.vector();
        halo_.start(x_);
        halo_.finish(x_);
        each(domain_.all(), [&](Row row) { matrix_.multiply(row, x_, r); });
        double sums[3] = {};  // squares: of the residual, of b, of the error
        each_point([&](std::size_t i, const Point& at) {
            const double residual = b_[i] - r[i], error = x_[i] - known(at);
            sums[0] += residual * residual;
            sums[1] += b_[i] * b_[i];
            sums[2] += error * error;
        });
        world_.iallreduce_in_place(sums, weft::sum).wait();
        const double residual = std::sqrt(sums[0] / sums[1]), error = std::sqrt(sums[2]);
        double least = 0;  // eigenvalue
        for (const int n : domain_.whole())
            least += 4 * std::pow(std::sin(std::numbers::pi / (2 * (n + 1))), 2);
        app_.note("iterations", iterations_);
        app_.note("residual that the recursion says", residual_);
        app_.note("true residual", residual);
        app_.note("error", error);
        app_.note("vector operations a point and iteration", options_.pipelined == 0 ? 10 : 16);
        // (A recursion in floating point drifts away from the truth, the pipelined one faster.)
        if (!(residual < 100 * options_.tolerance))
            fail("the true residual is %g after %d iterations; expected less than %g", residual,
                 iterations_, 100 * options_.tolerance);
        if (!(error <= 1.01 * std::sqrt(sums[0]) / least + 1e-12 * std::sqrt(sums[1])))
            fail("the error is %g with a residual of %g; expected at most %g", error,
                 std::sqrt(sums[0]), std::sqrt(sums[0]) / least);
    }

  private:
    // --- The two variants ---

    void solve_plain() {
        Vector r = b_, p = domain_.vector(), q = domain_.vector();
        app_.phase("sums", App::hides_nothing);
        double rr = 0;
        each(domain_.all(), [&](Row row) { rr += dot(row, r, r); });
        world_.iallreduce_in_place(std::span(&rr, 1), weft::sum).wait();
        const double goal = options_.tolerance * options_.tolerance * rr;
        double alpha = 0, beta = 0;
        const auto step = [&](Row row) { subtract(row, -alpha, p, x_); };
        for (iterations_ = 0; rr > goal && iterations_ < options_.iterations_max; ++iterations_) {
            // The step along the last p has waited until here, where it hides something.
            const auto update = [&](Row row) {
                step(row);
                add(row, r, beta, p);  // p = r + beta p
            };
            double pq = 0;
            const auto multiply = [&](Row row) {
                matrix_.multiply(row, p, q);
                pq += dot(row, p, q);
            };
            // The outer points first: they travel while the inner ones are computed.
            app_.phase("outer points", App::hides_nothing);
            for (const Box& box : domain_.outer()) each(box, update);
            app_.phase("inner points", App::hides);
            halo_.start(p);
            hidden(update);
            hidden(multiply);
            halo_.finish(p);
            app_.phase("outer points", App::hides_nothing);
            for (const Box& box : domain_.outer()) each(box, multiply);

            app_.phase("sums", App::hides_nothing);
            world_.iallreduce_in_place(std::span(&pq, 1), weft::sum).wait();
            alpha = rr / pq;
            double next = 0;
            each(domain_.all(), [&](Row row) {
                subtract(row, alpha, q, r);
                next += dot(row, r, r);
            });
            world_.iallreduce_in_place(std::span(&next, 1), weft::sum).wait();
            beta = next / rr;
            rr = next;
            tell(rr, goal);
        }
        each(domain_.all(), step);
        residual_ = std::sqrt(rr / goal) * options_.tolerance;
    }

    // One sum an iteration. It and the halo travel while the matrix is multiplied, the halo also while
    // vectors are updated. Three more vectors for that.
    void solve_pipelined() {
        Vector r = b_, w = domain_.vector(), q = domain_.vector();
        Vector p = domain_.vector(), s = domain_.vector(), z = domain_.vector();
        app_.phase("first product", App::hides_nothing);
        halo_.start(r);
        halo_.finish(r);
        double sums[2] = {};  // r r and w r
        each(domain_.all(), [&](Row row) {
            matrix_.multiply(row, r, w);
            sums[0] += dot(row, r, r);
            sums[1] += dot(row, w, r);
        });
        halo_.start(w);
        const double goal_of_one = options_.tolerance * options_.tolerance;
        double goal = 0, gamma = 0, alpha = 1;
        for (iterations_ = 0;; ++iterations_) {
            const auto multiply = [&](Row row) { matrix_.multiply(row, w, q); };
            app_.phase("inner points", App::hides);
            Request sum = world_.iallreduce_in_place(sums, weft::sum);
            hidden(multiply, &sum);
            halo_.finish(w);
            app_.phase("outer points", App::hides);
            for (const Box& box : domain_.outer()) each(box, multiply);
            app_.phase("sums", App::hides_nothing);
            sum.wait();

            if (iterations_ == 0) goal = goal_of_one * sums[0];
            const double beta = iterations_ == 0 ? 0 : sums[0] / gamma;
            alpha = sums[0] / (sums[1] - (iterations_ == 0 ? 0 : beta * sums[0] / alpha));
            gamma = sums[0];
            if (gamma <= goal || iterations_ == options_.iterations_max) break;

            const auto update_w = [&](Row row) {
                add(row, q, beta, z);  // z = q + beta z
                add(row, w, beta, s);
                subtract(row, alpha, z, w);
            };
            sums[0] = sums[1] = 0;
            const auto update_others = [&](Row row) {
                add(row, r, beta, p);
                subtract(row, -alpha, p, x_);
                subtract(row, alpha, s, r);
                sums[0] += dot(row, r, r);
                sums[1] += dot(row, w, r);
            };
            app_.phase("outer points", App::hides_nothing);
            for (const Box& box : domain_.outer()) each(box, update_w);
            app_.phase("vectors", App::hides);
            halo_.start(w);
            hidden([&](Row row) {
                update_w(row);
                update_others(row);
            });
            for (const Box& box : domain_.outer()) each(box, update_others);
            tell(gamma, goal);
        }
        halo_.finish(w);
        residual_ = std::sqrt(gamma / goal) * options_.tolerance;
    }

    // --- Vectors: row by row, so that what several operations read is still in the cache ---

    template <class F>
    void each(const Box& box, F compute) const {
        domain_.each_row(box, [&](std::size_t at, std::size_t n) { compute(Row{at, n}); });
    }

    // Computes the inner points, in parts, between which a library without a thread may progress.
    template <class F>
    void hidden(F compute, Request* other = nullptr) {
        const Box& inner = domain_.inner();
        const auto planes = [&](int d) { return inner.hi[d] - inner.lo[d]; };
        const int d = planes(1) > planes(2) ? 1 : 2, parts = app_.tests() + 1;
        for (int part = 0; part < parts; ++part) {
            Box box = inner;
            box.lo[d] = inner.lo[d] + planes(d) * part / parts;
            box.hi[d] = inner.lo[d] + planes(d) * (part + 1) / parts;
            each(box, compute);
            if (part + 1 == parts) break;
            halo_.test();
            if (other != nullptr) other->test();
        }
    }

    // y = a + factor y
    static void add(Row row, const Vector& a, double factor, Vector& y) {
        for (std::size_t i = row.at; i < row.at + row.points; ++i) y[i] = a[i] + factor * y[i];
    }
    // y -= factor a
    static void subtract(Row row, double factor, const Vector& a, Vector& y) {
        for (std::size_t i = row.at; i < row.at + row.points; ++i) y[i] -= factor * a[i];
    }
    static double dot(Row row, const Vector& a, const Vector& b) {
        const double *u = &a[row.at], *v = &b[row.at];
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < row.points; ++i) sum += u[i] * v[i];
        return sum;
    }

    // --- The problem ---

    // Calls f(index, place in the whole grid) for each point of this rank.
    template <class F>
    void each_point(F f) const {
        const Point &n = domain_.size(), &first = domain_.first();
        for (int z = 0; z < n[2]; ++z)
            for (int y = 0; y < n[1]; ++y)
                for (int x = 0; x < n[0]; ++x)
                    f(domain_.index(x, y, z), Point{first[0] + x, first[1] + y, first[2] + z});
    }

    // The solution: a seeded number for each point, 0 beyond the border.
    double known(const Point& at) const {
        std::uint64_t place = 0;
        for (int d = 2; d >= 0; --d) {
            if (at[d] < 0 || at[d] >= domain_.whole()[d]) return 0;
            place = place * static_cast<std::uint64_t>(domain_.whole()[d]) +
                    static_cast<std::uint64_t>(at[d]);
        }
        return Random(app_.seed() + place * 0x9e3779b97f4a7c15).uniform();
    }
    Vector right_side() const {
        Vector b = domain_.vector();
        each_point([&](std::size_t i, const Point& at) {
            b[i] = 6 * known(at);
            for (int d = 0; d < 3; ++d) {
                for (const int step : {-1, 1}) {
                    Point beside = at;
                    beside[d] += step;
                    b[i] -= known(beside);
                }
            }
        });
        return b;
    }

    void tell(double rr, double goal) {
        app_.progress(
            std::clamp(1 - std::log(rr / goal) / -2 / std::log(options_.tolerance), 0., 1.),
            "towards the tolerance");
    }

    App& app_;
    Exchange& world_;
    const Options& options_;
    const Domain domain_;
    const Matrix matrix_;
    Halo halo_;
    const Vector b_;
    Vector x_;
    int iterations_ = 0;
    double residual_ = 0;
};

}  // namespace
}  // namespace apps::cg

int main(int argc, char** argv) {
    using namespace apps;
    cg::Options options;
    App app("cg",
            "Conjugate gradients for the 3-D Poisson equation: the exchange with neighbors and "
            "the sums are hidden behind the computation");
    app.option("--x", options.x,
               "Points of a rank in the first dimension, whose points are contiguous");
    app.option("--y", options.y, "... in the second");
    app.option("--z", options.z, "... in the third; ranks are divided along this one first");
    app.option("--matrix", options.matrix, {"free", "csr"}, "In the code alone, or as sparse rows");
    app.option("--halo", options.halo, {"neighbor", "alltoallv"},
               "By ineighbor_alltoallv or ialltoallv");
    app.option("--pipelined", options.pipelined,
               "1: one sum an iteration, behind the matrix, for more vector operations");
    app.option("--tolerance", options.tolerance,
               "The residual to reach, relative to the right side");
    app.option("--iterations", options.iterations_max, "At most");
    app.flag("--tune", options.tune, "Find the fastest --pipelined first");
    app.parse(argc, argv);
    if (options.pipelined > 1) fail("--pipelined %d; expected 0 or 1", options.pipelined);
    if (options.x < 1 || options.y < 1 || options.z < 1) fail("a rank needs points");
    cg::Solver solver(app, options);
    const auto run = [&] { solver.solve(); };
    if (options.tune) app.tune({{"--pipelined", &options.pipelined, {0, 1}}}, run);
    app.measure(solver.bytes(), run, [&] { solver.check(); });
}
