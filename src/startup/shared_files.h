// Small files that the processes of one user, on machines that share a file system, leave for each
// other in a directory. Not thread safe.
//
// Directory and files belong to the user, and nobody else may write them. The directory is opened
// anew for every look: that is what makes NFS ask the server what there is.
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

    // Makes the directory, for the user alone, if there is none.
    Status make_directory();

    // The whole file; nothing while it is not there.
    Result<std::optional<std::string>> read(const std::string& name);

    // To readers the file is there with all of `content`, or not at all. False: it was there already,
    // and stays as it is.
    Result<bool> publish(const std::string& name, std::string_view content);

    Status remove(const std::string& name);
    // Unless there is something else in it.
    void remove_directory();

  private:
    // Nothing when there is no directory.
    Result<std::optional<Fd>> open_directory();
    Status check_owner(int fd, const std::string& path) const;
    Status failed(const char* verb, const std::string& name) const;
    std::string path_of(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
};

}  // namespace weft
