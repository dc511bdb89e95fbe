#include "weft/lines.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

namespace weft {
namespace {

// A line longer than this is cut, so that memory stays bounded.
constexpr std::size_t line_bytes_max = 1u << 20;

}  // namespace

LinePrefixer::LinePrefixer(int from, int to, std::string label)
    : from_(from), to_(to), label_(std::move(label)) {}

LinePrefixer::LinePrefixer(LinePrefixer&& other) noexcept
    : from_(std::exchange(other.from_, -1)),
      to_(other.to_),
      write_error_(other.write_error_),
      label_(std::move(other.label_)),
      partial_(std::move(other.partial_)) {}

LinePrefixer::~LinePrefixer() {
    if (from_ >= 0) ::close(from_);
}

void LinePrefixer::pump() {
    char buffer[16384];
    while (from_ >= 0) {
        ssize_t got = ::read(from_, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return finish();
        partial_.append(buffer, static_cast<std::size_t>(got));
        std::size_t begin = 0;
        for (std::size_t end; (end = partial_.find('\n', begin)) != std::string::npos;) {
            write_line(std::string_view(partial_).substr(begin, end - begin));
            begin = end + 1;
        }
        partial_.erase(0, begin);
        if (partial_.size() > line_bytes_max) {
            write_line(partial_);
            partial_.clear();
        }
    }
}

void LinePrefixer::finish() {
    if (!partial_.empty()) write_line(partial_);
    partial_.clear();
    if (from_ >= 0) ::close(from_);
    from_ = -1;
}

void LinePrefixer::write_line(std::string_view line) {
    std::string text = label_;
    text.append(line).append("\n");
    for (std::size_t done = 0; done < text.size();) {
        ssize_t written = ::write(to_, text.data() + done, text.size() - done);
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
        } else if (errno == EAGAIN) {
            // The descriptor may be non-blocking.
            pollfd entry{to_, POLLOUT, 0};
            ::poll(&entry, 1, -1);
        } else if (errno != EINTR) {
            write_error_ = errno;
            return;
        }
    }
}

}  // namespace weft
