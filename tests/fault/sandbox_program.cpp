// Starts a program that may not make some system call: CALL ERROR PROGRAM ARGUMENTS... The call
// fails with that error, as in a sandbox or on an old kernel. Ends with status 77 where that cannot
// be arranged.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
    if (argc < 4) return 1;
    const std::string call = argv[1];
    const long number = call == "memfd_create" ? SYS_memfd_create
                        : call == "getrandom"  ? SYS_getrandom
                                               : -1;
    if (number < 0) return std::fprintf(stderr, "unknown call %s\n", argv[1]), 1;
    const auto error = static_cast<unsigned>(std::string(argv[2]) == "ENOSYS" ? ENOSYS : EPERM);
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    execvp(argv[3], argv + 3);
    return std::perror(argv[3]), 1;
}
