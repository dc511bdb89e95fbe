// The ends of a few ranks' tcp transports in one process, over loopback.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/tcp/connect.h"

namespace weft::test {

class TcpRanks {
  public:
    TcpRanks(Rank ranks, const tcp::Settings& settings) {
        std::vector<std::unique_ptr<TcpNode>> nodes;
        std::vector<std::string> cards;
        for (Rank rank = 0; rank < ranks; ++rank) {
            nodes.push_back(must(TcpNode::prepare(settings)));
            cards.push_back(nodes.back()->card());
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            ends_.push_back(must(nodes[static_cast<std::size_t>(rank)]->connect(rank, cards, key)));
        }
    }

    TcpTransport& at(Rank rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    // The rank's end, for somebody who owns it from now on.
    std::unique_ptr<TcpTransport> take(Rank rank) {
        return std::move(ends_[static_cast<std::size_t>(rank)]);
    }

    // To the others it looks as if the rank's process had ended. Nobody may use the rank again.
    void kill(Rank rank) { at(rank).hang_up(); }

  private:
    static constexpr JobKey key{std::byte{7}};

    template <class T>
    static T must(Result<T> result) {
        WEFT_ASSERT(result.is_ok());
        return std::move(*result);
    }

    std::vector<std::unique_ptr<TcpTransport>> ends_;
};

}  // namespace weft::test
