// Pipelining by hand over Weft's messages, each an operation of its own: all receives of segments
// are started first; a test asks for the first segment that has not come, and starts its send.
#include <algorithm>
#include <vector>

#include "bench/player/players.h"

namespace weft::bench {
namespace {

class ByHand final : public Player {
  public:
    ByHand(const Cell& cell, const Job& world)
        : segment_bytes_(static_cast<std::size_t>(cell.segment)), world_(world) {}
    ~ByHand() override {
        for (auto* requests : {&incoming_, &outgoing_})
            for (weft_request& request : *requests) weft_request_free(&request);
    }

    std::string absence(const Collective& c, const Job&) const override {
        const bool is_bcast = c.name == std::string("ibcast");
        return is_bcast ? "" : "only ibcast is written by hand";
    }
    void start(const Collective&, Case& k) override {
        if (case_ != &k) prepare(k);
        received_ = sent_ = 0;
        is_pending_ = true;
        for (weft_request& request : incoming_) begin(request);
        if (world_.rank == 0) test();
    }
    bool test() override {
        if (!is_pending_) return true;
        const std::size_t segments = outgoing_.size();
        for (; received_ < segments && has_ended(incoming_[received_]); ++received_)
            begin(outgoing_[received_]);
        while (sent_ < received_ && has_ended(outgoing_[sent_])) ++sent_;
        is_pending_ = sent_ < segments;
        return !is_pending_;
    }
    void wait() override {
        while (!test()) {
        }
    }
    void barrier() override { must(weft_barrier(world_.comm), "weft_barrier"); }

  private:
    // A segment from each rank to the next. A null request has no part in it: rank 0 receives
    // nothing, the last rank sends nothing.
    void prepare(Case& k) {
        case_ = &k;
        for (std::size_t at = 0; at < k.bytes; at += segment_bytes_) {
            std::byte* const data = k.recv.data() + at;
            const std::size_t bytes = std::min(segment_bytes_, k.bytes - at);
            weft_request& in = incoming_.emplace_back(WEFT_REQUEST_NULL);
            weft_request& out = outgoing_.emplace_back(WEFT_REQUEST_NULL);
            if (world_.rank > 0)
                must(weft_recv_init(data, bytes, WEFT_BYTE, world_.rank - 1, 0, world_.comm, &in),
                     "weft_recv_init");
            if (world_.rank + 1 < world_.ranks)
                must(weft_send_init(data, bytes, WEFT_BYTE, world_.rank + 1, 0, world_.comm, &out),
                     "weft_send_init");
        }
    }
    static void begin(weft_request& request) {
        if (request != WEFT_REQUEST_NULL) must(weft_start(&request), "weft_start");
    }
    static bool has_ended(weft_request& request) {
        const weft_status status = weft_test(&request);
        if (status != WEFT_PENDING) must(status, "weft_test");
        return status != WEFT_PENDING;
    }

    const std::size_t segment_bytes_;
    const Job world_;
    Case* case_ = nullptr;
    std::vector<weft_request> incoming_;  // by segment
    std::vector<weft_request> outgoing_;
    std::size_t received_ = 0;
    std::size_t sent_ = 0;
    bool is_pending_ = false;
};

}  // namespace

std::unique_ptr<Player> make_by_hand(const Cell& cell, const Job& world, std::string&) {
    return std::make_unique<ByHand>(cell, world);
}

}  // namespace weft::bench
