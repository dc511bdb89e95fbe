// A process that no launcher started as a rank: a job of one rank.
#pragma once

#include "base/random.h"
#include "startup/startup.h"

namespace weft {

class Alone final : public Startup {
  public:
    Rank rank() const override { return 0; }
    Rank ranks() const override { return 1; }
    Result<std::vector<std::string>> exchange(const std::string& card) override {
        WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        return std::vector<std::string>{card};
    }
};

}  // namespace weft
