// A progress bar on stderr; silent if stderr is not a terminal.
#pragma once

#include <string>

namespace weft::bench {

class ProgressBar {
  public:
    explicit ProgressBar(bool wanted);
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // `share` of the whole is done (0 ... 1); `doing` names what runs now.
    void show(double share, const std::string& doing);
    // Removes the bar, before something else is printed.
    void clear();

  private:
    bool shown_ = false;
    bool on_terminal_ = false;
};

}  // namespace weft::bench
