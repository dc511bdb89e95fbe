// Writing rows.
#include "bench/json_file.h"

#include <cerrno>
#include <cstring>

#include "bench/rivals/rival.h"

namespace weft::bench {

JsonFile::JsonFile(const Job& job, const std::string& path) : path_(path) {
    if (job.rank != 0 || path.empty()) return;
    // With MPIs there is one job after another.
    file_.reset(std::fopen(path.c_str(), Rival::of_this_job() ? "a" : "w"));
    if (!file_) fail("%s: %s", path.c_str(), std::strerror(errno));
}

void JsonFile::write(const JsonLine& row) {
    if (file_) std::fprintf(file_.get(), "%s\n", row.text().c_str());
}

void JsonFile::close() {
    if (file_ && std::fclose(file_.release()) != 0) {
        fail("%s: %s", path_.c_str(), std::strerror(errno));
    }
}

}  // namespace weft::bench
