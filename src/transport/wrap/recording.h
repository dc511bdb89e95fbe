// A transport that writes down what was posted and told, and passes everything on.
//
// Thread safety: none. The inner transport outlives it.
#pragma once

#include <string>
#include <vector>

#include "transport/transport.h"

namespace weft {

class RecordingTransport final : public Transport {
  public:
    enum class What : std::uint8_t { send, recv, completion, lost, abandon };

    struct Record {
        What what = What::send;
        Lane lane;              // completions know the peer only
        std::size_t bytes = 0;  // posts
        Token token;            // posts and completions
        Posted posted = Posted::pending;
        weft_status code = WEFT_OK;
    };

    explicit RecordingTransport(Transport& inner) : inner_(inner) {}

    const std::vector<Record>& records() const { return records_; }

    // A line for each record, as "send 64 bytes to 1 (context 0, stream 2) op 7: pending".
    std::string text() const;

    const char* name() const override { return inner_.name(); }
    Abilities abilities() const override { return inner_.abilities(); }
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override { return inner_.wait_fd(sleeper); }
    bool arm(Sleeper sleeper) override { return inner_.arm(sleeper); }
    void acknowledge(Sleeper sleeper) override { inner_.acknowledge(sleeper); }
    void abandon(std::uint32_t context) override;

  private:
    Transport& inner_;
    std::vector<Record> records_;
};

}  // namespace weft
