// The ends of a few ranks' mpi transports in one process, over a carrier that does what an MPI may: it
// reads what it sends when the message is received, or before; tells of ends in any order and late; and
// receives from several senders in any order.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "base/prng.h"
#include "transport/mpi/mpi.h"

namespace weft::test {

class FakeMpi {
  public:
    FakeMpi(Rank ranks, std::uint64_t seed)
        : random_(seed), from_(static_cast<std::size_t>(ranks)) {
        for (auto& messages : from_) messages.resize(static_cast<std::size_t>(ranks));
        for (Rank rank = 0; rank < ranks; ++rank) {
            posted_.emplace_back();
            channels_.push_back(std::make_unique<Channel>(Channel{this, rank}));
        }
    }

    Result<std::unique_ptr<MpiTransport>> end(Rank rank, mpi::Settings settings) {
        weft_carrier carrier{};
        carrier.struct_bytes = sizeof carrier;
        carrier.context = channels_[static_cast<std::size_t>(rank)].get();
        carrier.rank = rank;
        carrier.ranks = static_cast<int>(from_.size());
        carrier.request_bytes = sizeof(Request);
        carrier.open = [](void* context, void** channel) {
            *channel = context;
            return 0;
        };
        carrier.send = [](void* channel, const void* data, int bytes, int to, void* request) {
            const Channel& own = *static_cast<Channel*>(channel);
            return own.mpi->send(own.rank, data, bytes, to, request);
        };
        carrier.receive = [](void* channel, void* data, int bytes, void* request) {
            const Channel& own = *static_cast<Channel*>(channel);
            return own.mpi->receive(own.rank, data, bytes, request);
        };
        carrier.test_some = [](void* channel, int count, void* requests, int* ended, int* indices) {
            return static_cast<Channel*>(channel)->mpi->test_some(count, requests, ended, indices);
        };
        carrier.close = [](void* channel, int, void*) {
            const Channel& own = *static_cast<Channel*>(channel);
            own.mpi->posted_[static_cast<std::size_t>(own.rank)].clear();
            return 0;
        };
        return MpiTransport::create(carrier, settings);
    }

  private:
    // 0: none, or told already.
    using Request = std::uint32_t;
    struct Channel {
        FakeMpi* mpi;
        Rank rank;
    };
    struct Sent {
        std::vector<std::byte> copy;  // or, when empty,
        const void* data = nullptr;   // where it still is
        std::size_t bytes = 0;
        Request request = 0;
    };
    struct Posted {
        void* data;
        std::size_t bytes;
        Request request;
    };

    Request make_request(void* place) {
        states_.push_back(false);
        const auto request = static_cast<Request>(states_.size());
        std::memcpy(place, &request, sizeof request);
        return request;
    }
    void end_request(Request request) { states_[request - 1] = true; }

    int send(Rank from, const void* data, int bytes, int to, void* request) {
        Sent sent{{}, data, static_cast<std::size_t>(bytes), 0};
        sent.request = make_request(request);
        if (random_.one_in(2)) {
            sent.copy.resize(sent.bytes);
            std::memcpy(sent.copy.data(), data, sent.bytes);
            sent.data = nullptr;
            end_request(sent.request);
        }
        from_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)].push_back(
            std::move(sent));
        return 0;
    }

    int receive(Rank rank, void* data, int bytes, void* request) {
        posted_[static_cast<std::size_t>(rank)].push_back(
            {data, static_cast<std::size_t>(bytes), make_request(request)});
        return 0;
    }

    // Messages meet receives while somebody tests.
    void deliver() {
        for (std::size_t to = 0; to < from_.size(); ++to) {
            for (std::size_t tries = from_.size(); tries > 0 && !posted_[to].empty(); --tries) {
                auto& messages = from_[to][random_.below(from_.size())];
                if (messages.empty()) continue;
                Sent& sent = messages.front();
                const Posted posted = posted_[to].front();
                posted_[to].pop_front();
                WEFT_ASSERT(sent.bytes <= posted.bytes);
                std::memcpy(posted.data, sent.data ? sent.data : sent.copy.data(), sent.bytes);
                end_request(sent.request);
                end_request(posted.request);
                messages.pop_front();
            }
        }
    }

    int test_some(int count, void* requests, int* ended, int* indices) {
        deliver();
        *ended = 0;
        for (int i = 0; i < count; ++i) {
            auto* place =
                static_cast<std::byte*>(requests) + sizeof(Request) * static_cast<std::size_t>(i);
            Request request;
            std::memcpy(&request, place, sizeof request);
            if (request == 0 || !states_[request - 1] || random_.one_in(3)) continue;
            request = 0;
            std::memcpy(place, &request, sizeof request);
            indices[(*ended)++] = i;
        }
        return 0;
    }

    Prng random_;
    std::vector<bool> states_;                         // of requests: ended
    std::vector<std::vector<std::deque<Sent>>> from_;  // by receiver, by sender
    std::vector<std::deque<Posted>> posted_;           // by receiver
    std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace weft::test
