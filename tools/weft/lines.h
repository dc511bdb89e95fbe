// Passes on a rank's output line by line, with the rank's label in front. Not thread safe.
#pragma once

#include <string>

namespace weft {

class LinePrefixer {
  public:
    // Reads from the nonblocking `from`, which it owns, and writes to `to`.
    LinePrefixer(int from, int to, std::string label);
    ~LinePrefixer();
    LinePrefixer(LinePrefixer&& other) noexcept;
    LinePrefixer(const LinePrefixer&) = delete;
    LinePrefixer& operator=(const LinePrefixer&) = delete;

    int fd() const { return from_; }  // -1 once everything has been read

    // Why lines were lost: errno of the last one; 0: none was lost.
    int write_error() const { return write_error_; }

    // Passes on what is available now; at the end of the output, also a last line without a
    // newline.
    void pump();
    void finish();

  private:
    void write_line(std::string_view line);

    int from_;
    int to_;
    int write_error_ = 0;
    std::string label_;
    std::string partial_;
};

}  // namespace weft
