// Draws the progress bar.
#include "bench/progress.h"

#include <unistd.h>

#include <cstdio>

namespace weft::bench {

ProgressBar::ProgressBar(bool wanted) : on_terminal_(wanted && isatty(STDERR_FILENO) == 1) {}

void ProgressBar::show(double share, const std::string& doing) {
    if (!on_terminal_) return;
    constexpr int width = 30;
    const int filled = static_cast<int>(share * width);
    std::fprintf(stderr, "\r\033[K[%s%s] %3d %%  %s", std::string(filled, '#').c_str(),
                 std::string(width - filled, '.').c_str(), static_cast<int>(share * 100),
                 doing.c_str());
    std::fflush(stderr);
    shown_ = true;
}

void ProgressBar::clear() {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_ = false;
}

}  // namespace weft::bench
