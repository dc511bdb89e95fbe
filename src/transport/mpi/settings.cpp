#include "transport/mpi/settings.h"

#include <optional>

#include "transport/common/rendezvous.h"

namespace weft::mpi {

Result<Settings> Settings::from_environment() {
    Settings settings;
    Result<std::optional<std::size_t>> bytes = rendezvous_bytes_from_environment();
    if (!bytes.is_ok()) return bytes.status();
    if (*bytes) settings.whole_below = **bytes;
    return settings;
}

}  // namespace weft::mpi
