// Completing some of no requests needs no place for their indices.
#include <weft/weft.h>

#include "support/test.h"

namespace some_of_no_requests_test {

TEST(SomeOfNoRequests, AreNone) {
    ASSERT_EQ(weft_init(), WEFT_OK) << weft_last_detail();
    size_t completed = 0;
    EXPECT_EQ(weft_waitsome(0, nullptr, &completed, nullptr, nullptr), WEFT_OK)
        << weft_last_detail();
    EXPECT_EQ(completed, WEFT_NONE);
    completed = 0;
    EXPECT_EQ(weft_testsome(0, nullptr, &completed, nullptr, nullptr), WEFT_OK);
    EXPECT_EQ(completed, WEFT_NONE);
    EXPECT_EQ(weft_finalize(), WEFT_OK);
}

}  // namespace some_of_no_requests_test
