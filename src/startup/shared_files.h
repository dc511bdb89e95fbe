// Small files in a directory of a shared file system, for processes of one user. Not thread safe.
//
// Directory and files belong to the user, and nobody else may write them. Every look opens the
// directory again: that makes NFS ask the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/status.h"

namespace weft {

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

}  // namespace weft
