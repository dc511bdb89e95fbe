// The ends of a few ranks' ucx transports in one process.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "support/surroundings.h"
#include "transport/ucx/ucx.h"

namespace weft::test {

class UcxRanks {
  public:
    // `tls`: as UCX_TLS. `links`, by rank: how many workers it has; of ranks beyond that: one. With `alone`, nobody
    // else calls a rank's transport while another one waits: each rank has a thread.
    UcxRanks(Rank ranks, const char* tls, ucx::Settings settings, bool alone = false,
             std::vector<int> links = {}) {
        std::vector<ucx::Workers> workers(static_cast<std::size_t>(ranks));
        std::vector<UcxTransport::Other> others(workers.size());
        links.resize(workers.size(), 1);
        setenv("UCX_TLS", tls, 1);
        for (std::size_t rank = 0; rank < workers.size(); ++rank) {
            ucx::Worker::Options options;
            options.peer_timeout_ns = settings.peer_timeout_ns;
            for (int link = 0; link < links[rank]; ++link) {
                auto opened = ucx::Worker::open(options);
                WEFT_ASSERT(opened.is_ok());
                others[rank].addresses.push_back(opened->front()->address());
                workers[rank].push_back(std::move(opened->front()));
            }
            others[rank].place = {.node = static_cast<std::uint32_t>(rank), .number = 0};
        }
        unsetenv("UCX_TLS");
        if (!alone) settings.while_waiting = [this] { serve_all(); };
        for (Rank rank = 0; rank < ranks; ++rank) {
            UcxTransport::Parts parts;
            parts.rank = rank;
            parts.key = {std::byte{7}};
            parts.workers = std::move(workers[static_cast<std::size_t>(rank)]);
            parts.others = others;
            parts.others[static_cast<std::size_t>(rank)].addresses.clear();
            parts.settings = settings;
            auto made = UcxTransport::create(std::move(parts));
            WEFT_ASSERT(made.is_ok());
            ends_.push_back(std::move(*made));
        }
    }

    ~UcxRanks() {
        // (The others are served while one ends.)
        for (std::size_t rank = 0; rank < ends_.size(); ++rank) take(static_cast<Rank>(rank));
    }

    UcxTransport& at(Rank rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    // The rank's end, for somebody who owns it from now on.
    std::unique_ptr<UcxTransport> take(Rank rank) {
        return std::move(ends_[static_cast<std::size_t>(rank)]);
    }

    // To the others it looks as if the rank's process had ended, if UCX notices: shared memory does not.
    void kill(Rank rank) { at(rank).hang_up(); }

  private:
    void serve_all() {
        for (auto& end : ends_) {
            if (end) end->serve();
        }
    }

    std::vector<std::unique_ptr<UcxTransport>> ends_;
};

}  // namespace weft::test
