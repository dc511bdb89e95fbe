// libucp, opened at run time: one build of Weft works where UCX is missing.
//
// Thread safety: any thread; it is opened once, and stays open, because it changes the process's
// functions for memory.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace weft::ucx {

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
    // Finds what memory an address is: it begins `found` with a ucs_memory_type_t. UCX asks it
    // about every buffer, but it is in no header for users: a release may be without it. Null: this
    // one is.
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
// As DeviceMemory: what UCX knows of this address. (Of memory that was there before UCX, it knows
// nothing.) REQUIRES: library() is there.
const char* device_memory_at(const void* address);

}  // namespace weft::ucx
