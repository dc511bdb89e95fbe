// A three-dimensional Fourier transform of data that a grid of ranks shares, in one direction.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include <fftw3.h>

#include "apps/common/exchange.h"

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
};

// Transforms along a, b and c, in this order. The ranks are a grid of rows and columns: those of a
// column share a and b (`ab`), those of a row share b and c (`bc`). Each length is a multiple of
// the ranks that share it.
//
//   input    [c / row's ranks][b / column's ranks][a]     this rank has whole lines along a
//   output   [a / column's ranks][b / row's ranks][c]     this rank has whole lines along c
//
// The output is the input of a transform along c, b and a, in which the groups have changed places:
// the way back. With one rank a column (slabs) each rank has whole planes of a and b.
class Transform {
  public:
    struct Lengths {
        std::size_t a, b, c;
    };

    // `sign`: FFTW_FORWARD or FFTW_BACKWARD.
    Transform(Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning);

    // Collective among all ranks. Leaves `in` as it is. `tests`: calls of test() while a message's
    // planes are computed.
    void run(const Complex* in, Complex* out, int tests);

  private:
    // An exchange and its buffers: for each rank its part of the same planes.
    struct Message {
        std::vector<Complex> send, recv;
        Request request;
    };

    void transform_a(const Complex* in, std::size_t number);
    void transform_b(const Complex* in, std::size_t number);
    void place(std::size_t number);

    std::size_t planes_of(std::size_t number) const {
        return std::min(planes_, c_ - number * planes_);
    }
    void start(Exchange& exchange, Message& message, std::size_t planes) const;
    void test(std::size_t plane, std::size_t planes);

    const Lengths all_;
    Exchange& ab_;
    Exchange& bc_;
    const std::size_t ab_ranks_, bc_ranks_;
    const std::size_t a_, b_first_, b_, c_;  // this rank's; b_first_: in the input
    const std::size_t planes_, window_, messages_;
    int tests_ = 0;
    std::vector<Complex> plane_;        // [b_first_][a] or [b][a_]: the one that is computed
    std::vector<Complex> planes_to_c_;  // [c][b_][a_]: all that have come
    std::vector<Message> first_, second_;
    Plan along_a_, along_b_, along_c_;
};

}  // namespace apps::fft
