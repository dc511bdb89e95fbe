// Limits that a test puts on its own process.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/test.h"

namespace weft::test {

// While it lives, only so many more descriptors can be opened.
class DescriptorLimit {
  public:
    explicit DescriptorLimit(rlim_t more) {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
        const int first_free = dup(0);
        EXPECT_GE(first_free, 0);
        close(first_free);
        const rlimit few{static_cast<rlim_t>(first_free) + more, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    }
    ~DescriptorLimit() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  private:
    rlimit before_{};
};

// From now on the filter decides on this process's calls of the system. False: there is no seccomp.
template <std::size_t size>
bool filter_calls(sock_filter (&filter)[size]) {
    const sock_fprog program{static_cast<unsigned short>(size), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace weft::test
