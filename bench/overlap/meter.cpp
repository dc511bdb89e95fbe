// The timed parts of a repetition.
#include "bench/overlap/meter.h"

#include "base/clock.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

Meter::Meter(const Job& job, const Collective& collective, std::int64_t bytes, Burst* burst)
    : collective_(collective),
      case_(make_case(job, collective, bytes)),
      bytes_(bytes),
      burst_(burst),
      rival_in_job_(Rival::of_this_job()) {
    if (rival_in_job_ != nullptr) call_.emplace(*rival_in_job_, collective_, case_);
}

void Meter::use(const Contestant& contestant) {
    case_.job = contestant.job;
    rival_ = contestant.rival;
    copies_ = contestant.copies;
    if (rival_ != nullptr) is_rival_last_ = !is_rival_last_;
}

double Meter::blocking_us() {
    prepare();
    const std::int64_t begin = now_ns();
    start();
    wait();
    const std::int64_t end = now_ns();
    verify(collective_, case_);
    return us(end - begin);
}

double Meter::call_us() {
    prepare();
    const std::int64_t begin = now_ns();
    call_->block();
    const std::int64_t end = now_ns();
    verify(collective_, case_);
    return us(end - begin);
}

double Meter::work_us(std::int64_t iterations) {
    barrier();
    const std::int64_t begin = now_ns();
    work(iterations);
    return us(now_ns() - begin);
}

void Meter::overlapped(std::int64_t iterations, int tests, Times& times) {
    prepare();
    const double cpu_begin = cpu_seconds();
    const std::int64_t begin = now_ns();
    start();
    const std::int64_t started = now_ns();
    std::int64_t tests_ns = 0;
    bool is_pending = true;
    for (int i = 0; i <= tests; ++i) {
        // The pieces differ by at most one iteration, and add up to all of them.
        work(iterations * (i + 1) / (tests + 1) - iterations * i / (tests + 1));
        if (i == tests || !is_pending) continue;
        const std::int64_t testing = now_ns();
        is_pending = !test();
        tests_ns += now_ns() - testing;
    }
    const std::int64_t waiting = now_ns();
    wait();
    const std::int64_t end = now_ns();
    const double cpu_end = cpu_seconds();
    verify(collective_, case_);

    times.start = us(started - begin);
    times.tests = us(tests_ns);
    times.wait = us(end - waiting);
    times.total = us(end - begin);
    times.cpu = (cpu_end - cpu_begin) * 1e6;
}

void Meter::prepare() {
    collective_.fill(case_, ++seed_);
    if (burst_ != nullptr) burst_->use_up_before(bytes_);
    barrier();
}

// The library that ran last has an advantage, and ranks leave one library's barrier closer together
// than the other's. So with an MPI both barriers are called, in alternating order.
void Meter::barrier() {
    if (rival_in_job_ != nullptr && !is_rival_last_) rival_in_job_->barrier();
    must(weft_barrier(case_.job.comm), "weft_barrier");
    if (rival_in_job_ != nullptr && is_rival_last_) rival_in_job_->barrier();
}

void Meter::start() {
    if (rival_ != nullptr) {
        call_->start();
    } else if (copies_ != nullptr) {
        copies_->start(collective_, case_);
    } else {
        must(collective_.start(case_, &request_), collective_.name);
    }
}

bool Meter::test() {
    if (rival_ != nullptr) return rival_->test();
    if (copies_ != nullptr) return copies_->test();
    const weft_status status = weft_test(&request_);
    if (status != WEFT_PENDING) must(status, "weft_test");
    return status != WEFT_PENDING;
}

void Meter::wait() {
    if (rival_ != nullptr) {
        rival_->wait();
    } else if (copies_ != nullptr) {
        copies_->wait();
    } else {
        must(weft_wait(&request_), "weft_wait");
    }
}

}  // namespace weft::bench
