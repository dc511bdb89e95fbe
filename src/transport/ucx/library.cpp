#include "transport/ucx/library.h"

#include <dlfcn.h>

#include <type_traits>

namespace weft::ucx {
namespace {

// The first release in which this transport was tried. Older ones lack parts of active messages.
constexpr unsigned minor_min = 13;

struct Opened {
    Library functions{};
    std::string absence;  // why it cannot be used; empty: it can
};

Opened open_library() {
    Opened opened;
#if defined(__SANITIZE_THREAD__)
    opened.absence = "ThreadSanitizer ends programs that open UCX, which is built without it";
    return opened;
#endif
    void* const ucp = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    void* const ucs = ucp != nullptr ? ::dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (ucs == nullptr) {
        opened.absence = "UCX is not found: " + std::string(::dlerror());
        return opened;
    }
    Library& all = opened.functions;
    const auto find = [&](void* library, auto& function, const char* name) {
        using Function = std::remove_reference_t<decltype(function)>;
        function = reinterpret_cast<Function>(::dlsym(library, name));
        if (function == nullptr) opened.absence = "UCX has no " + std::string(name);
    };
#define WEFT_FIND(library, name) find(library, all.name, #name)
    WEFT_FIND(ucp, ucp_get_version);
    WEFT_FIND(ucp, ucp_config_read);
    WEFT_FIND(ucp, ucp_config_modify);
    WEFT_FIND(ucp, ucp_config_release);
    WEFT_FIND(ucp, ucp_init_version);
    WEFT_FIND(ucp, ucp_cleanup);
    WEFT_FIND(ucp, ucp_context_print_info);
    WEFT_FIND(ucp, ucp_worker_create);
    WEFT_FIND(ucp, ucp_worker_destroy);
    WEFT_FIND(ucp, ucp_worker_get_address);
    WEFT_FIND(ucp, ucp_worker_release_address);
    WEFT_FIND(ucp, ucp_worker_progress);
    WEFT_FIND(ucp, ucp_worker_get_efd);
    WEFT_FIND(ucp, ucp_worker_arm);
    WEFT_FIND(ucp, ucp_worker_set_am_recv_handler);
    WEFT_FIND(ucp, ucp_ep_create);
    WEFT_FIND(ucp, ucp_ep_close_nbx);
    WEFT_FIND(ucp, ucp_am_send_nbx);
    WEFT_FIND(ucp, ucp_am_recv_data_nbx);
    WEFT_FIND(ucp, ucp_am_data_release);
    WEFT_FIND(ucp, ucp_request_check_status);
    WEFT_FIND(ucp, ucp_request_free);
    WEFT_FIND(ucp, ucp_context_query);
    WEFT_FIND(ucs, ucs_status_string);
#undef WEFT_FIND
    if (!opened.absence.empty()) return opened;
    all.ucs_memtype_cache_lookup = reinterpret_cast<decltype(all.ucs_memtype_cache_lookup)>(
        ::dlsym(ucs, "ucs_memtype_cache_lookup"));
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    all.ucp_get_version(&major, &minor, &release);
    if (major != 1 || minor < minor_min)
        opened.absence = "UCX is of version " + all.version() + "; expected 1." +
                         std::to_string(minor_min) + " or a later 1.x";
    return opened;
}

}  // namespace

std::string Library::version() const {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    ucp_get_version(&major, &minor, &release);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

Result<const Library*> library() {
    static const Opened opened = open_library();
    if (!opened.absence.empty())
        return failure(WEFT_REFUSED_UNSUPPORTED, "%s", opened.absence.c_str());
    return &opened.functions;
}

// (The processor can use what is managed.)
const char* device_memory_named(ucs_memory_type_t kind) {
    if (kind == UCS_MEMORY_TYPE_CUDA) return "CUDA";
    if (kind == UCS_MEMORY_TYPE_ROCM) return "ROCm";
    return nullptr;
}

bool is_of_device(std::uint64_t memory_kinds) {
    for (const ucs_memory_type_t kind : {UCS_MEMORY_TYPE_CUDA, UCS_MEMORY_TYPE_ROCM})
        if ((memory_kinds >> kind & 1) != 0) return true;
    return false;
}

const char* device_memory_at(const void* address) {
    static const Library& ucx = **library();
    struct {
        ucs_memory_type_t kind = UCS_MEMORY_TYPE_HOST;
        std::byte rest[124]{};  // more than any release writes
    } found;
    if (ucx.ucs_memtype_cache_lookup == nullptr ||
        ucx.ucs_memtype_cache_lookup(address, 1, &found) != UCS_OK)
        return nullptr;
    return device_memory_named(found.kind);
}

}  // namespace weft::ucx
