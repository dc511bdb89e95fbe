// This process's UCX worker: what it sends from, its address, and which devices it uses.
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
};

// As UCX lists them for this process, with UCX_TLS and UCX_NET_DEVICES as they are.
Result<std::vector<Device>> list_devices();
// "tcp/eth0 posix/memory"
std::string names_of(const std::vector<Device>& devices);

class Worker {
  public:
    struct Options {
        bool only_fabric = false;    // else all devices
        std::string tcp_interfaces;  // WEFT_INTERFACES: where TCP may listen; empty: everywhere
        std::int64_t peer_timeout_ns = 0;
    };

    // UCX_* that are set in the environment are followed before options.
    static Result<std::unique_ptr<Worker>> open(const Options& options);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    const Library& library() const { return *library_; }
    ucp_worker_h get() const { return worker_; }  // null: it has been ended
    void end();
    const std::string& address() const { return address_; }  // bytes
    const std::vector<Device>& devices() const { return devices_; }
    int descriptor() const { return descriptor_; }  // readable after an event, if armed

  private:
    Worker() = default;

    const Library* library_ = nullptr;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    std::string address_;
    std::vector<Device> devices_;
    int descriptor_ = -1;
};

}  // namespace weft::ucx
