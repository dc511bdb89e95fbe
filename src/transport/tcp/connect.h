// This rank's TCP listeners, and the transport to the ranks that have some.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/job_key.h"
#include "base/status.h"
#include "transport/tcp/card.h"
#include "transport/tcp/tcp.h"

namespace weft {

class TcpNode {
  public:
    // Listens on the chosen interfaces; if none was chosen, also where other ranks may reach it.
    static Result<std::unique_ptr<TcpNode>> prepare(const tcp::Settings& settings);

    // The other ranks must pass this to connect(); a word without spaces.
    const std::string& card() const { return card_; }

    // How many streams may have a dedicated connection to each of these peers at once: as many as
    // the settings and the remaining descriptors allow.
    std::uint32_t dedicated_max(std::size_t peers) const;

    // cards[r] is rank r's card; empty: it has none, and will not be reachable. `needed`, by rank:
    // which ranks are reached by this transport; empty: all. Returns at once: connections are made
    // when they are needed, unless the settings say otherwise.
    Result<std::unique_ptr<TcpTransport>> connect(Rank rank, std::span<const std::string> cards,
                                                  const JobKey& key,
                                                  const std::vector<bool>& needed = {});

  private:
    TcpNode() = default;
    void offer_others();
    void keep_callable(tcp::Card& card) const;

    tcp::Settings settings_;
    std::vector<tcp::Address> addresses_;
    std::vector<tcp::Address> others_;  // see tcp::Card
    std::vector<Fd> listeners_;
    std::string card_;
};

}  // namespace weft
