// LogGP's parameters of a network as `weft bench loggp --json` writes them: small, eager and large
// messages have their own.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/loggp.h"

namespace weft::model {

struct MeasuredParameters {
    // One way in which messages travel. What large ones send before their data is in its
    // parameters.
    struct MeasuredMessages {
        std::int64_t bytes_max = 0;       // of its messages when it was measured
        LogGpParameters parameters = {};  // its overheads are the means of the ends'
        std::int64_t send_overhead_ps = 0;
        std::int64_t recv_overhead_ps = 0;
        std::int64_t byte_send_overhead_ps = 0;
        std::int64_t byte_recv_overhead_ps = 0;
        // The ends work on a message while the network does: a byte takes G from end to end.
        bool are_ends_along = false;
    };
    std::vector<MeasuredMessages> messages;  // by bytes_max

    // Of a message: those of the first way up to whose size it is, otherwise of the last one.
    const MeasuredMessages& messages_of(std::int64_t bytes) const;
    const LogGpParameters& of(std::int64_t bytes) const { return messages_of(bytes).parameters; }
};

// Values below 0, which measurements may give, count as 0. Where L and o are marked as not
// observable, they are those of the messages before. Refuses another text with a sentence that
// names the line.
Result<MeasuredParameters> read_measured(std::string_view text);

}  // namespace weft::model
