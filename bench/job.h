// What every measuring rank needs: its place in the job, and an exit with a sentence if a call of
// the library fails.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/weft.h"

namespace weft::bench {

struct Api;
extern const Api own_api;

struct Job {
    int rank = 0;
    int ranks = 1;
    weft_comm comm = WEFT_COMM_NULL;
    const Api* api = &own_api;  // whose communicator it is
};

// Ends the process with status 1, after a message, unless `status` is WEFT_OK.
void must(weft_status status, const char* call);

// Ends the process with status 1, after a message.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// CPU time used by all threads of this process so far, in microseconds.
struct CpuTime {
    double user = 0;
    double system = 0;
};
CpuTime cpu_time();

// The memory of this process that is in use, in KiB.
double resident_kib();

// Every rank's `mine`, in rank order. Collective.
template <class T>
std::vector<T> gather(const Job& job, const std::vector<T>& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(mine.size() * static_cast<std::size_t>(job.ranks));
    must(weft_allgather(mine.data(), all.data(), mine.size() * sizeof(T), WEFT_BYTE, job.comm),
         "weft_allgather");
    return all;
}

// The transports that this job uses: "shm", "tcp", "shm+tcp"; "none" with one rank.
// Collective.
std::string transports_in_use(const Job& job);

// The largest `mine` of any rank. Collective.
double slowest(const Job& job, double mine);

// The first rank's sentence that is not empty; "": all are. Collective.
std::string first_sentence(const Job& job, const std::string& mine);

}  // namespace weft::bench
