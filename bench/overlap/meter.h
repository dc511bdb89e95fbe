// Runs one collective of one size once, and times it on this rank.
#pragma once

#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/plain/burst.h"

namespace weft::bench {

// One repetition, in microseconds.
struct Times {
    double call = 0;      // the blocking call; Weft's is start and wait
    double blocking = 0;  // started, and waited for at once
    double work = 0;      // alone
    double start = 0;     // start, tests, wait and total are from the rank with the longest total
    double tests = 0;
    double wait = 0;
    double total = 0;
    double plain = 0;  // the plain exchange of the same bytes, and the CPU time that it took
    double lost = 0;
    double cpu = 0;  // CPU time of all threads in the overlapped run, summed over the ranks
};

// Every function is collective and begins with a barrier; every result is verified.
class Meter {
  public:
    // `burst` keeps operations from profiting from a pause of the link; null: not needed.
    Meter(const Job& job, const Collective& collective, std::int64_t bytes, Burst* burst);

    // Chooses what is measured next. The job's MPI is measured once per repetition.
    void use(const Contestant& contestant);

    // The operation, waited for at once.
    double blocking_us();
    // The MPI's blocking call.
    double call_us();
    double work_us(std::int64_t iterations);
    // Start, the work with this many evenly spaced test calls, wait.
    void overlapped(std::int64_t iterations, int tests, Times& times);

  private:
    void prepare();
    void barrier();
    void start();
    bool test();
    void wait();

    const Collective& collective_;
    Case case_;
    std::int64_t bytes_;
    Burst* const burst_;
    const Rival* const rival_in_job_;
    const Rival* rival_ = nullptr;  // the MPI being measured; both null: Weft
    CopyThread* copies_ = nullptr;  // the copy thread being measured
    std::optional<Rival::Call> call_;
    bool is_rival_last_ = false;  // of the two barriers
    weft_request request_ = WEFT_REQUEST_NULL;
    std::uint64_t seed_ = 0;
};

}  // namespace weft::bench
