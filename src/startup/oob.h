// Startup over an out-of-band exchange that the program provides, such as its MPI's.
//
// The job's key travels the same way, from rank 0: it is as secret as the messages of that library.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "startup/startup.h"
#include "weft/oob.h"

namespace weft {

// Whether a process is, or was, a rank of a job.
enum class Membership : std::int32_t { none = 0, member = 1, left = 2 };

class OobStartup final : public Startup {
  public:
    // `others_are_members`: set if an exchange is refused for that reason.
    explicit OobStartup(const weft_oob& oob, bool* others_are_members = nullptr)
        : oob_(oob), others_are_members_(others_are_members) {
        set_source("weft_comm_from_oob");
    }

    Rank rank() const override { return oob_.rank; }
    Rank ranks() const override { return oob_.ranks; }
    // For ranks of which none is a member yet. Refuses like agree_on_membership(), and if others
    // are.
    Result<std::vector<std::string>> exchange(const std::string& card) override;

    // The first exchange of every call of weft_comm_from_oob. Refuses on all processes of the group
    // if one has left its job. Collective; blocks.
    static Status agree_on_membership(const weft_oob& oob, Membership mine);

    // Gathers `mine` of every rank into `all`, by rank.
    static Status allgather(const weft_oob& oob, Bytes mine, MutBytes all);

  private:
    struct Head;
    static Result<std::vector<Head>> gather_heads(const weft_oob& oob, const Head& mine);
    static Status compare(const std::vector<Head>& heads);

    const weft_oob& oob_;
    bool* const others_are_members_;
};

}  // namespace weft
