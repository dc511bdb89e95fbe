#include "weft/switch/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "weft/namespaces.h"

namespace weft {
namespace {

constexpr const char* tun_path = "/dev/net/tun";
constexpr unsigned long offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;

const char* advice(int error) {
    switch (error) {
        case EACCES:
        case EPERM: return "; root can let everyone open it: chmod 666 /dev/net/tun";
        case ENOENT:
        case ENODEV:
        case ENXIO:
            return "; root can load the module tun, and a container has to be given the file";
        case EMFILE: return "; raise ulimit -n";
        default: return "";
    }
}

}  // namespace

Result<Fd> make_tap(int network, const std::string& name) {
    Fd tap(open_in(network, tun_path));
    if (!tap) {
        const int error = errno;
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "--delay, --jitter and --loss need %s, which cannot be opened: %s%s",
                       tun_path, std::strerror(error), advice(error));
    }
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name.c_str());
    if (::ioctl(tap.get(), TUNSETIFF, &request) != 0 ||
        ::ioctl(tap.get(), TUNSETOFFLOAD, offloads) != 0 ||
        ::fcntl(tap.get(), F_SETFL, O_NONBLOCK) != 0) {
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "cannot make the TAP device %s for --delay, --jitter and --loss: %s",
                       name.c_str(), std::strerror(errno));
    }
    return Result<Fd>(std::move(tap));
}

}  // namespace weft
