#include "startup/shared_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/file_limit_signal.h"

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

}  // namespace weft
