// This rank's UCX workers, and the transport to the ranks that have one, too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/device_memory.h"
#include "base/job_key.h"
#include "base/status.h"
#include "transport/ucx/ucx.h"

namespace weft {
namespace ucx {

// A rank's record for the others; a word without spaces.
struct Card {
    std::string version;                 // "1.13": of UCX
    bool has_fabric = false;             // it has a device that only UCX reaches
    bool has_memory = false;             // it has shared memory of UCX's
    std::string processes;               // equal on ranks that see each other's processes
    int process = 0;                     // its number among these
    std::string node;                    // equal on ranks with the same network interfaces
    std::vector<std::string> addresses;  // of its workers, by link; bytes
    // The same of workers without keepalive, for a job whose processes see each other; empty: it
    // has none.
    std::vector<std::string> addresses_here;

    static std::optional<Card> parse(const std::string& text);
    std::string text() const;
};

// Whether auto chooses ucx between ranks with these cards: both have a device that only UCX
// reaches, and the same UCX. Both ends decide alike.
bool suits_auto(const Card& one, const std::optional<Card>& other);

// Whether the rank with the one card can watch the process of the other itself.
bool sees_process(const Card& one, const Card& other);
// Whether neither needs UCX's keepalive for the other: no link between them can be cut, and each
// watches the other's process. Both ends decide alike.
bool needs_no_keepalive(const Card& one, const Card& other);

// Whether this machine may have such a device. Looks without UCX, which takes milliseconds to open.
bool may_have_fabric();

}  // namespace ucx

class UcxNode {
  public:
    // Opens UCX. `only_fabric`: for ranks of other nodes, which tcp would reach otherwise; refused
    // if there is no such device.
    static Result<std::unique_ptr<UcxNode>> prepare(const ucx::Settings& settings,
                                                    bool only_fabric);

    // Tells memory of GPUs; null: UCX knows none on this machine.
    DeviceMemory device_memory() const;

    // The other ranks must pass this to connect().
    std::string card() const;

    // cards[r] is rank r's card; empty: it has none. `needed`, by rank: which ranks are reached by
    // this transport. Refuses a rank that has another UCX, by name. Returns at once, unless it is
    // to connect ahead: endpoints are made when they are needed.
    Result<std::unique_ptr<UcxTransport>> connect(Rank rank, std::span<const std::string> cards,
                                                  const JobKey& key,
                                                  const std::vector<bool>& needed);

  private:
    UcxNode() = default;

    ucx::Card own_card() const;
    bool has_device(bool (ucx::Device::*is_such)() const) const;

    ucx::Settings settings_;
    ucx::Workers workers_;
    // Without keepalive, which crashed survivors over shared memory (decision 15): used where all
    // other ranks are processes that this one can watch itself. UCX has one keepalive for all peers
    // of a worker. Empty: never used.
    ucx::Workers workers_here_;
};

}  // namespace weft
