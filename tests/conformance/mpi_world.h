// The ends of a few ranks' mpi transports in one process, over an MPI channel that does what an MPI may: it
// reads what it sends when the message is received, or before; reports completions in any order and late; and
// receives from several senders in any order. With odd seeds it receives only what has come. It does not run out of
// memory. Its ranks may be threads.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/fifo.h"
#include "base/random.h"
#include "support/injector.h"
#include "transport/mpi/mpi.h"

namespace weft::test {

class FakeMpi {
  public:
    FakeMpi(Rank ranks, std::uint64_t seed)
        : random_(seed), receives_ahead_(seed % 2 == 0), from_(static_cast<std::size_t>(ranks)) {
        for (auto& messages : from_) messages.resize(static_cast<std::size_t>(ranks));
        for (Rank rank = 0; rank < ranks; ++rank) {
            posted_.emplace_back();
            channels_.push_back(std::make_unique<Channel>(Channel{this, rank}));
        }
    }

    Result<std::unique_ptr<MpiTransport>> end(Rank rank, mpi::Settings settings) {
        weft_oob oob{};
        oob.struct_bytes = sizeof oob;
        oob.context = channels_[static_cast<std::size_t>(rank)].get();
        oob.rank = rank;
        oob.ranks = static_cast<int>(from_.size());
        oob.mpi.any_thread = 1;
        oob.mpi.request_bytes = sizeof(Request);
        oob.mpi.open = [](void* context, void** channel) {
            *channel = context;
            return 0;
        };
        oob.mpi.send = [](void* channel, const void* data, int bytes, int to, void* request) {
            const Unharmed here;
            const Channel& own = *static_cast<Channel*>(channel);
            return own.mpi->send(own.rank, data, bytes, to, request);
        };
        oob.mpi.receive = [](void* channel, void* data, int bytes, void* request) {
            const Unharmed here;
            const Channel& own = *static_cast<Channel*>(channel);
            return own.mpi->receive(own.rank, data, bytes, request);
        };
        oob.mpi.test_some = [](void* channel, int count, void* requests, int* ended, int* indices) {
            const Unharmed here;
            return static_cast<Channel*>(channel)->mpi->test_some(count, requests, ended, indices);
        };
        oob.mpi.close = [](void* channel, int, void*) {
            const Channel& own = *static_cast<Channel*>(channel);
            std::lock_guard<std::mutex> lock(own.mpi->mutex_);
            own.mpi->posted_[static_cast<std::size_t>(own.rank)].clear();
            return 0;
        };
        return MpiTransport::create(oob, settings);
    }

  private:
    // 0: none, or reported already.
    using Request = std::uint32_t;
    struct Channel {
        FakeMpi* mpi;
        Rank rank;
    };
    struct Sent {
        std::vector<std::byte> copy;  // or else
        const void* data = nullptr;   // where it still is
        std::size_t bytes = 0;
        Request request = 0;
    };
    struct Posted {
        void* data = nullptr;
        std::size_t bytes = 0;
        Request request = 0;
    };

    // Nothing is given back to the heap, as tests count what is taken from it.
    Request make_request(void* place) {
        if (free_.empty()) {
            ended_.push_back(0);
            free_.push_back(static_cast<Request>(ended_.size()));
        }
        const Request request = free_.back();
        free_.pop_back();
        ended_[request - 1] = 0;
        std::memcpy(place, &request, sizeof request);
        return request;
    }
    void end_request(Request request) { ended_[request - 1] = 1; }

    int send(Rank from, const void* data, int bytes, int to, void* request) {
        std::lock_guard<std::mutex> lock(mutex_);
        Sent sent{{}, data, static_cast<std::size_t>(bytes), 0};
        sent.request = make_request(request);
        if (random_.one_in(2)) {
            if (!spare_.empty()) {
                sent.copy = std::move(spare_.back());
                spare_.pop_back();
            }
            sent.copy.reserve(sizeof(message::Frame) + mpi::payload_max);
            sent.copy.resize(sent.bytes);
            std::memcpy(sent.copy.data(), data, sent.bytes);
            sent.data = nullptr;
            end_request(std::exchange(sent.request, 0));
        }
        from_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)].push(std::move(sent));
        return 0;
    }

    int receive(Rank rank, void* data, int bytes, void* request) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto& posted = posted_[static_cast<std::size_t>(rank)];
        std::size_t come = 0;
        for (const auto& messages : from_[static_cast<std::size_t>(rank)]) come += messages.size();
        if (!receives_ahead_ && come <= posted.size()) {
            std::memset(request, 0, sizeof(Request));
            return WEFT_MPI_NOTHING;
        }
        posted.push({data, static_cast<std::size_t>(bytes), make_request(request)});
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
                posted_[to].pop();
                WEFT_ASSERT(sent.bytes <= posted.bytes);
                std::memcpy(posted.data, sent.data ? sent.data : sent.copy.data(), sent.bytes);
                if (sent.request != 0) end_request(sent.request);
                end_request(posted.request);
                if (!sent.data) spare_.push_back(std::move(sent.copy));
                messages.pop();
            }
        }
    }

    int test_some(int count, void* requests, int* ended, int* indices) {
        std::lock_guard<std::mutex> lock(mutex_);
        deliver();
        *ended = 0;
        for (int i = 0; i < count; ++i) {
            auto* place =
                static_cast<std::byte*>(requests) + sizeof(Request) * static_cast<std::size_t>(i);
            Request request;
            std::memcpy(&request, place, sizeof request);
            if (request == 0 || ended_[request - 1] == 0 || random_.one_in(3)) continue;
            free_.push_back(request);
            request = 0;
            std::memcpy(place, &request, sizeof request);
            indices[(*ended)++] = i;
        }
        return 0;
    }

    std::mutex mutex_;
    Prng random_;
    const bool receives_ahead_;
    std::vector<std::uint8_t> ended_;  // by request
    std::vector<Request> free_;
    std::vector<std::vector<std::byte>> spare_;
    std::vector<std::vector<Fifo<Sent>>> from_;  // by receiver, by sender
    std::vector<Fifo<Posted>> posted_;           // by receiver
    std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace weft::test
