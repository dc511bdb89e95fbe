// The base of wrappers: passes everything on to the inner transport.
//
// Thread safety: none. The inner transport outlives the wrapper.
#pragma once

#include "transport/transport.h"

namespace weft {

class ForwardingTransport : public Transport, private Combining {
  public:
    explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

    const char* name() const override { return inner_.name(); }
    Abilities abilities() const override { return inner_.abilities(); }
    Usage usage() const override { return inner_.usage(); }
    std::uint64_t unexpected_messages() const override { return inner_.unexpected_messages(); }
    std::string vain_call(Rank rank) const override { return inner_.vain_call(rank); }
    Posted post_send(const Lane& lane, Bytes data, Token token) override {
        return inner_.post_send(lane, data, token);
    }
    Posted post_recv(const Lane& lane, MutBytes data, Token token) final {
        return receive(lane, data, nullptr, token);
    }
    NextMessage next_on(const Lane& lane) override { return inner_.next_on(lane); }
    std::uint64_t next_changes() const override { return inner_.next_changes(); }
    void expect_from(Rank peer, int change) override { inner_.expect_from(peer, change); }
    Combining* combining() override { return inner_.combining() != nullptr ? this : nullptr; }
    std::size_t poll(std::span<Completion> done) override { return inner_.poll(done); }
    int wait_fd(Sleeper sleeper) const override { return inner_.wait_fd(sleeper); }
    bool arm(Sleeper sleeper) override { return inner_.arm(sleeper); }
    void acknowledge(Sleeper sleeper) override { inner_.acknowledge(sleeper); }
    bool arm_on_demand() override { return inner_.arm_on_demand(); }
    bool demand(Demand how) override { return inner_.demand(how); }
    bool is_demanded() override { return inner_.is_demanded(); }
    bool wake_peers() override { return inner_.wake_peers(); }
    void signal_arrivals(int signal, int thread) override {
        inner_.signal_arrivals(signal, thread);
    }
    std::uint64_t pieces_moved() const override { return inner_.pieces_moved(); }
    bool has_work() const override { return inner_.has_work(); }
    void list_owed(std::vector<Rank>& peers) const override { inner_.list_owed(peers); }
    void cancel_context(std::uint64_t context) override { inner_.cancel_context(context); }
    DedicatedConnections* dedicated_connections() override {
        return inner_.dedicated_connections();
    }
    void dedicate(std::uint64_t context, std::uint32_t streams) override {
        inner_.dedicate(context, streams);
    }
    void open_context(std::uint64_t context) override { inner_.open_context(context); }
    void close_context(std::uint64_t context) override { inner_.close_context(context); }
    void buffer_unknown(bool keep) override { inner_.buffer_unknown(keep); }

  protected:
    // All receives come here. `combination`: null if the receive does not combine.
    virtual Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                           Token token) {
        if (combination == nullptr) return inner_.post_recv(lane, data, token);
        return inner_.combining()->post_recv_combined(lane, data, *combination, token);
    }

    Transport& inner_;

  private:
    Posted post_recv_combined(const Lane& lane, MutBytes data, const Combination& combination,
                              Token token) final {
        return receive(lane, data, &combination, token);
    }
};

}  // namespace weft
