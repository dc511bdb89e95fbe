#include "weft/background.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

namespace weft {

void go_to_background(const char* name, std::vector<int> fds) {
    ::setsid();  // out of reach of the terminal's signals
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::prctl(PR_SET_NAME, name);

    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
    std::sort(fds.begin(), fds.end());
    int next = STDERR_FILENO + 1;
    for (int fd : fds) {
        if (fd > next) ::close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd - 1), 0);
        next = fd + 1;
    }
    ::close_range(static_cast<unsigned>(next), ~0u, 0);
}

}  // namespace weft
