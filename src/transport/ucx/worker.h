// This process's UCX workers: what it sends from, their addresses, and which devices they use.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "transport/ucx/library.h"

namespace weft::ucx {

// A network interface, or a kind of shared memory, as one of UCX's transports uses it.
struct Device {
    std::string transport;  // "tcp", "posix", "rc_mlx5"
    std::string name;       // "eth0", "memory", "mlx5_0:1"

    // It is none that Weft reaches without UCX: no TCP interface, no memory.
    bool is_fabric() const;
    // Ranks of one node reach each other by it.
    bool is_memory() const { return transport == "posix" || transport == "sysv"; }
};

// As UCX lists them for this process, with UCX_TLS and UCX_NET_DEVICES as they are.
Result<std::vector<Device>> list_devices();
// "tcp/eth0 posix/memory"
std::string names_of(const std::vector<Device>& devices);

class Worker;
using Workers = std::vector<std::unique_ptr<Worker>>;

class Worker {
  public:
    struct Options {
        bool only_fabric = false;  // else all devices
        // WEFT_INTERFACES: the devices that are links, and where TCP may listen; empty: everywhere
        std::string interfaces;
        std::int64_t peer_timeout_ns = 0;
        bool keeps_alive = true;  // UCX looks after peers, unless they are watched otherwise
    };

    // One for each link. UCX_* that are set in the environment are followed before options.
    static Result<Workers> open(const Options& options);
    // Further ones with the same devices, but with other options.
    static Result<Workers> open_like(const Workers& workers, const Options& options);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    const Library& library() const { return *library_; }
    ucp_worker_h get() const { return worker_; }  // null: it has been ended
    void end();
    const std::string& address() const { return address_; }  // bytes
    const std::vector<Device>& devices() const { return devices_; }
    int descriptor() const { return descriptor_; }  // readable after an event, if armed
    std::uint64_t memory_kinds() const { return memory_kinds_; }  // bits of ucs_memory_type_t

  private:
    Worker() = default;
    static Result<std::unique_ptr<Worker>> open_one(const Library& library,
                                                    const std::vector<Device>& devices,
                                                    const Options& options,
                                                    const std::string& net_devices);

    const Library* library_ = nullptr;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::string address_;
    std::string net_devices_;  // as UCX_NET_DEVICES; empty: all
    std::vector<Device> devices_;
    int descriptor_ = -1;
    std::uint64_t memory_kinds_ = 0;
};

// Refuses a name in options.interfaces that is no device: its link would be missing, or UCX would
// listen elsewhere. A network interface need not be one if UCX uses none. (UCX_NET_DEVICES, and
// only_fabric, name devices otherwise.)
Status check_interfaces(const std::vector<Device>& devices, const Worker::Options& options);

// For each link the devices that its worker uses, as UCX_NET_DEVICES; none: there is one worker,
// and UCX chooses. Without UCX_NET_DEVICES, each device that is named in options.interfaces is a
// link. What only UCX reaches, and is not named, is left to one worker: UCX has ways of its own to
// use several such devices.
std::vector<std::string> links_among(const std::vector<Device>& devices,
                                     const Worker::Options& options);

}  // namespace weft::ucx
