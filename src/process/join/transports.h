// The transports of a process: made ready before the ranks swap cards, connected afterwards.
//
// WEFT_TRANSPORT: auto (the default): ranks of one node over shm, others over tcp; shm; tcp; mpi: all
// over the program's MPI.
//
// Thread safety: none; used once, while the process joins its job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "process/join/card.h"
#include "process/process.h"
#include "transport/mpi/settings.h"
#include "transport/shm/connect.h"
#if WEFT_HAS_TCP
#include "transport/tcp/connect.h"
#endif
#include "weft/oob.h"

namespace weft {

class Transports {
  public:
    // `oob`: null where there is none.
    static Result<Transports> prepare(const weft_oob* oob);

    // How this rank is reached, by so many ranks at most.
    void write_on(Card& card, Rank ranks) const;

    // Reaches every rank of the job by the best way there is, or says to which there is none.
    // Collective over the ranks of a node. Fills transports and routes.
    Status connect(const std::vector<Card>& cards, const JobKey& key, Process::Parts& parts);

  private:
    enum class Wanted : std::uint8_t { any, shm, tcp, mpi };

    Status connect_shm(const std::vector<Card>& cards, Process::Parts& parts);
    Status connect_mpi(Process::Parts& parts);
    Status connect_tcp(const std::vector<Card>& cards, const JobKey& key, Process::Parts& parts);

    Wanted wanted_ = Wanted::any;
    const weft_oob* oob_ = nullptr;  // for wanted_ mpi
    mpi::Settings mpi_settings_;
    std::unique_ptr<ShmNode> shm_;
#if WEFT_HAS_TCP
    std::unique_ptr<TcpNode> tcp_;
#endif
    std::string no_tcp_;                                  // why there is none,
    weft_status no_tcp_code_ = WEFT_REFUSED_UNSUPPORTED;  // and of which kind that is
};

}  // namespace weft
