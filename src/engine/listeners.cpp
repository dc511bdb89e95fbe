#include "engine/listeners.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {

void Listeners::signal() const {
    if (gettid() == thread_) return;
    // (As queued, not as tgkill() sends: its handler takes that for the program's.)
    siginfo_t info{};
    info.si_signo = signal_;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    (void)syscall(SYS_rt_tgsigqueueinfo, info.si_pid, thread_, signal_, &info);
}

}  // namespace weft
