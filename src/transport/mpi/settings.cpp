#include "transport/mpi/settings.h"

#include <optional>

#include "transport/common/eager_threshold.h"

namespace weft::mpi {

Result<Settings> Settings::from_environment() {
    Settings settings;
    Result<std::optional<std::size_t>> threshold = eager_threshold_from_environment();
    if (!threshold.is_ok()) return threshold.status();
    if (*threshold) settings.eager_threshold = **threshold;
    return settings;
}

}  // namespace weft::mpi
