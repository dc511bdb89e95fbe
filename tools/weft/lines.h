// Passes a rank's output on line by line, each line behind the rank's label. Not thread safe.
#pragma once

#include <string>

namespace weft {

class LinePrefixer {
  public:
    // Reads from the non-blocking `from`, which it owns, and writes to `to`.
    LinePrefixer(int from, int to, std::string label);
    ~LinePrefixer();
    LinePrefixer(LinePrefixer&& other) noexcept;
    LinePrefixer(const LinePrefixer&) = delete;
    LinePrefixer& operator=(const LinePrefixer&) = delete;

    int fd() const { return from_; }  // -1 once everything has been read

    // Passes on whatever is there now; at the end of the output also a last line without newline.
    void pump();
    void finish();

  private:
    void write_line(std::string_view line);

    int from_;
    int to_;
    std::string label_;
    std::string partial_;
};

}  // namespace weft
