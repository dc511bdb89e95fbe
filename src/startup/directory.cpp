#include "startup/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/file_limit_signal.h"
#include "base/random.h"

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

bool read_all(int fd, std::string& data) {
    char part[65536];
    for (;;) {
        const ssize_t got = ::read(fd, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got == 0;
        data.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace

Status SharedFiles::failed(const char* verb, const std::string& name) const {
    return failure(WEFT_REFUSED_STATE, "cannot %s %s: %s", verb, path_of(name).c_str(),
                   std::strerror(errno));
}

Status SharedFiles::check_owner(int fd, const std::string& path) const {
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

Status SharedFiles::make_directory() {
    if (::mkdir(path_.c_str(), S_IRWXU) == 0 || errno == EEXIST) return ok;
    return failure(WEFT_REFUSED_SETTING, "cannot make WEFT_STARTUP_DIR = '%s': %s", path_.c_str(),
                   std::strerror(errno));
}

Result<std::optional<Fd>> SharedFiles::open_directory() {
    Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) {
        if (is_absent()) return std::optional<Fd>();
        return failure(WEFT_REFUSED_SETTING, "cannot open WEFT_STARTUP_DIR = '%s': %s",
                       path_.c_str(), std::strerror(errno));
    }
    WEFT_RETURN_IF_NOT_OK(check_owner(directory.get(), path_));
    return std::optional<Fd>(std::move(directory));
}

Result<std::optional<std::string>> SharedFiles::read(const std::string& name) {
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

Result<bool> SharedFiles::publish(const std::string& name, std::string_view content) {
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

Status SharedFiles::remove(const std::string& name) {
    if (::unlink(path_of(name).c_str()) == 0) return ok;
    return failed("remove", name);
}

void SharedFiles::remove_directory() { ::rmdir(path_.c_str()); }

namespace {

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

}  // namespace

Status Directory::wait_until(const std::function<Result<bool>()>& is_there,
                             const std::function<Rank()>& late) {
    constexpr std::int64_t pause_min_ns = 500'000;
    constexpr std::int64_t pause_max_ns = 50'000'000;
    for (std::int64_t pause_ns = pause_min_ns;; pause_ns = std::min(2 * pause_ns, pause_max_ns)) {
        Result<bool> there = is_there();
        if (!there.is_ok()) return there.status();
        if (*there) return ok;
        const std::int64_t left_ns = deadline_ns_ - now_ns();
        if (left_ns <= 0) {
            const Rank rank = late();
            return failure_of_rank(WEFT_REFUSED_STATE, rank,
                                   "rank %d had not joined in WEFT_STARTUP_DIR = '%s' after %g s; "
                                   "WEFT_STARTUP_TIMEOUT sets how long to wait",
                                   rank, files_.path().c_str(),
                                   static_cast<double>(timeout_ns_) / 1e9);
        }
        ::usleep(static_cast<useconds_t>(std::min(pause_ns, left_ns) / 1000 + 1));
    }
}

Rank Directory::first(bool has_file) {
    for (Rank rank = 1; rank < ranks_; ++rank) {
        if (rank == rank_) continue;
        const Found found = files_.read(file_of(rank));
        if (found.is_ok() && (*found).has_value() == has_file) return rank;
    }
    return 0;
}

Status Directory::used_before(const std::string& name) const {
    return failure(WEFT_REFUSED_STATE,
                   "%s/%s belongs to another job; every job needs its own, empty WEFT_STARTUP_DIR",
                   files_.path().c_str(), name.c_str());
}

Status Directory::publish(const std::string& name, std::string_view content) {
    Result<bool> is_first = files_.publish(name, content);
    if (!is_first.is_ok()) return is_first.status();
    if (*is_first) return ok;
    return failure(
        WEFT_REFUSED_STATE,
        "rank %d has already joined in WEFT_STARTUP_DIR = '%s': the directory belongs to "
        "another job, or another process has this number",
        rank_, files_.path().c_str());
}

Result<bool> Directory::read_job() {
    // NFS caches for a while that a name does not exist; it asks the server when it creates one.
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

Directory::Found Directory::read_stamped(const std::string& name) {
    Found found = files_.read(name);
    if (!found.is_ok() || !*found) return found;
    if (!(*found)->starts_with(stamp_)) return used_before(name);
    return std::optional((*found)->substr(mark_bytes));
}

Status Directory::lead(std::vector<std::string>& entries) {
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

Status Directory::follow(std::vector<std::string>& entries) {
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

Result<std::vector<std::string>> Directory::exchange(const std::string& card) {
    deadline_ns_ = now_ns() + timeout_ns_;
    Mark mark;
    WEFT_RETURN_IF_NOT_OK(random_bytes(mark));
    std::vector<std::string> entries{text_of(mark) + card};
    WEFT_RETURN_IF_NOT_OK(rank_ == 0 ? lead(entries) : follow(entries));
    for (std::string& entry : entries) entry.erase(0, mark_bytes);
    return entries;
}

}  // namespace weft
