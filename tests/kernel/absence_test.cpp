// Rule 11: if io_uring is forbidden, trying a real chain says so at once. Containers (by seccomp) and
// kernel.io_uring_disabled cause one of three errors.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tests/kernel/ring.h"

namespace weft::test::absence_test {

class Absence : public IoUring {};

// From now on this process's calls of this number fail with this error.
bool forbid(long call, int error) {
    std::array program = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K,
                             SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// What a process in which that call is forbidden finds out; "": that io_uring can be used.
std::string absence_without(long call, int error) {
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::string why =
            forbid(call, error) ? io_uring_absence() : std::string("seccomp: ") + strerror(errno);
        const ssize_t written = write(pipe_ends[1], why.data(), why.size());
        _exit(written == static_cast<ssize_t>(why.size()) ? 0 : 1);
    }
    close(pipe_ends[1]);
    std::array<char, 200> text{};
    const ssize_t length = read(pipe_ends[0], text.data(), text.size());
    close(pipe_ends[0]);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

TEST_F(Absence, IsSaidWhereRingsCannotBeMade) {
    for (const int error : {EPERM, ENOSYS, EACCES}) {
        EXPECT_EQ(absence_without(SYS_io_uring_setup, error),
                  std::string("io_uring_queue_init: ") + std::strerror(error));
    }
}

TEST_F(Absence, IsSaidWhereNothingCanBeSubmitted) {
    for (const int error : {EPERM, ENOSYS, EACCES}) {
        EXPECT_EQ(absence_without(SYS_io_uring_enter, error),
                  std::string("io_uring_submit: ") + std::strerror(error));
    }
}

// Registered buffers and files are not needed, so a filter that forbids only these forbids nothing.
TEST_F(Absence, IsNotSaidWhereOnlyRegisteringIsForbidden) {
    EXPECT_EQ(absence_without(SYS_io_uring_register, EPERM), "");
}

}  // namespace weft::test::absence_test
