// A file of rows, one line of JSON each.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "bench/job.h"
#include "bench/json.h"

namespace weft::bench {

// Rank 0 writes; on other ranks, or without a file (""), nothing happens. Ends the process with a
// sentence if the file cannot be written.
class JsonFile {
  public:
    enum class Old { replaced, kept };  // kept: other jobs have written to it

    JsonFile(const Job& job, const std::string& path, Old old = Old::replaced);
    void write(const JsonLine& row);
    void close();

  private:
    std::string path_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

}  // namespace weft::bench
