// A file of results that the library or a person reads: lines of JSON, in the order of their fields.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "bench/job.h"
#include "nlohmann/json.hpp"

namespace weft::bench {

using Row = nlohmann::ordered_json;

// Without a file ("") nothing happens. Ends the process with a sentence if it cannot be written.
class Rows {
  public:
    explicit Rows(const std::string& path) : path_(path) {
        if (!path.empty()) file_.open(path, std::ios::trunc);
        check();
    }
    void write(const Row& row) {
        if (path_.empty()) return;
        file_ << row.dump() << std::endl;
        check();
    }

  private:
    void check() {
        if (!path_.empty() && !file_) fail("%s: %s", path_.c_str(), std::strerror(errno));
    }

    const std::string path_;
    std::ofstream file_;
};

}  // namespace weft::bench
