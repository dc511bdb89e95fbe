// Startup under any launcher: the ranks exchange their cards through a shared directory.
//
//   rank 0      makes "job": a stamp of this exchange, the number of ranks, and the key
//   all others  wait for it and make "rank-N": the stamp, their mark, their card
//   rank 0      waits for all of these and makes "cards": the stamp, then of each rank its mark and
//               card
//   all others  wait for it and remove their file
//   rank 0      waits until all are gone and removes "cards", "job" and the directory, if it is
//               empty
//   all others  wait for that
//
// Files of an earlier job are ignored: rank 0 accepts only cards with the stamp that it has just
// made, and the others accept only lists of cards that include theirs with the mark that they have
// just made. After a failure all files stay, so that every rank sees which ranks are missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "startup/startup.h"

namespace weft {

// Small files in a directory of a shared file system, for processes of one user. Not thread safe.
//
// Directory and files belong to the user, and nobody else may write them. Every look opens the
// directory again: that makes NFS ask the server.

class SharedFiles {
  public:
    explicit SharedFiles(std::string path) : path_(std::move(path)) {}

    const std::string& path() const { return path_; }

    // Makes the directory, if there is none, with access for the user only.
    Status make_directory();

    // The whole file; nothing: it does not exist.
    Result<std::optional<std::string>> read(const std::string& name);

    // Atomic: readers see the file with all of `content`, or no file. False: it existed, and is
    // unchanged.
    Result<bool> publish(const std::string& name, std::string_view content);

    Status remove(const std::string& name);
    // Removes the directory unless it contains other files.
    void remove_directory();

  private:
    // Nothing: there is no directory.
    Result<std::optional<Fd>> open_directory();
    Status check_owner(int fd, const std::string& path) const;
    Status failed(const char* verb, const std::string& name) const;
    std::string path_of(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
};

class Directory final : public Startup {
  public:
    Directory(Rank rank, Rank ranks, std::string path, std::int64_t timeout_ns)
        : rank_(rank), ranks_(ranks), files_(std::move(path)), timeout_ns_(timeout_ns) {}

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    // Nobody notices if a rank ends before it has left its card: only the deadline ends the wait.
    Result<std::vector<std::string>> exchange(const std::string& card) override;

  private:
    using Found = Result<std::optional<std::string>>;

    // Both turn this rank's entry, a mark and a card, into those of all ranks.
    Status lead(std::vector<std::string>& entries);
    Status follow(std::vector<std::string>& entries);

    Result<bool> read_job();
    // The content of the file after the stamp of this exchange; nothing: there is no such file yet.
    Found read_stamped(const std::string& name);
    Status publish(const std::string& name, std::string_view content);
    Status used_before(const std::string& name) const;

    // Polls with a growing backoff until it is there. After the deadline `late` says who is
    // missing.
    Status wait_until(const std::function<Result<bool>()>& is_there,
                      const std::function<Rank()>& late);
    // The first rank, other than 0 and this one, that has a file, or that has none; 0: there is
    // none.
    Rank first(bool has_file);

    Rank rank_;
    Rank ranks_;
    SharedFiles files_;
    std::int64_t timeout_ns_;
    std::int64_t deadline_ns_ = 0;
    std::string stamp_;
};

}  // namespace weft
