// A process without descriptors left cannot join a job, is told so, and can try again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <weft/weft.h>

#include <string>

namespace {

TEST(Descriptors, TooFewAreRefused) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer itself needs descriptors to look at objects";
#endif
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    int first_free = dup(0);
    ASSERT_GE(first_free, 0);
    close(first_free);
    for (rlim_t more : {0u, 1u}) {
        rlimit few{static_cast<rlim_t>(first_free) + more, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        EXPECT_EQ(weft_init(), WEFT_REFUSED_MEMORY);
        EXPECT_EQ(std::string(weft_last_detail()),
                  "no descriptor for an eventfd: Too many open files (weft_init)");
        EXPECT_EQ(weft_is_initialized(), 0);
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(dup(0), first_free) << "a descriptor was left open";
    EXPECT_EQ(weft_init(), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(weft_barrier(weft_comm_world()), WEFT_OK);
    EXPECT_EQ(weft_finalize(), WEFT_OK);
}

}  // namespace
