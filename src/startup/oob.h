// Startup over an out-of-band exchange that the program provides, such as its MPI's.
//
// The job's key goes the same way, from rank 0: it is as secret as the messages of that library.
#pragma once

#include "base/bytes.h"
#include "startup/startup.h"
#include "weft/oob.h"

namespace weft {

class OobStartup final : public Startup {
  public:
    explicit OobStartup(const weft_oob& oob) : oob_(oob) {}

    Rank rank() const override { return oob_.rank; }
    Rank ranks() const override { return oob_.ranks; }
    Result<std::vector<std::string>> exchange(const std::string& card) override;

    // Gathers `mine` of every rank into `all`, by rank.
    static Status allgather(const weft_oob& oob, Bytes mine, MutBytes all);

  private:
    const weft_oob& oob_;
};

}  // namespace weft
