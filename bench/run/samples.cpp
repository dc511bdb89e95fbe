#include "bench/run/samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bench/job.h"

namespace weft::bench {

Samples::Samples(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail("%s: %s", path.c_str(), std::strerror(errno));
}

Samples::~Samples() {
    if (fd_ >= 0) close(fd_);
}

void Samples::write(const Json& line) {
    if (fd_ < 0) return;
    const std::string text = line.dump() + "\n";
    // One call for a line: whoever is killed leaves whole ones.
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
        fail("%s: %s", path_.c_str(), written < 0 ? std::strerror(errno) : "no space");
}

}  // namespace weft::bench
