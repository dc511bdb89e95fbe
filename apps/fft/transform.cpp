#include "apps/fft/transform.h"

#include <array>
#include <span>

namespace apps::fft {
namespace {

fftw_complex* raw(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }
// FFTW has no pointers to constants. It leaves the input as it is (FFTW_PRESERVE_INPUT).
fftw_complex* raw(const Complex* data) { return raw(const_cast<Complex*>(data)); }

std::size_t size_of(const Exchange& exchange) { return static_cast<std::size_t>(exchange.ranks()); }

// The first elements, as pairs of numbers.
std::span<double> numbers(std::vector<Complex>& data, std::size_t elements) {
    return {reinterpret_cast<double*>(data.data()), 2 * elements};
}

}  // namespace

Transform::Transform(Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning)
    : all_(lengths),
      ab_(ab),
      bc_(bc),
      ab_ranks_(size_of(ab)),
      bc_ranks_(size_of(bc)),
      a_(all_.a / ab_ranks_),
      b_first_(all_.b / ab_ranks_),
      b_(all_.b / bc_ranks_),
      c_(all_.c / bc_ranks_),
      planes_(std::min(tuning.planes, c_)),
      window_(tuning.window),
      messages_((c_ + planes_ - 1) / planes_),
      plane_(all_.b * a_),
      planes_to_c_(all_.c * b_ * a_),
      first_(window_ + 1),
      second_(window_ + 1) {
    const auto make_room = [&](std::vector<Message>& messages) {
        for (Message& message : messages) {
            message.send.resize(planes_ * all_.b * a_);
            message.recv.resize(planes_ * all_.b * a_);
        }
    };
    if (ab_ranks_ > 1) make_room(first_);
    if (bc_ranks_ > 1) make_room(second_);
    // Estimated plans are the same in every run.
    constexpr unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
    const int a = static_cast<int>(all_.a), b = static_cast<int>(all_.b);
    const int a_lines = static_cast<int>(b_first_), b_lines = static_cast<int>(a_);
    std::vector<Complex> lines(b_first_ * all_.a), out(all_.c * b_ * a_);
    along_a_.reset(fftw_plan_many_dft(1, &a, a_lines, raw(lines.data()), nullptr, 1, a,
                                      raw(plane_.data()), nullptr, 1, a, sign, flags));
    along_b_.reset(fftw_plan_many_dft(1, &b, b_lines, raw(plane_.data()), nullptr, b_lines, 1,
                                      raw(plane_.data()), nullptr, b_lines, 1, sign, flags));
    // From [c][b_][a_] to [a_][b_][c]: the transform transposes, too.
    const auto is = [](std::size_t length, std::size_t from, std::size_t to) {
        return fftw_iodim64{static_cast<std::ptrdiff_t>(length), static_cast<std::ptrdiff_t>(from),
                            static_cast<std::ptrdiff_t>(to)};
    };
    const fftw_iodim64 c = is(all_.c, b_ * a_, 1);
    const std::array<fftw_iodim64, 2> c_lines = {is(a_, 1, b_ * all_.c), is(b_, a_, all_.c)};
    along_c_.reset(fftw_plan_guru64_dft(1, &c, 2, c_lines.data(), raw(planes_to_c_.data()),
                                        raw(out.data()), sign, flags));
    if (!along_a_ || !along_b_ || !along_c_) fail("FFTW makes no plan");
}

// A pipeline of three stages. While message i is transformed along a, the `window` messages before
// it travel to the ranks that transform them along b, and as many before those to where c is whole.
void Transform::run(const Complex* in, Complex* out, int tests) {
    tests_ = tests;
    const std::size_t to_b = ab_ranks_ > 1 ? window_ : 0;
    const std::size_t to_c = bc_ranks_ > 1 ? window_ : 0;
    for (std::size_t i = 0; i < messages_ + to_b + to_c; ++i) {
        if (ab_ranks_ > 1 && i < messages_) transform_a(in, i);
        if (i >= to_b && i - to_b < messages_) transform_b(in, i - to_b);
        if (bc_ranks_ > 1 && i >= to_b + to_c) place(i - to_b - to_c);
    }
    fftw_execute_dft(along_c_.get(), raw(planes_to_c_.data()), raw(out));
}

// The lines along a of some planes, and the exchange that makes lines along b whole.
void Transform::transform_a(const Complex* in, std::size_t number) {
    const std::size_t planes = planes_of(number);
    Message& message = first_[number % first_.size()];
    for (std::size_t p = 0; p < planes; ++p) {
        const Complex* const lines = in + (number * planes_ + p) * b_first_ * all_.a;
        fftw_execute_dft(along_a_.get(), raw(lines), raw(plane_.data()));
        for (std::size_t rank = 0; rank < ab_ranks_; ++rank) {
            Complex* to = &message.send[(rank * planes + p) * b_first_ * a_];
            for (std::size_t line = 0; line < b_first_; ++line)
                to = std::copy_n(&plane_[line * all_.a + rank * a_], a_, to);
        }
        test(p, planes);
    }
    start(ab_, message, planes);
}

// The lines along b of these planes, and the exchange that makes lines along c whole.
void Transform::transform_b(const Complex* in, std::size_t number) {
    const std::size_t planes = planes_of(number);
    Message& from = first_[number % first_.size()];
    Message& message = second_[number % second_.size()];
    from.request.wait();
    for (std::size_t p = 0; p < planes; ++p) {
        const std::size_t plane = number * planes_ + p;
        if (ab_ranks_ == 1) {
            const Complex* const lines = in + plane * all_.b * all_.a;
            fftw_execute_dft(along_a_.get(), raw(lines), raw(plane_.data()));
        } else {
            const std::size_t part = b_first_ * a_;
            for (std::size_t rank = 0; rank < ab_ranks_; ++rank)
                std::copy_n(&from.recv[(rank * planes + p) * part], part, &plane_[rank * part]);
        }
        fftw_execute_dft(along_b_.get(), raw(plane_.data()), raw(plane_.data()));
        const std::size_t part = b_ * a_;
        if (bc_ranks_ == 1) {
            std::copy_n(plane_.data(), part, &planes_to_c_[plane * part]);
        } else {
            for (std::size_t rank = 0; rank < bc_ranks_; ++rank)
                std::copy_n(&plane_[rank * part], part, &message.send[(rank * planes + p) * part]);
        }
        test(p, planes);
    }
    if (bc_ranks_ > 1) start(bc_, message, planes);
}

// Puts planes that have come from all ranks to their places along c.
void Transform::place(std::size_t number) {
    Message& message = second_[number % second_.size()];
    message.request.wait();
    const std::size_t block = planes_of(number) * b_ * a_;
    for (std::size_t rank = 0; rank < bc_ranks_; ++rank)
        std::copy_n(&message.recv[rank * block], block,
                    &planes_to_c_[(rank * c_ + number * planes_) * b_ * a_]);
}

void Transform::start(Exchange& exchange, Message& message, std::size_t planes) const {
    const std::size_t elements = planes * all_.b * a_;
    message.request =
        exchange.ialltoall(numbers(message.send, elements), numbers(message.recv, elements));
}

// An MPI without a thread makes progress only here.
void Transform::test(std::size_t plane, std::size_t planes) {
    if (!test_is_due(tests_, plane, planes)) return;
    for (Message& message : first_) message.request.test();
    for (Message& message : second_) message.request.test();
}

}  // namespace apps::fft
