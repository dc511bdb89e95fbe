// The transports of a process: made ready before the ranks swap cards, connected afterwards.
//
// WEFT_TRANSPORT: auto (the default): ranks of one node over shm, others over tcp; shm; tcp.
//
// Thread safety: none; used once, while the process joins its job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "communicator/card.h"
#include "communicator/process.h"
#include "transport/shm/connect.h"
#if WEFT_HAS_TCP
#include "transport/tcp/connect.h"
#endif

namespace weft {

class Transports {
  public:
    static Result<Transports> prepare();

    // How this rank is reached.
    void write_on(Card& card) const;

    // Reaches every rank of the job by the best way there is, or says to which there is none.
    // Collective over the ranks of a node. Fills transports and routes.
    Status connect(const std::vector<Card>& cards, const JobKey& key, Process::Parts& parts);

  private:
    enum class Wanted : std::uint8_t { any, shm, tcp };

    Status connect_shm(const std::vector<Card>& cards, Process::Parts& parts);
    Status connect_tcp(const std::vector<Card>& cards, const JobKey& key, Process::Parts& parts);

    Wanted wanted_ = Wanted::any;
    std::unique_ptr<ShmNode> shm_;
#if WEFT_HAS_TCP
    std::unique_ptr<TcpNode> tcp_;
#endif
    std::string no_tcp_;  // why there is none
};

}  // namespace weft
