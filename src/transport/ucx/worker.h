// This process's UCX workers, their addresses, and the devices that they use.
//
// Thread safety: none.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace weft::ucx {

// libucp, opened at run time: one build of Weft works where UCX is missing.
//
// Thread safety: any thread; it is opened once, and stays open, because it changes the process's
// functions for memory.

// The functions that are used, under their own names.
struct Library {
    decltype(&::ucp_get_version) ucp_get_version;
    decltype(&::ucp_config_read) ucp_config_read;
    decltype(&::ucp_config_modify) ucp_config_modify;
    decltype(&::ucp_config_release) ucp_config_release;
    decltype(&::ucp_init_version) ucp_init_version;
    decltype(&::ucp_cleanup) ucp_cleanup;
    decltype(&::ucp_context_print_info) ucp_context_print_info;
    decltype(&::ucp_worker_create) ucp_worker_create;
    decltype(&::ucp_worker_destroy) ucp_worker_destroy;
    decltype(&::ucp_worker_get_address) ucp_worker_get_address;
    decltype(&::ucp_worker_release_address) ucp_worker_release_address;
    decltype(&::ucp_worker_progress) ucp_worker_progress;
    decltype(&::ucp_worker_get_efd) ucp_worker_get_efd;
    decltype(&::ucp_worker_arm) ucp_worker_arm;
    decltype(&::ucp_worker_set_am_recv_handler) ucp_worker_set_am_recv_handler;
    decltype(&::ucp_ep_create) ucp_ep_create;
    decltype(&::ucp_ep_close_nbx) ucp_ep_close_nbx;
    decltype(&::ucp_am_send_nbx) ucp_am_send_nbx;
    decltype(&::ucp_am_recv_data_nbx) ucp_am_recv_data_nbx;
    decltype(&::ucp_am_data_release) ucp_am_data_release;
    decltype(&::ucp_request_check_status) ucp_request_check_status;
    decltype(&::ucp_request_free) ucp_request_free;
    decltype(&::ucp_context_query) ucp_context_query;
    decltype(&::ucs_status_string) ucs_status_string;
    // Finds the kind of memory at an address: it begins `found` with a ucs_memory_type_t. UCX asks
    // it about every buffer, but it is in no header for users: a release may be without it. Null:
    // this one is.
    ucs_status_t (*ucs_memtype_cache_lookup)(const void* address, std::size_t bytes, void* found);

    // "1.13.1". Ranks of one job have the same up to the second dot.
    std::string version() const;
};

// Refused if it is not found, or too old.
Result<const Library*> library();

// Whether some of these kinds, bits of ucs_memory_type_t, can be used by a device only; which one
// this is ("CUDA").
bool is_of_device(std::uint64_t memory_kinds);
const char* device_memory_named(ucs_memory_type_t kind);
// As DeviceMemory, by UCX's knowledge of this address. (Memory that was allocated before UCX was
// opened is unknown.) REQUIRES: library() is there.
const char* device_memory_at(const void* address);

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
// link. Unnamed devices that only UCX reaches are left to one worker: UCX has ways of its own to
// use several such devices.
std::vector<std::string> links_among(const std::vector<Device>& devices,
                                     const Worker::Options& options);

}  // namespace weft::ucx
