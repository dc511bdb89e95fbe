// The ends of a few ranks' tcp transports in one process, over loopback.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tcp/address.h"
#include "transport/tcp/connect.h"

namespace weft::test {

class TcpRanks {
  public:
    static constexpr JobKey key{std::byte{7}};

    TcpRanks(Rank ranks, const tcp::Settings& settings) {
        std::vector<std::unique_ptr<TcpNode>> nodes;
        for (Rank rank = 0; rank < ranks; ++rank) {
            nodes.push_back(must(TcpNode::prepare(settings)));
            cards_.push_back(nodes.back()->card());
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(
                must(nodes[static_cast<std::size_t>(rank)]->connect(rank, cards_, key)));
        }
    }

    TcpTransport& at(Rank rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    // The rank's end, for somebody who owns it from now on.
    std::unique_ptr<TcpTransport> take(Rank rank) {
        return std::move(ends_[static_cast<std::size_t>(rank)]);
    }

    // To the others it looks as if the rank's process had ended. Nobody may use the rank again.
    void kill(Rank rank) { at(rank).hang_up(); }

    // Where the rank listens.
    tcp::Address address(Rank rank) const {
        return tcp::Card::parse(cards_[static_cast<std::size_t>(rank)])->addresses.front();
    }

  private:
    template <class T>
    static T must(Result<T> result) {
        WEFT_ASSERT(result.is_ok());
        return std::move(*result);
    }

    std::vector<std::string> cards_;
    std::vector<std::unique_ptr<TcpTransport>> ends_;
};

}  // namespace weft::test
