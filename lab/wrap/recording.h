// A transport that passes everything on, and records posts and completions.
//
// Thread safety: none. The inner transport outlives it.
#pragma once

#include <string>
#include <vector>

#include "lab/wrap/forwarding.h"

namespace weft {

class RecordingTransport final : public ForwardingTransport {
  public:
    enum class What : std::uint8_t { send, recv, completion, lost, abandon };

    struct Event {
        What what = What::send;
        Lane lane;              // of completions only the peer is known
        std::size_t bytes = 0;  // posts
        Token token;            // posts and completions
        Posted posted = Posted::pending;
        weft_status code = WEFT_OK;
    };

    using ForwardingTransport::ForwardingTransport;

    const std::vector<Event>& records() const { return records_; }

    // A line per record, such as "send 64 bytes to 1 (context 0, stream 2) op 7: pending".
    std::string text() const;

    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    void cancel_context(std::uint64_t context) override;

  private:
    Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                   Token token) override;

    std::vector<Event> records_;
};

}  // namespace weft
