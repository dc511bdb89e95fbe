// A temporary folder, removed by the destructor.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/job.h"

namespace weft::bench {

class TemporaryFolder {
  public:
    TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "weft-XXXXXX").string()) {
        if (mkdtemp(path_.data()) == nullptr) fail("%s: cannot be made", path_.c_str());
    }
    ~TemporaryFolder() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace weft::bench
