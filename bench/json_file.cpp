// Writing rows.
#include "bench/json_file.h"

#include <cerrno>
#include <cstring>

namespace weft::bench {

JsonFile::JsonFile(const Job& job, const std::string& path, Old old) : path_(path) {
    if (job.rank != 0 || path.empty()) return;
    file_.reset(std::fopen(path.c_str(), old == Old::kept ? "a" : "w"));
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
