// Which algorithm a call uses. This follows from what all ranks know: settings, otherwise the
// number of ranks and bytes, and whether operands are combined on arrival.
//
// Thread safety: immutable, share freely.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "algorithm/catalogue.h"

namespace weft {

struct Choice {
    const algorithm::Algorithm* algorithm = nullptr;
    algorithm::Tuning tuning;
};

// "WEFT_ALGORITHM_BCAST".
std::string setting_of(const algorithm::Family& family);

class Selector {
  public:
    // Forces nothing.
    Selector() = default;

    // Reads WEFT_ALGORITHM_<COLLECTIVE>, such as WEFT_ALGORITHM_BCAST=chain:segment=64K,window=8 or
    // WEFT_ALGORITHM_ALLGATHER=bruck:ports=3. Refuses unknown names and forms with a sentence that
    // lists the known ones, and tuning that the algorithm does not follow.
    static Result<Selector> from_environment();

    // From now on the calls of this collective use what `text` says, as above. `name`: of the
    // setting, for sentences.
    Status force(Collective collective, const std::string& text, const std::string& name);
    Status force(Collective collective, const std::string& text) {
        return force(collective, text, setting_of(algorithm::family_of(collective)));
    }

    // Refuses a call that does not meet the forced algorithm's needs.
    Result<Choice> choose(const algorithm::Agreed& agreed) const;

    // All forced algorithms, to compare with other ranks'.
    std::string text() const;

  private:
    struct Forced {
        Choice choice;
        std::string name;
        std::string text;
    };
    std::array<std::optional<Forced>, collectives> forced_;
};

}  // namespace weft
