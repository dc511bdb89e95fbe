#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error_text.h"
#include "base/fd.h"

namespace weft {
namespace {

constexpr std::size_t bytes_max = 16 << 20;

Status refused(const std::string& reason) {
    return failure(WEFT_REFUSED_SETTING, "%s", reason.c_str());
}

bool is_no_text(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

}  // namespace

Result<std::string> read_text_file(const char* path) {
    // (Without O_NONBLOCK a FIFO blocks until somebody writes into it.)
    const Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return refused(error_text(errno));
    if (S_ISDIR(info.st_mode)) return refused(error_text(EISDIR));
    if (!S_ISREG(info.st_mode)) return refused("it is no regular file");
    std::string content;
    char part[1 << 14];
    while (content.size() <= bytes_max) {
        const ssize_t bytes = ::read(file.get(), part, sizeof part);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) return refused(error_text(errno));
        if (bytes == 0) break;
        content.append(part, static_cast<std::size_t>(bytes));
    }
    if (content.size() > bytes_max) return refused("it has more than 16 MiB");
    if (content.empty()) return refused("it is empty");
    if (std::ranges::any_of(content, is_no_text)) return refused("it is no text");
    return content;
}

}  // namespace weft
