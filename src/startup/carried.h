// A rank of a group that another library, an MPI, has brought together: it carries the cards.
//
// The job's key goes the same way, from rank 0: as secret as the messages of that library.
#pragma once

#include "base/bytes.h"
#include "startup/startup.h"
#include "weft/carrier.h"

namespace weft {

class Carried final : public Startup {
  public:
    explicit Carried(const weft_carrier& carrier) : carrier_(carrier) {}

    Rank rank() const override { return carrier_.rank; }
    Rank ranks() const override { return carrier_.ranks; }
    Result<std::vector<std::string>> exchange(const std::string& card) override;

    // Gathers `mine` of every rank into `all`, by rank.
    static Status allgather(const weft_carrier& carrier, Bytes mine, MutBytes all);

  private:
    const weft_carrier& carrier_;
};

}  // namespace weft
