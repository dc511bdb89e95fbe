// Where progress threads run: WEFT_PROGRESS_CPUS.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace weft {

// A rank's wish.
struct ProgressCores {
    enum class Kind { anywhere, these, spare };
    Kind kind = Kind::anywhere;
    std::vector<int> cores;  // these; or all that it could use, of which some may be spare

    static Result<ProgressCores> from_environment();
    // "these 7", "spare 0 1 2": as it stands on a card. Anything else: anywhere.
    std::string text() const;
    static ProgressCores parse(const std::string& text);
};

}  // namespace weft
