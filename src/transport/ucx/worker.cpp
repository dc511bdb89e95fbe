#include "transport/ucx/worker.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/fd.h"
#include "base/file_limit_signal.h"
#include "base/setting.h"
#include "base/thread.h"

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

// (The processor can use managed memory.)
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

namespace {

struct Modification {
    const char* name;
    std::string value;
};

// UCX's transports without a network, or over TCP. (By beginnings of names.)
constexpr std::string_view no_fabric[] = {"self", "tcp",    "posix", "sysv", "cma",
                                          "knem", "xpmem",  "cuda",  "rocm", "gdr_",
                                          "ze_",  "rdmacm", "sockcm"};

bool is_set(const char* name) {
    const char* value = getenv(name);
    return value != nullptr && *value != '\0';
}

// UCX 1.13 aborts the process without enough descriptors, or without a thread.
Status check_descriptors(std::size_t devices) {
    const std::size_t needed = 8 + 2 * devices;
    const std::size_t left = descriptors_left();
    if (left >= needed) return ok;
    return failure(WEFT_REFUSED_MEMORY,
                   "UCX needs %zu descriptors or more; %zu are free (ulimit -n is %zu)", needed,
                   left, descriptors_max());
}

Status check_resources() {
    WEFT_RETURN_IF_NOT_OK(check_descriptors(/*devices=*/1));
    if (run_in_thread([] {}) == 0) return ok;
    return failure(WEFT_REFUSED_MEMORY, "UCX needs a thread, and none could be started");
}

Status refused_for_limit(const Library& library) {
    rlimit limit{};
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    return failure(WEFT_REFUSED_MEMORY,
                   "UCX %s cannot create its shared memory: no file may be larger than %llu "
                   "bytes (ulimit -f, RLIMIT_FSIZE)",
                   library.version().c_str(), static_cast<unsigned long long>(limit.rlim_cur));
}

Status refused(const Library& library, const char* what, ucs_status_t status) {
    const char* tls = getenv("UCX_TLS");
    const char* devices = getenv("UCX_NET_DEVICES");
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "UCX %s cannot %s: %s (UCX_TLS='%s', UCX_NET_DEVICES='%s')",
                   library.version().c_str(), what, library.ucs_status_string(status),
                   tls != nullptr ? tls : "", devices != nullptr ? devices : "");
}

Result<ucp_context_h> make_context(const Library& library,
                                   const std::vector<Modification>& modifications) {
    ucp_config_t* config = nullptr;
    ucs_status_t status = library.ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK) return refused(library, "read its settings", status);
    // (Not every release knows all of them.)
    for (const Modification& one : modifications)
        (void)library.ucp_config_modify(config, one.name, one.value.c_str());
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    // Without TAG, UCX 1.13 takes transports that cannot wake a sleeper.
    params.features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
    ucp_context_h context = nullptr;
    status = library.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context);
    library.ucp_config_release(config);
    if (status != UCS_OK) return refused(library, "use any device", status);
    return context;
}

// From UCX's output: "#  resource 1  :  md 1  dev 1  flags -- tcp/lo". There is no function for
//                           it.
std::vector<Device> devices_of(const Library& library, ucp_context_h context) {
    char* text = nullptr;
    std::size_t bytes = 0;
    FILE* const file = open_memstream(&text, &bytes);
    if (file == nullptr) return {};
    library.ucp_context_print_info(context, file);
    fclose(file);
    const std::string printed(text, bytes);
    free(text);
    std::vector<Device> devices;
    for (std::string_view lines = printed; !lines.empty();) {
        const std::string line(take_until(lines, "\n"));
        if (line.find(" resource ") == line.npos) continue;
        const std::string last = line.substr(line.find_last_of(' ') + 1);
        const std::size_t slash = last.find('/');
        if (slash != last.npos) devices.push_back({last.substr(0, slash), last.substr(slash + 1)});
    }
    return devices;
}

// "10.0.0.1", "fd00::1": the interface that has this address; itself, if there is none.
std::string interface_with(const std::string& address) {
    std::string name = address;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return name;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) continue;
        const auto family = one->ifa_addr->sa_family;
        const socklen_t length = family == AF_INET    ? sizeof(sockaddr_in)
                                 : family == AF_INET6 ? sizeof(sockaddr_in6)
                                                      : 0;
        char host[NI_MAXHOST] = "";
        if (length > 0)
            getnameinfo(one->ifa_addr, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
        if (address == host) name = one->ifa_name;
    }
    freeifaddrs(all);
    return name;
}

// Of "eth0,eth1:6,10.2.0.1,mlx5_0:1", in this order, each once.
std::vector<std::string> devices_named(const std::string& list) {
    std::vector<std::string> names;
    for (std::string_view words = list; !words.empty();) {
        std::string word(take_until(words, ","));
        if (word.ends_with(":6") && word.find(':') + 2 == word.size()) word.resize(word.size() - 2);
        const std::string name = interface_with(word);
        if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
    return names;
}

std::vector<Modification> modifications_for(const std::vector<Device>& devices,
                                            const Worker::Options& options,
                                            const std::string& net_devices) {
    std::vector<Modification> modifications;
    if (!net_devices.empty()) modifications.push_back({"NET_DEVICES", net_devices});
    // Shared memory tells of a dead peer only if asked to. (UCX names the setting
    // UCX_POSIX_ERROR_HANDLING in the environment, and MM_ERROR_HANDLING here.)
    const bool has_memory = std::ranges::any_of(devices, &Device::is_memory);
    if (has_memory && !is_set("UCX_POSIX_ERROR_HANDLING") && !is_set("UCX_SYSV_ERROR_HANDLING"))
        modifications.push_back({"MM_ERROR_HANDLING", "y"});
    if (!is_set("UCX_KEEPALIVE_INTERVAL")) {
        const std::int64_t interval_ms =
            std::max<std::int64_t>(options.peer_timeout_ns / 4'000'000, 1);
        modifications.push_back({"KEEPALIVE_INTERVAL",
                                 options.keeps_alive ? std::to_string(interval_ms) + "ms" : "inf"});
    }
    return modifications;
}

}  // namespace

bool Device::is_fabric() const {
    return std::ranges::none_of(
        no_fabric, [this](std::string_view known) { return transport.starts_with(known); });
}

Result<std::vector<Device>> list_devices() {
    const Result<const Library*> found = library();
    if (!found.is_ok()) return found.status();
    const Result<ucp_context_h> context = make_context(**found, {});
    if (!context.is_ok()) return context.status();
    std::vector<Device> devices = devices_of(**found, *context);
    (*found)->ucp_cleanup(*context);
    return devices;
}

std::string names_of(const std::vector<Device>& devices) {
    std::string text;
    for (const Device& device : devices)
        text += (text.empty() ? "" : " ") + device.transport + "/" + device.name;
    return text;
}

Status check_interfaces(const std::vector<Device>& devices, const Worker::Options& options) {
    if (options.only_fabric || is_set("UCX_NET_DEVICES")) return ok;
    std::vector<Device> usable;
    std::ranges::copy_if(devices, std::back_inserter(usable), [](const Device& device) {
        return device.transport == "tcp" || device.is_fabric();
    });
    const bool uses_tcp = std::ranges::count(usable, "tcp", &Device::transport) > 0;
    for (const std::string& name : devices_named(options.interfaces)) {
        if (std::ranges::count(usable, name, &Device::name) > 0) continue;
        if (!uses_tcp && if_nametoindex(name.c_str()) != 0) continue;
        const std::string known = usable.empty() ? "memory" : names_of(usable);
        // (The program's user has perhaps never heard of the setting.)
        if (name == "lo") {
            return failure(
                WEFT_REFUSED_SETTING,
                "UCX has no device for the loopback interface lo, only %s; ranks that "
                "weft run starts on one machine use it (WEFT_INTERFACES chooses another)",
                known.c_str());
        }
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_INTERFACES names '%s'; UCX has no such device, only %s", name.c_str(),
                       known.c_str());
    }
    return ok;
}

std::vector<std::string> links_among(const std::vector<Device>& devices,
                                     const Worker::Options& options) {
    if (is_set("UCX_NET_DEVICES")) return {};
    std::set<std::string> fabric;
    std::set<std::string> usable;
    for (const Device& device : devices) {
        if (device.is_fabric()) fabric.insert(device.name);
        if (device.is_fabric() || (device.transport == "tcp" && !options.only_fabric))
            usable.insert(device.name);
    }
    std::vector<std::string> links;
    std::ranges::copy_if(devices_named(options.interfaces), std::back_inserter(links),
                         [&](const std::string& name) { return usable.contains(name); });
    const bool leaves_fabric =
        std::ranges::none_of(links, [&](const std::string& name) { return fabric.contains(name); });
    const bool may_use_all = !options.only_fabric && options.interfaces.empty();
    if (fabric.empty() || !leaves_fabric || may_use_all) return links;
    links.insert(links.begin(), fabric.begin(), fabric.end());
    std::string together;
    for (const std::string& name : links) together += (together.empty() ? "" : ",") + name;
    return {together};
}

Result<Workers> Worker::open(const Options& options) {
    const Result<const Library*> found = ucx::library();
    if (!found.is_ok()) return found.status();
    WEFT_RETURN_IF_NOT_OK(check_resources());
    const Result<std::vector<Device>> devices = list_devices();
    if (!devices.is_ok()) return devices.status();
    WEFT_RETURN_IF_NOT_OK(check_interfaces(*devices, options));
    if (std::ranges::count(*devices, "self", &Device::transport) == std::ranges::ssize(*devices))
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "UCX %s reaches no other rank: it has only %s (UCX_TLS='%s')",
                       (*found)->version().c_str(), names_of(*devices).c_str(),
                       is_set("UCX_TLS") ? getenv("UCX_TLS") : "");
    std::vector<std::string> links = links_among(*devices, options);
    if (links.empty()) links.emplace_back();
    Workers workers;
    for (const std::string& net_devices : links) {
        Result<std::unique_ptr<Worker>> worker = open_one(**found, *devices, options, net_devices);
        if (!worker.is_ok()) return worker.status();
        workers.push_back(std::move(*worker));
    }
    return workers;
}

Result<Workers> Worker::open_like(const Workers& workers, const Options& options) {
    Workers more;
    for (const auto& worker : workers) {
        Result<std::unique_ptr<Worker>> one =
            open_one(worker->library(), worker->devices(), options, worker->net_devices_);
        if (!one.is_ok()) return one.status();
        more.push_back(std::move(*one));
    }
    return more;
}

// `net_devices`: as UCX_NET_DEVICES; empty: all.
Result<std::unique_ptr<Worker>> Worker::open_one(const Library& library,
                                                 const std::vector<Device>& devices,
                                                 const Options& options,
                                                 const std::string& net_devices) {
    WEFT_RETURN_IF_NOT_OK(check_descriptors(devices.size()));
    const Result<ucp_context_h> context =
        make_context(library, modifications_for(devices, options, net_devices));
    if (!context.is_ok()) return context.status();

    const FileLimitSignalHeld held;
    std::unique_ptr<Worker> made(new Worker);
    made->library_ = &library;
    made->net_devices_ = net_devices;
    made->context_ = *context;
    made->devices_ = devices_of(library, *context);
    ucp_context_attr_t attributes{};
    attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
    if (library.ucp_context_query(made->context_, &attributes) == UCS_OK)
        made->memory_kinds_ = attributes.memory_types;
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    ucs_status_t status = library.ucp_worker_create(made->context_, &params, &made->worker_);
    if (status != UCS_OK && held.has_come()) return refused_for_limit(library);
    if (status != UCS_OK) return refused(library, "make a worker", status);
    status = library.ucp_worker_get_efd(made->worker_, &made->descriptor_);
    if (status != UCS_OK) return refused(library, "wake a sleeper", status);
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    status = library.ucp_worker_get_address(made->worker_, &address, &bytes);
    if (status != UCS_OK) return refused(library, "tell its address", status);
    made->address_.assign(reinterpret_cast<const char*>(address), bytes);
    library.ucp_worker_release_address(made->worker_, address);
    return made;
}

Worker::~Worker() { end(); }

void Worker::end() {
    if (worker_ != nullptr) library_->ucp_worker_destroy(std::exchange(worker_, nullptr));
    if (context_ != nullptr) library_->ucp_cleanup(std::exchange(context_, nullptr));
}

}  // namespace weft::ucx
