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

fftw_iodim64 dimension(std::size_t length, std::size_t from, std::size_t to) {
    return {static_cast<std::ptrdiff_t>(length), static_cast<std::ptrdiff_t>(from),
            static_cast<std::ptrdiff_t>(to)};
}

}  // namespace

Transform::Transform(App& app, Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning)
    : Transform(app, lengths, ab, bc, sign, tuning,
                {1, lengths.a, lengths.a * (lengths.b / size_of(ab))},
                {lengths.b / size_of(bc) * lengths.c, lengths.c, 1}) {}

Transform::Transform(App& app, Lengths lengths, Exchange& ab, Exchange& bc, int sign, Tuning tuning,
                     Strides in, Strides out)
    : app_(app),
      all_(lengths),
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
      // Late messages are about as long as those of planes.
      lines_(std::max<std::size_t>(1, planes_ * b_ / c_)),
      chunks_((b_ + lines_ - 1) / lines_),
      early_(bc_ranks_ > 1 ? std::max<std::size_t>(1, chunks_ - chunks_ * tuning.late / 100)
                           : chunks_),
      early_lines_(std::min(b_, early_ * lines_)),
      plane_stride_(in.c),
      out_stride_b_(out.b),
      plane_(all_.b * a_),
      planes_to_c_(all_.c * b_ * a_),
      first_(window_ + 1),
      second_(window_ + 1),
      late_(chunks_ - early_) {
    const auto make_room = [](Message& message, std::size_t elements) {
        message.send.resize(elements);
        message.recv.resize(elements);
    };
    for (Message& message : first_)
        if (ab_ranks_ > 1) make_room(message, planes_ * all_.b * a_);
    for (Message& message : second_)
        if (bc_ranks_ > 1) make_room(message, planes_ * early_lines_ * a_ * bc_ranks_);
    for (std::size_t i = 0; i < late_.size(); ++i)
        make_room(late_[i], all_.c * lines_of(early_ + i) * a_);
    make_plans(sign, in, out);
}

void Transform::make_plans(int sign, Strides in, Strides out) {
    // Estimated plans are the same in every run.
    constexpr unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
    const int b = static_cast<int>(all_.b), b_lines = static_cast<int>(a_);
    std::vector<Complex> from(b_first_ * in.b + all_.a * in.a), to(all_.c * b_ * a_);
    const fftw_iodim64 a = dimension(all_.a, in.a, 1), a_lines = dimension(b_first_, in.b, all_.a);
    along_a_.reset(fftw_plan_guru64_dft(1, &a, 1, &a_lines, raw(from.data()), raw(plane_.data()),
                                        sign, flags));
    along_b_.reset(fftw_plan_many_dft(1, &b, b_lines, raw(plane_.data()), nullptr, b_lines, 1,
                                      raw(plane_.data()), nullptr, b_lines, 1, sign, flags));
    // From [c][b_][a_] to the output's layout: the transform transposes, too.
    const auto along_c = [&](std::size_t lines) {
        const fftw_iodim64 c = dimension(all_.c, b_ * a_, out.c);
        const std::array<fftw_iodim64, 2> c_lines = {dimension(a_, 1, out.a),
                                                     dimension(lines, a_, out.b)};
        return fftw_plan_guru64_dft(1, &c, 2, c_lines.data(), raw(planes_to_c_.data()),
                                    raw(to.data()), sign, flags);
    };
    along_c_.reset(along_c(lines_of(0)));
    along_c_of_last_.reset(along_c(lines_of(chunks_ - 1)));
    if (!along_a_ || !along_b_ || !along_c_ || !along_c_of_last_) fail("FFTW makes no plan");
}

// A pipeline of three stages. While message i is transformed along a, the `window` messages before
// it travel to the ranks that transform them along b, and as many before those to where c is whole.
// The transform along c needs all planes, but not all lines: the first ones are transformed while
// the late ones travel.
void Transform::run(const Complex* in, Complex* out) {
    app_.phase("planes", App::hides);
    const std::size_t to_b = ab_ranks_ > 1 ? window_ : 0;
    const std::size_t to_c = bc_ranks_ > 1 ? window_ : 0;
    for (std::size_t i = 0; i < messages_ + to_b + to_c; ++i) {
        if (ab_ranks_ > 1 && i < messages_) transform_a(in, i);
        if (i >= to_b && i - to_b < messages_) transform_b(in, i - to_b);
        if (i == messages_ - 1 + to_b)
            for (Message& message : late_) start(bc_, message, message.send.size());
        if (bc_ranks_ > 1 && i >= to_b + to_c) place(i - to_b - to_c);
    }
    app_.phase("lines", late_.empty() ? App::hides_nothing : App::hides);
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
        if (chunk >= early_) place_late(chunk);
        transform_c(chunk, out);
        if (app_.tests() > 0) test();
    }
}

// The lines along a of some planes, and the exchange that makes lines along b whole.
void Transform::transform_a(const Complex* in, std::size_t number) {
    const std::size_t planes = planes_of(number);
    Message& message = first_[number % first_.size()];
    for (std::size_t p = 0; p < planes; ++p) {
        const Complex* const lines = in + (number * planes_ + p) * plane_stride_;
        fftw_execute_dft(along_a_.get(), raw(lines), raw(plane_.data()));
        for (std::size_t rank = 0; rank < ab_ranks_; ++rank) {
            Complex* to = &message.send[(rank * planes + p) * b_first_ * a_];
            for (std::size_t line = 0; line < b_first_; ++line)
                to = std::copy_n(&plane_[line * all_.a + rank * a_], a_, to);
        }
        if (test_is_due(app_.tests(), p, planes)) test();
    }
    start(ab_, message, planes * all_.b * a_);
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
            const Complex* const lines = in + plane * plane_stride_;
            fftw_execute_dft(along_a_.get(), raw(lines), raw(plane_.data()));
        } else {
            const std::size_t part = b_first_ * a_;
            for (std::size_t rank = 0; rank < ab_ranks_; ++rank)
                std::copy_n(&from.recv[(rank * planes + p) * part], part, &plane_[rank * part]);
        }
        fftw_execute_dft(along_b_.get(), raw(plane_.data()), raw(plane_.data()));
        if (bc_ranks_ == 1)
            std::ranges::copy(plane_, &planes_to_c_[plane * b_ * a_]);
        else
            deal(plane, message, p, planes);
        if (test_is_due(app_.tests(), p, planes)) test();
    }
    if (bc_ranks_ > 1) start(bc_, message, planes * early_lines_ * a_ * bc_ranks_);
}

// Puts a plane's lines into the messages in which they travel.
void Transform::deal(std::size_t plane, Message& message, std::size_t p, std::size_t planes) {
    for (std::size_t rank = 0; rank < bc_ranks_; ++rank) {
        const Complex* const lines = &plane_[rank * b_ * a_];
        const std::size_t early = early_lines_ * a_;
        std::copy_n(lines, early, &message.send[(rank * planes + p) * early]);
        for (std::size_t i = 0; i < late_.size(); ++i) {
            const std::size_t part = lines_of(early_ + i) * a_;
            std::copy_n(lines + (early_ + i) * lines_ * a_, part,
                        &late_[i].send[(rank * c_ + plane) * part]);
        }
    }
}

// Puts planes that have come from all ranks to their places along c.
void Transform::place(std::size_t number) {
    Message& message = second_[number % second_.size()];
    message.request.wait();
    const std::size_t planes = planes_of(number), early = early_lines_ * a_;
    for (std::size_t rank = 0; rank < bc_ranks_; ++rank)
        for (std::size_t p = 0; p < planes; ++p)
            std::copy_n(&message.recv[(rank * planes + p) * early], early,
                        &planes_to_c_[(rank * c_ + number * planes_ + p) * b_ * a_]);
}

// Likewise lines of all planes.
void Transform::place_late(std::size_t chunk) {
    Message& message = late_[chunk - early_];
    message.request.wait();
    const std::size_t part = lines_of(chunk) * a_;
    for (std::size_t plane = 0; plane < all_.c; ++plane)
        std::copy_n(&message.recv[plane * part], part,
                    &planes_to_c_[(plane * b_ + chunk * lines_) * a_]);
}

void Transform::transform_c(std::size_t chunk, Complex* out) {
    const Plan& plan = chunk + 1 < chunks_ ? along_c_ : along_c_of_last_;
    fftw_execute_dft(plan.get(), raw(&planes_to_c_[chunk * lines_ * a_]),
                     raw(out + chunk * lines_ * out_stride_b_));
}

void Transform::start(Exchange& exchange, Message& message, std::size_t elements) {
    message.request =
        exchange.ialltoall(numbers(message.send, elements), numbers(message.recv, elements));
}

// An MPI without a thread makes progress only here.
void Transform::test() {
    for (std::vector<Message>* const messages : {&first_, &second_, &late_})
        for (Message& message : *messages) message.request.test();
}

}  // namespace apps::fft
