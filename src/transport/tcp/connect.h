// Where this rank is reached by TCP, and the transport to those that are.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/job_key.h"
#include "base/status.h"
#include "transport/tcp/tcp.h"

namespace weft {

class TcpNode {
  public:
    // Listens on the chosen interfaces.
    static Result<std::unique_ptr<TcpNode>> prepare(const tcp::Settings& settings);

    // What the other ranks must know; a word without spaces inside, to be given to connect().
    const std::string& card() const { return card_; }

    // So many streams may have a connection of their own to each of these peers at once: as the
    // settings say, and no more than descriptors are left for.
    std::uint32_t dedicated_max(std::size_t peers) const;

    // cards[r] is rank r's card; a rank whose card is empty will not be reachable. Returns at once:
    // connections are made when they are needed, unless the settings say otherwise.
    Result<std::unique_ptr<TcpTransport>> connect(Rank rank, std::span<const std::string> cards,
                                                  const JobKey& key);

  private:
    TcpNode() = default;

    tcp::Settings settings_;
    std::vector<tcp::Address> addresses_;
    std::vector<Fd> listeners_;
    std::string card_;
};

}  // namespace weft
