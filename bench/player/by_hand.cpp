// Pipelining by hand over Weft's messages, each an operation of its own: all receives of segments
// are started first; a test asks for the first segment that has not come, and starts its send.
#include <algorithm>
#include <array>
#include <vector>

#include "bench/player/players.h"

namespace weft::bench {
namespace {

class ByHand final : public Player {
  public:
    ByHand(const Cell& cell, const Job& world)
        : segment_bytes_(static_cast<std::size_t>(cell.segment)), world_(world) {}
    ~ByHand() override {
        for (std::vector<weft_request>& requests : hops_)
            for (weft_request& request : requests) weft_request_free(&request);
    }

    std::string absence(const Collective& c, const Job&) const override {
        const bool is_bcast = c.name == std::string("ibcast");
        return is_bcast ? "" : "only ibcast is written by hand";
    }
    void start(const Collective&, Case& k) override {
        if (case_ != &k) prepare(k);
        received_ = sent_ = 0;
        is_pending_ = true;
        for (weft_request& request : incoming()) must(weft_start(&request), "weft_start");
        if (world_.rank == 0) test();
    }
    bool test() override {
        if (!is_pending_) return true;
        const std::size_t segments = outgoing().size();
        for (; received_ < segments && has_ended(incoming()[received_]); ++received_)
            must(weft_start(&outgoing()[received_]), "weft_start");
        while (sent_ < received_ && has_ended(outgoing()[sent_])) ++sent_;
        is_pending_ = sent_ < segments;
        return !is_pending_;
    }
    void wait() override {
        while (!test()) {
        }
    }
    void barrier() override { must(weft_barrier(world_.comm), "weft_barrier"); }

  private:
    void prepare(Case& k) {
        case_ = &k;
        for (std::size_t at = 0; at < k.bytes; at += segment_bytes_) {
            const weft_region segment = {
                WEFT_RECV_BUFFER, static_cast<std::int64_t>(at),
                static_cast<std::int64_t>(std::min(segment_bytes_, k.bytes - at))};
            for (const int parity : {0, 1})
                hops_[static_cast<std::size_t>(parity)].push_back(hop(segment, parity));
        }
    }
    static bool has_ended(weft_request& request) {
        const weft_status status = weft_test(&request);
        if (status != WEFT_PENDING) must(status, "weft_test");
        return status != WEFT_PENDING;
    }
    // A segment from every even rank, or every odd one, to the next. Has no part in it: rank 0 as a
    // receiver, the last rank as a sender.
    weft_request hop(weft_region segment, int parity) {
        const bool sends = world_.rank % 2 == parity;
        const int peer = sends ? world_.rank + 1 : world_.rank - 1;
        weft_schedule schedule = WEFT_SCHEDULE_NULL;
        must(weft_schedule_create(world_.comm, &schedule), "weft_schedule_create");
        if (peer >= 0 && peer < world_.ranks) {
            const auto add = sends ? weft_schedule_send : weft_schedule_recv;
            must(add(schedule, segment, peer, nullptr), "weft_schedule_send or _recv");
        }
        must(weft_schedule_seal(schedule), "weft_schedule_seal");
        weft_request request = WEFT_REQUEST_NULL;
        must(weft_schedule_init(schedule, nullptr, case_->recv.data(), WEFT_BYTE, WEFT_OP_NULL,
                                &request),
             "weft_schedule_init");
        must(weft_schedule_free(&schedule), "weft_schedule_free");
        return request;
    }
    std::vector<weft_request>& outgoing() { return hops_[world_.rank % 2 == 0 ? 0 : 1]; }
    std::vector<weft_request>& incoming() { return hops_[world_.rank % 2 == 0 ? 1 : 0]; }

    const std::size_t segment_bytes_;
    const Job world_;
    Case* case_ = nullptr;
    std::array<std::vector<weft_request>, 2> hops_;  // by segment
    std::size_t received_ = 0;
    std::size_t sent_ = 0;
    bool is_pending_ = false;
};

}  // namespace

std::unique_ptr<Player> make_by_hand(const Cell& cell, const Job& world, std::string&) {
    return std::make_unique<ByHand>(cell, world);
}

}  // namespace weft::bench
