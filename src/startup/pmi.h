// Startup under MPICH's launcher Hydra, or another that speaks version 1 of the PMI wire protocol:
// lines of words "key=value" over the socket PMI_FD, each answered by one line. Intel MPI's mpiexec
// and Slurm's `--mpi=pmi2` speak it, too.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "startup/key_value.h"

namespace weft {

class Pmi final : public KeyValueStartup {
  public:
    // `fd` stays open: an MPI in this process uses it too.
    Pmi(Rank rank, Rank ranks, int fd, std::int64_t timeout_ns)
        : KeyValueStartup(rank, ranks, timeout_ns, value_bytes), fd_(fd) {}

  private:
    // All launchers seen so far take 1023 bytes in a value and 1024 in a line.
    static constexpr std::size_t value_bytes = 768;

    Status put(const std::string& key, const std::string& value) override;
    Status fence() override;
    Result<std::string> get(Rank owner, const std::string& key) override;

    Status greet();
    // The launcher's answer; refused unless it is `answer` and reports success.
    Result<std::string> ask(const std::string& command, std::string_view answer);

    int fd_;
    std::string space_;  // the name of the job's key-value space
    std::string heard_;  // bytes after the last answer
};

}  // namespace weft
