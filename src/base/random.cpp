#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/error_text.h"
#include "base/fd.h"

namespace weft {
namespace {

// Fills `out` by `get(into, bytes)`; false: errno says why it cannot.
template <class Get>
bool fill(MutBytes out, Get get) {
    while (!out.empty()) {
        const ssize_t got = get(out.data(), out.size());
        if (got > 0) {
            out = out.subspan(static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            if (got == 0) errno = EIO;
            return false;
        }
    }
    return true;
}

}  // namespace

Status random_bytes(MutBytes out) {
    if (fill(out, [](void* into, std::size_t bytes) { return ::getrandom(into, bytes, 0); }))
        return ok;
    // A sandbox, or an old kernel, may lack the call.
    const std::string without = error_text(errno);
    const Fd device(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
    if (device &&
        fill(out, [&](void* into, std::size_t bytes) { return ::read(device.get(), into, bytes); }))
        return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "no random numbers from the kernel: getrandom: %s; /dev/urandom: %s",
                   without.c_str(), error_text(errno).c_str());
}

Result<std::string> random_name() {
    std::array<std::byte, 16> bytes{};
    WEFT_RETURN_IF_NOT_OK(random_bytes(bytes));
    std::string name;
    for (const std::byte byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
        name += digits;
    }
    return name;
}

std::uint64_t number_of(const std::string& name) {
    return std::strtoull(name.substr(0, 16).c_str(), nullptr, 16);
}

}  // namespace weft
