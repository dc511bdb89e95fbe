// A three-dimensional Fourier transform of data that a grid of ranks shares, in one direction.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include <fftw3.h>

#include "apps/common/app.h"

namespace apps::fft {

using Complex = std::complex<double>;

struct FreePlan {
    void operator()(fftw_plan plan) const { fftw_destroy_plan(plan); }
};
using Plan = std::unique_ptr<fftw_plan_s, FreePlan>;

// How the exchanges are cut and how many are in flight.
struct Tuning {
    std::size_t planes = 1;  // per message
    std::size_t window = 1;  // exchanges in flight while planes are computed; 0: none
    std::size_t late = 0;    // percent of the lines along c that are exchanged after all planes

    bool operator==(const Tuning&) const = default;
};

// Transforms along a, b and c, in this order. The ranks are a grid of rows and columns: those of a
// column share a and b (`ab`), those of a row share b and c (`bc`). Each length is a multiple of
// the ranks that share it.
//
//   input    [c / row's ranks][b / column's ranks][a]     this rank has whole lines along a
//   output   [a / column's ranks][b / row's ranks][c]     this rank has whole lines along c
//
// With one rank a column (slabs) each rank has whole planes of a and b.
class Transform {
  public:
    struct Lengths {
        std::size_t a, b, c;
    };
    // How far apart neighbors along a, b and c are in memory.
    struct Strides {
        std::size_t a, b, c;
    };

    // `sign`: FFTW_FORWARD or FFTW_BACKWARD. Without strides the layouts are those above.
    Transform(App& app, Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning);
    // Other strides of the output; of the input only with slabs.
    Transform(App& app, Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning,
              Strides in, Strides out);

    // Collective among all ranks. Leaves `in` as it is.
    void run(const Complex* in, Complex* out);

  private:
    // An exchange and its buffers: for each rank its part of the same planes or lines.
    struct Message {
        std::vector<Complex> send, recv;
        Request request;
    };

    void make_plans(int sign, Strides in, Strides out);
    void transform_a(const Complex* in, std::size_t number);
    void transform_b(const Complex* in, std::size_t number);
    void deal(std::size_t plane, Message& message, std::size_t p, std::size_t planes);
    void place(std::size_t number);
    void place_late(std::size_t chunk);
    void transform_c(std::size_t chunk, Complex* out);

    std::size_t planes_of(std::size_t number) const {
        return std::min(planes_, c_ - number * planes_);
    }
    std::size_t lines_of(std::size_t chunk) const { return std::min(lines_, b_ - chunk * lines_); }
    static void start(Exchange& exchange, Message& message, std::size_t elements);
    void test();

    App& app_;
    const Lengths all_;
    Exchange& ab_;
    Exchange& bc_;
    const std::size_t ab_ranks_, bc_ranks_;
    const std::size_t a_, b_first_, b_, c_;  // this rank's; b_first_: in the input
    const std::size_t planes_, window_, messages_;
    // Lines along c are transformed in chunks: of each, `lines_` of this rank's b_. Those before
    // early_ travel plane by plane, the others, chunk by chunk, when all planes have been computed.
    const std::size_t lines_, chunks_, early_, early_lines_;
    const std::size_t plane_stride_, out_stride_b_;
    std::vector<Complex> plane_;        // [b_first_][a] or [b][a_]: the one that is computed
    std::vector<Complex> planes_to_c_;  // [c][b_][a_]: all that have come
    std::vector<Message> first_, second_, late_;
    Plan along_a_, along_b_, along_c_, along_c_of_last_;
};

}  // namespace apps::fft
