// The MPI that this rank compares with Weft, if it is a rank of an MPI job.
#pragma once

#include <array>
#include <string>

#include "bench/collective/collective.h"
#include "bench/rivals/part.h"

namespace weft::bench {

// One operation at a time; not thread safe.
class Rival {
  public:
    // Null unless launch_against() started this rank. The first call loads the MPI, joins its job,
    // and makes that job Weft's; it is collective.
    static const Rival* of_this_job();

    // "mpich"; with its own asynchronous progress "mpich:async".
    const char* name() const { return name_.c_str(); }
    // The MPI's own name and version.
    const std::string& version() const { return version_; }
    // A thread of the MPI takes CPU time, even while nothing is pending.
    bool is_async() const { return is_async_; }
    // The speed of the work, measured before there was such a thread.
    double ns_per_iteration() const { return ns_per_iteration_; }

    // Whether the bench can measure it with this MPI.
    bool has(const Collective& collective) const { return part_->find(collective.name) != nullptr; }

    void barrier() const { part_->barrier(); }
    bool test() const { return part_->test() != 0; }
    void wait() const { part_->wait(); }
    void finalize() const { part_->close(); }

    // A broadcast along the chain of ranks, written by hand (part.h). `in_thread`: only if the job asked for threads.
    void start_pipeline(Case& c, std::size_t segment_bytes, bool in_thread) const;
    bool query_pipeline() const { return part_->query_pipeline() != 0; }

    // The two calls of one collective, on the buffers of a case.
    class Call {
      public:
        Call(const Rival& rival, const Collective& collective, Case& c);
        void start() const { functions_->start(&data_); }
        void block() const { functions_->call(&data_); }

      private:
        const weft_rival_collective* functions_;
        weft_rival_data data_;
    };

  private:
    Rival(const std::string& name, const std::string& library);

    std::string name_;
    std::string version_;
    bool is_async_;
    double ns_per_iteration_;
    const weft_rival_part* part_;
};

// By these, launch_against() passes the ranks the MPI's name, and the part compiled for it.
inline constexpr const char* rival_name_setting = "WEFT_BENCH_RIVAL";
inline constexpr const char* rival_part_setting = "WEFT_BENCH_RIVAL_PART";
// Set by a bench whose threads call the MPI.
inline constexpr const char* rival_threads_setting = "WEFT_BENCH_RIVAL_THREADS";

// The rank in an MPI job, from its launcher's environment; -1: no known launcher.
int launched_rank();

}  // namespace weft::bench
