// LogGP's parameters of a network as `weft bench loggp --json` writes them: small, eager and large messages
// have their own.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/loggp.h"

namespace weft::model {

struct MeasuredParameters {
    // One way in which messages travel. What large ones send before their data is in its parameters.
    struct MeasuredMessages {
        std::int64_t bytes_max = 0;  // of its messages when it was measured
        LogGpParameters parameters = {};
    };
    std::vector<MeasuredMessages> messages;  // by bytes_max

    // Of a message: those of the first way up to whose size it is, otherwise of the last one.
    const LogGpParameters& of(std::int64_t bytes) const;
};

// Values below 0, which measurements may give, count as 0. Refuses another text with a sentence that names
// the line.
Result<MeasuredParameters> read_measured(std::string_view text);

}  // namespace weft::model
