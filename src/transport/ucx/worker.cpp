#include "transport/ucx/worker.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace weft::ucx {
namespace {

struct Modification {
    const char* name;
    std::string value;
};

// What UCX does without a network, or over TCP. (By beginnings of names.)
constexpr std::string_view no_fabric[] = {"self", "tcp",    "posix", "sysv", "cma",
                                          "knem", "xpmem",  "cuda",  "rocm", "gdr_",
                                          "ze_",  "rdmacm", "sockcm"};

bool is_set(const char* name) {
    const char* value = getenv(name);
    return value != nullptr && *value != '\0';
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

// From what UCX prints: "#  resource 1  :  md 1  dev 1  flags -- tcp/lo". There is no function for it.
std::vector<Device> devices_of(const Library& library, ucp_context_h context) {
    char* text = nullptr;
    std::size_t bytes = 0;
    FILE* const file = open_memstream(&text, &bytes);
    if (file == nullptr) return {};
    library.ucp_context_print_info(context, file);
    fclose(file);
    std::istringstream lines(std::string(text, bytes));
    free(text);
    std::vector<Device> devices;
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" resource ") == line.npos) continue;
        const std::string last = line.substr(line.find_last_of(' ') + 1);
        const std::size_t slash = last.find('/');
        if (slash != last.npos) devices.push_back({last.substr(0, slash), last.substr(slash + 1)});
    }
    return devices;
}

// "eth0", "eth0:6", "10.0.0.1": the names of these interfaces.
std::set<std::string> interfaces_named(const std::string& list) {
    std::set<std::string> wanted;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        wanted.insert(word);
        if (word.ends_with(":6") && word.find(':') + 2 == word.size())
            wanted.insert(word.substr(0, word.size() - 2));
    }
    std::set<std::string> names;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return names;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        char host[NI_MAXHOST] = "";
        if (one->ifa_addr != nullptr) {
            const auto family = one->ifa_addr->sa_family;
            const socklen_t length = family == AF_INET    ? sizeof(sockaddr_in)
                                     : family == AF_INET6 ? sizeof(sockaddr_in6)
                                                          : 0;
            if (length > 0)
                getnameinfo(one->ifa_addr, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
        }
        if (wanted.contains(one->ifa_name) || wanted.contains(host)) names.insert(one->ifa_name);
    }
    freeifaddrs(all);
    return names;
}

// The network devices to use; empty: all of them.
std::string chosen_devices(const std::vector<Device>& devices, const Worker::Options& options) {
    if (is_set("UCX_NET_DEVICES")) return "";
    if (!options.only_fabric && options.tcp_interfaces.empty()) return "";
    const std::set<std::string> interfaces = interfaces_named(options.tcp_interfaces);
    std::set<std::string> names;
    for (const Device& device : devices) {
        const bool is_chosen_tcp =
            !options.only_fabric && device.transport == "tcp" && interfaces.contains(device.name);
        if (device.is_fabric() || is_chosen_tcp) names.insert(device.name);
    }
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    return list;
}

std::vector<Modification> modifications_for(const std::vector<Device>& devices,
                                            const Worker::Options& options) {
    std::vector<Modification> modifications;
    const std::string chosen = chosen_devices(devices, options);
    if (!chosen.empty()) modifications.push_back({"NET_DEVICES", chosen});
    // Shared memory tells of a dead peer only if asked to. (UCX names the setting UCX_POSIX_ERROR_HANDLING
    // in the environment, and MM_ERROR_HANDLING here.)
    const bool has_memory = std::ranges::any_of(devices, [](const Device& device) {
        return device.transport == "posix" || device.transport == "sysv";
    });
    if (has_memory && !is_set("UCX_POSIX_ERROR_HANDLING") && !is_set("UCX_SYSV_ERROR_HANDLING"))
        modifications.push_back({"MM_ERROR_HANDLING", "y"});
    if (!is_set("UCX_KEEPALIVE_INTERVAL")) {
        const std::int64_t interval_ms =
            std::max<std::int64_t>(options.peer_timeout_ns / 4'000'000, 1);
        modifications.push_back({"KEEPALIVE_INTERVAL", std::to_string(interval_ms) + "ms"});
    }
    return modifications;
}

// WEFT_INTERFACES names interfaces, and UCX would listen on others. Empty: it does not.
std::string devices_not_chosen(const std::vector<Device>& devices, const Worker::Options& options) {
    if (options.only_fabric || options.tcp_interfaces.empty() || is_set("UCX_NET_DEVICES"))
        return "";
    if (!chosen_devices(devices, options).empty()) return "";
    std::vector<Device> others;
    std::ranges::copy_if(devices, std::back_inserter(others),
                         [](const Device& device) { return device.transport == "tcp"; });
    return names_of(others);
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

Result<std::unique_ptr<Worker>> Worker::open(const Options& options) {
    const Result<const Library*> found = ucx::library();
    if (!found.is_ok()) return found.status();
    const Library& library = **found;
    const Result<std::vector<Device>> devices = list_devices();
    if (!devices.is_ok()) return devices.status();
    if (const std::string others = devices_not_chosen(*devices, options); !others.empty())
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_INTERFACES = '%s'; UCX has no device there, only %s",
                       options.tcp_interfaces.c_str(), others.c_str());
    const Result<ucp_context_h> context =
        make_context(library, modifications_for(*devices, options));
    if (!context.is_ok()) return context.status();

    std::unique_ptr<Worker> made(new Worker);
    made->library_ = &library;
    made->context_ = *context;
    made->devices_ = devices_of(library, *context);
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    ucs_status_t status = library.ucp_worker_create(made->context_, &params, &made->worker_);
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
