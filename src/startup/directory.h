// A rank of any launcher: the ranks leave their cards in a directory that all of them see.
//
//   rank 0      makes "job": a stamp of this exchange, how many ranks there are, and the key
//   all others  wait for it and make "rank-N": the stamp, a mark of their own, their card
//   rank 0      waits for all of these and makes "cards": the stamp, then of each rank its mark and
//               card
//   all others  wait for it and remove their file
//   rank 0      waits until all are gone and removes "cards", "job" and the directory, if it is empty
//   all others  wait for that
//
// Files of an earlier job are not believed: rank 0 takes only cards with the stamp that it has just
// made, and the others take only cards among which is their own with the mark that they have just
// made. After a failure all files stay, so that every rank sees who is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "startup/shared_files.h"
#include "startup/startup.h"

namespace weft {

class Directory final : public Startup {
  public:
    Directory(Rank rank, Rank ranks, std::string path, std::int64_t timeout_ns)
        : rank_(rank), ranks_(ranks), files_(std::move(path)), timeout_ns_(timeout_ns) {}

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    // A rank that ends before it gave its card cannot be seen: only the deadline tells.
    Result<std::vector<std::string>> exchange(const std::string& card) override;

  private:
    using Found = Result<std::optional<std::string>>;

    // Both make of this rank's entry those of all; an entry is a mark and a card.
    Status lead(std::vector<std::string>& entries);
    Status follow(std::vector<std::string>& entries);

    Result<bool> read_job();
    // What follows the stamp of this exchange; nothing while the file is not there.
    Found read_stamped(const std::string& name);
    Status publish(const std::string& name, std::string_view content);
    Status used_before(const std::string& name) const;

    // Looks with growing pauses, until it is there. After the deadline `late` says whom for.
    Status wait_until(const std::function<Result<bool>()>& is_there,
                      const std::function<Rank()>& late);
    // The first rank after 0, but this one, that has a file, or that has none; 0: no such rank.
    Rank first(bool has_file);

    Rank rank_;
    Rank ranks_;
    SharedFiles files_;
    std::int64_t timeout_ns_;
    std::int64_t deadline_ns_ = 0;
    std::string stamp_;
};

}  // namespace weft
