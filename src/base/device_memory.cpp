// What CUDA's driver says of an address. Weft neither links nor loads the driver: it asks the one
// that the process has loaded.
//
// The process's libraries are listed by dl_iterate_phdr, which a thread that initializes a library
// does not block; dlopen, which it blocks, is called only for the driver.
#include "base/device_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

namespace weft {
namespace {

// Of cuda.h, which need not be installed.
constexpr int attribute_memory_type = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int attribute_is_managed = 8;   // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr unsigned memory_type_host = 1;  // CU_MEMORYTYPE_HOST
using GetAttribute = int (*)(void* value, int attribute, unsigned long long address);

std::atomic<GetAttribute> get_attribute{nullptr};
std::atomic<unsigned long long> libraries_seen{0};  // as many were loaded at the last look

const char* memory_of_cuda(const void* address) {
    const GetAttribute get = get_attribute.load(std::memory_order_acquire);
    const auto place = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address));
    // (Of memory that it did not allocate the driver knows nothing: an error.)
    unsigned type = memory_type_host;
    if (get(&type, attribute_memory_type, place) != 0 || type == memory_type_host) return nullptr;
    // The processor can use managed memory, too.
    unsigned is_managed = 0;
    if (get(&is_managed, attribute_is_managed, place) == 0 && is_managed != 0) return nullptr;
    return "CUDA";
}

struct DriverSearch {
    unsigned long long loaded = 0;  // libraries so far, as the loader counts them
    bool has_found = false;
    std::array<char, 4096> path{};
};

int look_at(dl_phdr_info* library, std::size_t, void* into) {
    DriverSearch& search = *static_cast<DriverSearch*>(into);
    search.loaded = library->dlpi_adds;
    if (search.loaded == libraries_seen.load(std::memory_order_relaxed)) return 1;
    const char* const path = library->dlpi_name != nullptr ? library->dlpi_name : "";
    const char* const slash = std::strrchr(path, '/');
    if (std::strncmp(slash != nullptr ? slash + 1 : path, "libcuda.so", 10) != 0) return 0;
    std::snprintf(search.path.data(), search.path.size(), "%s", path);
    search.has_found = true;
    return 1;
}

}  // namespace

DeviceMemory cuda_device_memory() {
    if (get_attribute.load(std::memory_order_acquire) != nullptr) return memory_of_cuda;
    DriverSearch search;
    dl_iterate_phdr(look_at, &search);
    libraries_seen.store(search.loaded, std::memory_order_relaxed);
    if (!search.has_found) return nullptr;
    // It stays loaded from now on.
    void* const driver = dlopen(search.path.data(), RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return nullptr;
    void* const function = dlsym(driver, "cuPointerGetAttribute");
    if (function == nullptr) return nullptr;
    get_attribute.store(reinterpret_cast<GetAttribute>(function), std::memory_order_release);
    return memory_of_cuda;
}

}  // namespace weft
