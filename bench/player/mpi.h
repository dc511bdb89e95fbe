// The MPI whose launcher has started this rank, and players that call it.
#pragma once

#include <string>
#include <vector>

#include "bench/player/mpi_part.h"
#include "bench/player/player.h"

namespace weft::bench {

// Loaded once in a process. Not thread safe.
class Mpi {
  public:
    // Null unless an MPI's launcher started this rank for the bench. The first call loads the MPI,
    // joins its job, and makes that job Weft's; it is collective.
    static const Mpi* of_this_job();

    // "mpich"; with its own asynchronous progress "mpich:async".
    const std::string& name() const { return name_; }
    // The MPI's own name and version.
    const std::string& version() const { return version_; }
    // A thread of the MPI takes CPU time, even while nothing is pending.
    bool is_async() const { return name_.ends_with(":async"); }
    // The speed of the work, measured before there was such a thread.
    double ns_per_iteration() const { return ns_per_iteration_; }
    // How long MPI_Init took on this rank.
    double init_us() const { return init_us_; }
    const weft_rival_part& part() const { return *part_; }
    void finalize() const { part_->close(); }

  private:
    Mpi(const std::string& name, const std::string& library);

    std::string name_;
    std::string version_;
    double ns_per_iteration_;
    double init_us_;
    const weft_rival_part* part_;
};

// By these, a launch passes its ranks the MPI's name, and the part compiled for it.
inline constexpr const char* mpi_name_setting = "WEFT_BENCH_RIVAL";
inline constexpr const char* mpi_part_setting = "WEFT_BENCH_RIVAL_PART";
// ... and that of an interface over it; otherwise a sentence: why there is none.
inline constexpr const char* libnbc_part_setting = "WEFT_BENCH_LIBNBC_PART";
inline constexpr const char* nbc_part_setting = "WEFT_BENCH_NBC_PART";
// Set if threads of the bench call the MPI.
inline constexpr const char* mpi_threads_setting = "WEFT_BENCH_RIVAL_THREADS";

// The rank in an MPI's job, from its launcher's environment; -1: no known launcher.
int launched_rank();

// The MPI's calls.
class MpiCalls final : public Player {
  public:
    // whose: in a job under `weft preload`, MPI_X are Weft's, and only their addresses lead to the
    // MPI's own. In another job all are the MPI's. own_again: on a communicator of its own.
    // Collective.
    enum class Whose { linked, own, own_again };
    MpiCalls(const weft_rival_part& part, Whose whose)
        : part_(part), whose_(static_cast<int>(whose)) {
        part_.use(whose_);
    }

    std::string absence(const Collective& collective, const Job& job) const override;
    bool takes_several() const override { return true; }
    void enter() override { turn(1); }
    void leave() override { turn(0); }
    void start(const Collective& collective, Case& c) override;
    bool test() override { return part_.test() != 0; }
    void wait() override { part_.wait(); }
    void call(const Collective& collective, Case& c) override;
    void barrier() override;

  private:
    // Kept for the collectives of a contest: looking up names is not what is measured.
    struct Known {
        const Collective* collective;
        const weft_rival_collective* functions;
    };
    const weft_rival_collective& functions_of(const Collective& collective);
    void turn(int begins) {
        if (part_.turn != nullptr) part_.turn(begins);
    }

    const weft_rival_part& part_;
    const int whose_;
    std::vector<Known> known_;
};

// A broadcast along the chain of ranks, pipelined by hand over the MPI's messages: by the rank
// itself, whose tests let it advance, or by a thread of the program's own.
class MpiByHand final : public Player {
  public:
    MpiByHand(const Mpi& mpi, std::size_t segment_bytes, bool in_thread)
        : part_(mpi.part()), segment_bytes_(segment_bytes), in_thread_(in_thread) {}

    std::string absence(const Collective& collective, const Job& job) const override;
    void start(const Collective& collective, Case& c) override;
    bool test() override;
    void wait() override;
    void barrier() override { part_.barrier(); }

  private:
    const weft_rival_part& part_;
    const std::size_t segment_bytes_;
    const bool in_thread_;
    bool is_pending_ = false;
};

}  // namespace weft::bench
