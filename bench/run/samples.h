// The file of samples: lines of JSON, complete at any time (docs/measuring.md has the schema).
#pragma once

#include <string>

#include "bench/scenario/cell.h"

namespace weft::bench {

inline constexpr int schema = 1;

// Appends. Ends the process with a sentence if the file cannot be written.
class Samples {
  public:
    Samples() = default;  // writes nothing
    explicit Samples(const std::string& path);
    ~Samples();
    Samples(const Samples&) = delete;
    Samples& operator=(const Samples&) = delete;

    void write(const Json& line);

  private:
    std::string path_;
    int fd_ = -1;
};

}  // namespace weft::bench
