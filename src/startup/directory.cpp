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
#include "startup/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file_limit_signal.h"
#include "base/random.h"
#include "base/read_all.h"

namespace weft {
namespace {

// A file may vanish while it is read; NFS reports that as ESTALE.
bool is_absent() { return errno == ENOENT || errno == ESTALE; }

bool write_all(int fd, std::string_view data) {
    while (!data.empty()) {
        const ssize_t written = ::write(fd, data.data(), data.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        data.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// Small files in a directory of a shared file system, for processes of one user. Not thread safe.
//
// Directory and files belong to the user, and nobody else may write them. Every look opens the
// directory again: that makes NFS ask the server.
class SharedFiles {
  public:
    SharedFiles(std::string path, std::string setting)
        : path_(std::move(path)), setting_(std::move(setting)) {}

    const std::string& path() const { return path_; }
    // The setting that names the directory.
    const std::string& setting() const { return setting_; }

    // Makes the directory, if there is none, with access for the user only.
    Status make_directory() {
        if (::mkdir(path_.c_str(), S_IRWXU) == 0 || errno == EEXIST) return ok;
        return failure(WEFT_REFUSED_SETTING, "cannot make %s = '%s': %s", setting_.c_str(),
                       path_.c_str(), std::strerror(errno));
    }

    // The whole file; nothing: it does not exist.
    Result<std::optional<std::string>> read(const std::string& name) {
        const std::optional<std::string> absent;
        Result<std::optional<Fd>> directory = open_directory();
        if (!directory.is_ok()) return directory.status();
        if (!*directory) return absent;
        Fd file(::openat((*directory)->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file) {
            if (is_absent()) return absent;
            return failed("open", name);
        }
        WEFT_RETURN_IF_NOT_OK(check_owner(file.get(), path_of(name)));
        std::string data;
        if (!read_all(file.get(), data)) {
            if (is_absent()) return absent;
            return failed("read", name);
        }
        if (data.empty()) return absent;  // publish() has not renamed it yet
        return std::optional(std::move(data));
    }

    // Atomic: readers see the file with all of `content`, or no file. False: it existed, and is
    // unchanged.
    Result<bool> publish(const std::string& name, std::string_view content) {
        Result<std::optional<Fd>> directory = open_directory();
        if (!directory.is_ok()) return directory.status();
        if (!*directory) {
            errno = ENOENT;
            return failed("write", name);
        }
        const int at = (*directory)->get();
        // An empty file takes the name first: rename() would replace another process's file.
        Fd claim(::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!claim) {
            if (errno == EEXIST) return false;
            return failed("write", name);
        }
        const std::string unfinished = name + ".unfinished";
        constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
        const FileLimitSignalHeld held;
        Fd file(::openat(at, unfinished.c_str(), flags, 0600));
        if (!file || !write_all(file.get(), content) || ::fsync(file.get()) != 0) {
            return failed("write", unfinished);
        }
        if (::renameat(at, unfinished.c_str(), at, name.c_str()) != 0) return failed("write", name);
        return true;
    }

    Status remove(const std::string& name) {
        if (::unlink(path_of(name).c_str()) == 0) return ok;
        return failed("remove", name);
    }

    // Removes the directory unless it contains other files.
    void remove_directory() { ::rmdir(path_.c_str()); }

  private:
    // Nothing: there is no directory.
    Result<std::optional<Fd>> open_directory() {
        Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory) {
            if (is_absent()) return std::optional<Fd>();
            return failure(WEFT_REFUSED_SETTING, "cannot open %s = '%s': %s", setting_.c_str(),
                           path_.c_str(), std::strerror(errno));
        }
        WEFT_RETURN_IF_NOT_OK(check_owner(directory.get(), path_));
        return std::optional<Fd>(std::move(directory));
    }

    Status check_owner(int fd, const std::string& path) const {
        struct stat about;
        if (::fstat(fd, &about) != 0) {
            return failure(WEFT_REFUSED_STATE, "cannot inspect %s: %s", path.c_str(),
                           std::strerror(errno));
        }
        if (about.st_uid != ::geteuid()) {
            return failure(WEFT_REFUSED_SETTING, "%s belongs to user %u; expected this user, %u",
                           path.c_str(), about.st_uid, ::geteuid());
        }
        if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
            return failure(WEFT_REFUSED_SETTING,
                           "%s has mode %04o: others may write it; expected one like 0700",
                           path.c_str(), about.st_mode & 07777u);
        }
        return ok;
    }

    Status failed(const char* verb, const std::string& name) const {
        return failure(WEFT_REFUSED_STATE, "cannot %s %s: %s", verb, path_of(name).c_str(),
                       std::strerror(errno));
    }

    std::string path_of(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
    std::string setting_;
};

// A stamp of an exchange, or a mark of a rank: random, and so unique.
using Mark = std::array<std::byte, 16>;
constexpr std::size_t mark_bytes = sizeof(Mark);

const std::string job_file = "job";
const std::string cards_file = "cards";

std::string file_of(Rank rank) { return "rank-" + std::to_string(rank); }

std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The content of the first file.
struct Job {
    Mark stamp{};
    std::int64_t ranks = 0;
    JobKey key{};
};
static_assert(sizeof(Job) == sizeof(Mark) + sizeof(std::int64_t) + sizeof(JobKey));

// Each entry preceded by its size.
std::string list_of(const std::vector<std::string>& entries) {
    std::string text;
    for (const std::string& entry : entries) {
        const std::uint64_t bytes = entry.size();
        text += text_of(std::as_bytes(std::span(&bytes, 1))) + entry;
    }
    return text;
}

// Nothing: list_of() did not write this.
std::optional<std::vector<std::string>> parse_list(std::string_view text) {
    std::vector<std::string> entries;
    while (!text.empty()) {
        std::uint64_t bytes = 0;
        if (text.size() < sizeof bytes) return std::nullopt;
        std::memcpy(&bytes, text.data(), sizeof bytes);
        text.remove_prefix(sizeof bytes);
        if (bytes < mark_bytes || bytes > text.size()) return std::nullopt;
        entries.emplace_back(text.substr(0, bytes));
        text.remove_prefix(bytes);
    }
    return entries;
}

class Directory final : public Startup {
  public:
    Directory(const JobRank& place, std::string path, std::string setting)
        : rank_(place.rank),
          ranks_(place.ranks),
          files_(std::move(path), std::move(setting)),
          timeout_ns_(place.timeout_ns) {}

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    // Nobody notices if a rank ends before it has left its card: only the deadline ends the wait.
    Result<std::vector<std::string>> exchange(const std::string& card) override {
        deadline_ns_ = now_ns() + timeout_ns_;
        Mark mark;
        WEFT_RETURN_IF_NOT_OK(random_bytes(mark));
        std::vector<std::string> entries{text_of(mark) + card};
        WEFT_RETURN_IF_NOT_OK(rank_ == 0 ? lead(entries) : follow(entries));
        for (std::string& entry : entries) entry.erase(0, mark_bytes);
        return entries;
    }

  private:
    using Found = Result<std::optional<std::string>>;

    // Both turn this rank's entry, a mark and a card, into those of all ranks.
    Status lead(std::vector<std::string>& entries) {
        if (key_ == JobKey{}) WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        Job job{.ranks = ranks_, .key = key_};
        WEFT_RETURN_IF_NOT_OK(random_bytes(job.stamp));
        stamp_ = text_of(job.stamp);
        WEFT_RETURN_IF_NOT_OK(files_.make_directory());
        const Bytes bytes = std::as_bytes(std::span(&job, 1));
        const Status published =
            publish(job_file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        ::explicit_bzero(&job.key, sizeof job.key);
        WEFT_RETURN_IF_NOT_OK(published);

        for (Rank rank = 1; rank < ranks_; ++rank) {
            const auto has_come = [&]() -> Result<bool> {
                Found entry = read_stamped(file_of(rank));
                if (!entry.is_ok()) return entry.status();
                if (*entry) entries.push_back(std::move(**entry));
                return entry->has_value();
            };
            WEFT_RETURN_IF_NOT_OK(wait_until(has_come, [&] { return rank; }));
        }
        WEFT_RETURN_IF_NOT_OK(publish(cards_file, stamp_ + list_of(entries)));

        for (Rank rank = 1; rank < ranks_; ++rank) {
            const auto has_gone = [&]() -> Result<bool> {
                Found file = files_.read(file_of(rank));
                if (!file.is_ok()) return file.status();
                return !file->has_value();
            };
            WEFT_RETURN_IF_NOT_OK(wait_until(has_gone, [&] { return rank; }));
        }
        WEFT_RETURN_IF_NOT_OK(files_.remove(cards_file));
        WEFT_RETURN_IF_NOT_OK(files_.remove(job_file));
        files_.remove_directory();
        return ok;
    }

    Status follow(std::vector<std::string>& entries) {
        const std::string mine = std::move(entries.front());
        WEFT_RETURN_IF_NOT_OK(wait_until([&] { return read_job(); }, [] { return 0; }));
        WEFT_RETURN_IF_NOT_OK(publish(file_of(rank_), stamp_ + mine));

        std::string list;
        const auto have_come = [&]() -> Result<bool> {
            Found cards = read_stamped(cards_file);
            if (!cards.is_ok()) return cards.status();
            if (*cards) list = std::move(**cards);
            return cards->has_value();
        };
        WEFT_RETURN_IF_NOT_OK(wait_until(have_come, [&] { return first(false); }));
        WEFT_RETURN_IF_NOT_OK(files_.remove(file_of(rank_)));
        std::optional<std::vector<std::string>> all = parse_list(list);
        if (!all || all->size() != static_cast<std::size_t>(ranks_) ||
            (*all)[static_cast<std::size_t>(rank_)] != mine) {
            return used_before(cards_file);
        }
        entries = std::move(*all);

        const auto is_over = [&]() -> Result<bool> {
            Found job = files_.read(job_file);
            if (!job.is_ok()) return job.status();
            return !*job || !(*job)->starts_with(stamp_);
        };
        return wait_until(is_over, [&] { return first(true); });
    }

    Result<bool> read_job() {
        // NFS caches for a while that a name does not exist; it asks the server when it creates
        // one.
        WEFT_RETURN_IF_NOT_OK(files_.make_directory());
        Found job = files_.read(job_file);
        if (!job.is_ok()) return job.status();
        if (!*job) return false;
        std::string& text = **job;
        Job seen;
        if (text.size() == sizeof seen) std::memcpy(&seen, text.data(), sizeof seen);
        ::explicit_bzero(text.data(), text.size());
        key_ = seen.key;
        ::explicit_bzero(&seen.key, sizeof seen.key);
        stamp_ = text_of(seen.stamp);
        if (seen.ranks == ranks_) return true;
        return failure_of_rank(
            WEFT_REFUSED_SETTING, 0,
            "rank 0 has another WEFT_RANKS than %d, or another byte order; expected the "
            "same on every rank",
            ranks_);
    }

    // The content of the file after the stamp of this exchange; nothing: there is no such file yet.
    Found read_stamped(const std::string& name) {
        Found found = files_.read(name);
        if (!found.is_ok() || !*found) return found;
        if (!(*found)->starts_with(stamp_)) return used_before(name);
        return std::optional((*found)->substr(mark_bytes));
    }

    Status publish(const std::string& name, std::string_view content) {
        Result<bool> is_first = files_.publish(name, content);
        if (!is_first.is_ok()) return is_first.status();
        if (*is_first) return ok;
        return failure(
            WEFT_REFUSED_STATE,
            "rank %d has already joined in %s = '%s': the directory belongs to another job, or "
            "another process has this number",
            rank_, files_.setting().c_str(), files_.path().c_str());
    }

    Status used_before(const std::string& name) const {
        return failure(WEFT_REFUSED_STATE,
                       "%s/%s belongs to another job; every job needs its own, empty %s",
                       files_.path().c_str(), name.c_str(), files_.setting().c_str());
    }

    // Polls with a growing backoff until it is there. After the deadline `late` says who is
    // missing.
    Status wait_until(const std::function<Result<bool>()>& is_there,
                      const std::function<Rank()>& late) {
        constexpr std::int64_t pause_min_ns = 500'000;
        constexpr std::int64_t pause_max_ns = 50'000'000;
        for (std::int64_t pause_ns = pause_min_ns;;
             pause_ns = std::min(2 * pause_ns, pause_max_ns)) {
            Result<bool> there = is_there();
            if (!there.is_ok()) return there.status();
            if (*there) return ok;
            const std::int64_t left_ns = deadline_ns_ - now_ns();
            if (left_ns <= 0) {
                const Rank rank = late();
                return failure_of_rank(
                    WEFT_REFUSED_STATE, rank,
                    "rank %d had not joined in %s = '%s' after %g s; WEFT_STARTUP_TIMEOUT sets how "
                    "long to wait",
                    rank, files_.setting().c_str(), files_.path().c_str(),
                    static_cast<double>(timeout_ns_) / 1e9);
            }
            ::usleep(static_cast<useconds_t>(std::min(pause_ns, left_ns) / 1000 + 1));
        }
    }

    // The first rank, other than 0 and this one, that has a file, or that has none; 0: there is
    // none.
    Rank first(bool has_file) {
        for (Rank rank = 1; rank < ranks_; ++rank) {
            if (rank == rank_) continue;
            const Found found = files_.read(file_of(rank));
            if (found.is_ok() && (*found).has_value() == has_file) return rank;
        }
        return 0;
    }

    Rank rank_;
    Rank ranks_;
    SharedFiles files_;
    std::int64_t timeout_ns_;
    std::int64_t deadline_ns_ = 0;
    std::string stamp_;
};

}  // namespace

std::unique_ptr<Startup> startup_in_directory(const JobRank& place, std::string path,
                                              std::string setting) {
    return std::make_unique<Directory>(place, std::move(path), std::move(setting));
}

}  // namespace weft
