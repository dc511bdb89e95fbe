// Startup over a socket to a server of cards (card_server.h), which may be a launcher or rank 0.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "startup/key_value.h"
#include "startup/kinds.h"
#include "startup/startup.h"

namespace weft {

class Served : public Startup {
  public:
    Rank rank() const final { return place_.rank; }
    Rank ranks() const final { return place_.ranks; }
    Result<std::vector<std::string>> exchange(const std::string& card) override;

  protected:
    Served(const JobRank& place, Fd server) : place_(place), server_(std::move(server)) {}

    // The server ended too early.
    virtual Status gone() const = 0;
    // What answers is none.
    virtual Status foreign() const = 0;
    // How long an exchange may take.
    virtual std::int64_t patience_ns() const { return place_.timeout_ns; }

    const JobRank& place() const { return place_; }
    const Fd& server() const { return server_; }
    void set_server(Fd server) { server_ = std::move(server); }
    void hang_up() { server_ = {}; }
    // One exchange, within this time.
    Status swap(const std::string& card, std::int64_t patience_ns, std::vector<std::string>& cards);

  private:
    Status send_all(const void* data, std::size_t bytes);
    Status recv_all(void* data, std::size_t bytes);
    Status last_words();
    Status recv_answer(std::vector<std::string>& cards);
    Status refused(WireAnswer answer);

    JobRank place_;
    Fd server_;
    StartupDeadline deadline_;
};

}  // namespace weft
