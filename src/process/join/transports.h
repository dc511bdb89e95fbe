// The transports of a process: prepared before the ranks exchange cards, connected afterwards.
//
// WEFT_TRANSPORT: auto (the default: shm within a node; between nodes ucx where both have a device
// that only UCX reaches, else tcp), shm, tcp, ucx, or mpi (the program's MPI for all ranks).
//
// Thread safety: none; used once, while the process joins its job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "base/transport_kind.h"
#include "process/join/card.h"
#include "process/process.h"
#include "transport/mpi/settings.h"
#include "transport/shm/connect.h"
#if WEFT_HAS_TCP
#include "transport/tcp/connect.h"
#endif
#if WEFT_HAS_UCX
#include "transport/ucx/connect.h"
#endif
#include "weft/oob.h"

namespace weft {

// Whether a rank of the job can be reached over several interfaces by tcp.
bool has_several_interfaces(const std::vector<RankCard>& cards);

class Transports {
  public:
    // `oob`: null if there is none. `address`: by which other ranks reach this one, unless the
    // user has said it; empty: unknown.
    static Result<Transports> prepare(const weft_oob* oob, const std::string& address);
    // For processes of several jobs, which reach each other by shm and tcp alone.
    static Result<Transports> prepare_bridge();

    // Writes on the card how at most `ranks` ranks can reach this one.
    void write_on(RankCard& card, Rank ranks) const;

    // Connects to every rank of the job by the best transport, or refuses and names a rank that
    // none reaches. Collective over the ranks of a node. Fills transports and routes.
    Status connect(const std::vector<RankCard>& cards, const JobKey& key, Process::Parts& parts);

  private:
    static Result<TransportKind> wanted_from_environment();
    Status prepare_ucx();
    Status prepare_shm_and_tcp(const std::string& address);
    Status connect_shm(const std::vector<RankCard>& cards, Process::Parts& parts);
    Status connect_mpi(Process::Parts& parts);
    Status connect_ucx(const std::vector<RankCard>& cards, const JobKey& key,
                       Process::Parts& parts);
    Status connect_tcp(const std::vector<RankCard>& cards, const JobKey& key,
                       Process::Parts& parts);

    TransportKind wanted_ = TransportKind::automatic;
    const weft_oob* oob_ = nullptr;  // for wanted_ mpi
    mpi::Settings mpi_settings_;
    std::unique_ptr<ShmNode> shm_;
#if WEFT_HAS_TCP
    std::unique_ptr<TcpNode> tcp_;
#endif
#if WEFT_HAS_UCX
    std::unique_ptr<UcxNode> ucx_;
#endif
    std::string no_tcp_;                                  // why there is no tcp: the sentence,
    weft_status no_tcp_code_ = WEFT_REFUSED_UNSUPPORTED;  // and its status
};

}  // namespace weft
