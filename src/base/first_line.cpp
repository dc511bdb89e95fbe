#include "base/first_line.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

namespace weft {

std::string first_line_of(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return "";
    char text[4096];
    const ssize_t length = ::read(file.get(), text, sizeof text - 1);
    if (length <= 0) return "";
    const std::string read(text, static_cast<std::size_t>(length));
    return read.substr(0, read.find('\n'));
}

}  // namespace weft
