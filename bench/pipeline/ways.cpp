#include "bench/pipeline/ways.h"

#include <algorithm>
#include <array>
#include <vector>

namespace weft::bench {
namespace {

// True: it has ended.
bool test(weft_request* request) {
    const weft_status status = weft_test(request);
    if (status == WEFT_PENDING) return false;
    must(status, "weft_test");
    return true;
}

class OfWeft final : public ChainBcast {
  public:
    explicit OfWeft(Case& c) : case_(c) {}

    void start() override { must(ibcast_.start(case_, &request_), ibcast_.name); }
    bool query() override { return test(&request_); }

  private:
    const Collective& ibcast_ = **find_collective("ibcast");
    Case& case_;
    weft_request request_ = WEFT_REQUEST_NULL;
};

class ByHand final : public ChainBcast {
  public:
    ByHand(Case& c, std::size_t segment_bytes) : case_(c) {
        for (std::size_t at = 0; at < c.bytes; at += segment_bytes) {
            const weft_region segment = {
                WEFT_RECV_BUFFER, static_cast<std::int64_t>(at),
                static_cast<std::int64_t>(std::min(segment_bytes, c.bytes - at))};
            for (const int parity : {0, 1})
                hops_[static_cast<std::size_t>(parity)].push_back(hop(segment, parity));
        }
    }
    ~ByHand() override {
        for (std::vector<weft_request>& requests : hops_) {
            for (weft_request& request : requests)
                must(weft_request_free(&request), "weft_request_free");
        }
    }

    void start() override {
        received_ = sent_ = 0;
        for (weft_request& request : incoming()) must(weft_start(&request), "weft_start");
        if (case_.job.rank == 0) query();
    }

    bool query() override {
        const std::size_t segments = outgoing().size();
        for (; received_ < segments && test(&incoming()[received_]); ++received_)
            must(weft_start(&outgoing()[received_]), "weft_start");
        while (sent_ < received_ && test(&outgoing()[sent_])) ++sent_;
        return sent_ == segments;
    }

  private:
    // A segment from every even rank, or every odd one, to the next. Has no part in it: rank 0 as a receiver, the last
    // rank as a sender.
    weft_request hop(weft_region segment, int parity) {
        const int rank = case_.job.rank;
        const bool sends = rank % 2 == parity;
        const int peer = sends ? rank + 1 : rank - 1;
        weft_schedule schedule = WEFT_SCHEDULE_NULL;
        must(weft_schedule_create(case_.job.comm, &schedule), "weft_schedule_create");
        if (peer >= 0 && peer < case_.job.ranks) {
            const auto add = sends ? weft_schedule_send : weft_schedule_recv;
            must(add(schedule, segment, peer, nullptr), "weft_schedule_send or _recv");
        }
        must(weft_schedule_seal(schedule), "weft_schedule_seal");
        weft_request request = WEFT_REQUEST_NULL;
        must(weft_schedule_init(schedule, nullptr, case_.recv.data(), WEFT_BYTE, WEFT_OP_NULL,
                                &request),
             "weft_schedule_init");
        must(weft_schedule_free(&schedule), "weft_schedule_free");
        return request;
    }
    std::vector<weft_request>& outgoing() { return hops_[case_.job.rank % 2 == 0 ? 0 : 1]; }
    std::vector<weft_request>& incoming() { return hops_[case_.job.rank % 2 == 0 ? 1 : 0]; }

    Case& case_;
    std::array<std::vector<weft_request>, 2> hops_;  // by segment
    std::size_t received_ = 0;
    std::size_t sent_ = 0;
};

class OverSockets final : public ChainBcast {
  public:
    OverSockets(Case& c, PlainSockets& sockets) : case_(c), sockets_(sockets) {}

    void start() override {
        left_ = case_.recv.as<std::byte>();
        if (case_.job.rank == 0) query();
    }
    bool query() override {
        while (!left_.empty()) {
            const std::size_t bytes =
                case_.job.rank == 0 ? sockets_.send_some(left_) : sockets_.recv_some(left_);
            if (bytes == 0) return false;
            left_ = left_.subspan(bytes);
        }
        return true;
    }

  private:
    Case& case_;
    PlainSockets& sockets_;
    std::span<std::byte> left_;
};

class ByRival final : public ChainBcast {
  public:
    ByRival(Case& c, std::size_t segment_bytes, const Rival& rival, bool in_thread)
        : case_(c), segment_bytes_(segment_bytes), rival_(rival), in_thread_(in_thread) {}

    void start() override { rival_.start_pipeline(case_, segment_bytes_, in_thread_); }
    bool query() override { return rival_.query_pipeline(); }

  private:
    Case& case_;
    const std::size_t segment_bytes_;
    const Rival& rival_;
    const bool in_thread_;
};

class OfRival final : public ChainBcast {
  public:
    OfRival(Case& c, const Rival& rival)
        : rival_(rival), call_(rival, **find_collective("ibcast"), c) {}

    void start() override { call_.start(); }
    bool query() override { return rival_.test(); }

  private:
    const Rival& rival_;
    Rival::Call call_;
};

}  // namespace

std::unique_ptr<ChainBcast> bcast_of_weft(Case& c) { return std::make_unique<OfWeft>(c); }

std::unique_ptr<ChainBcast> bcast_by_hand(Case& c, std::size_t segment_bytes) {
    return std::make_unique<ByHand>(c, segment_bytes);
}

std::unique_ptr<ChainBcast> bcast_by_hand(Case& c, std::size_t segment_bytes, const Rival& rival) {
    return std::make_unique<ByRival>(c, segment_bytes, rival, false);
}

std::unique_ptr<ChainBcast> bcast_over_sockets(Case& c, PlainSockets& sockets) {
    return std::make_unique<OverSockets>(c, sockets);
}

std::unique_ptr<ChainBcast> bcast_by_thread(Case& c, std::size_t segment_bytes,
                                            const Rival& rival) {
    return std::make_unique<ByRival>(c, segment_bytes, rival, true);
}

std::unique_ptr<ChainBcast> bcast_of_rival(Case& c, const Rival& rival) {
    return std::make_unique<OfRival>(c, rival);
}

}  // namespace weft::bench
