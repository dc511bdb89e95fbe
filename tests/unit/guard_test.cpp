// What leaves a function of the C interface: a status, whatever its body throws, and the unwinding
// of a thread that ends.
#include "c_api/guard.h"

#include "support/test.h"

#include <pthread.h>

namespace weft::test::guard_test {

weft_status guarded_throw(void (*thrower)()) {
    return c_api::guarded("weft_test", [&]() -> Status {
        thrower();
        return ok;
    });
}

TEST(Guard, LetsNoExceptionOut) {
    EXPECT_EQ(guarded_throw([] { throw std::bad_alloc(); }), WEFT_REFUSED_MEMORY);
    EXPECT_STREQ(last_detail(), "out of memory (weft_test)");
    EXPECT_EQ(guarded_throw([] { throw std::length_error("too long"); }), WEFT_REFUSED_UNSUPPORTED);
    EXPECT_STREQ(last_detail(), "an unexpected exception: too long (weft_test)");
    EXPECT_EQ(guarded_throw([] { throw 7; }), WEFT_REFUSED_UNSUPPORTED);
    EXPECT_STREQ(last_detail(), "an unexpected exception (weft_test)");
}

struct Ending {
    bool unwound = false;
    bool returned = false;
};

// Runs `end` inside of a function of the C interface, in a thread of its own, and returns what
// pthread_join says.
template <class End>
void* end_inside(Ending& ending, End end) {
    struct Work {
        Ending& ending;
        End end;
    } work{ending, end};
    pthread_t thread{};
    const auto body = [](void* given) -> void* {
        auto& own = *static_cast<Work*>(given);
        (void)c_api::guarded("weft_test", [&]() -> Status {
            struct Noted {
                bool& unwound;
                ~Noted() { unwound = true; }
            } noted{own.ending.unwound};
            own.end();
            return ok;
        });
        own.ending.returned = true;
        return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, nullptr, body, &work), 0);
    void* result = nullptr;
    EXPECT_EQ(pthread_join(thread, &result), 0);
    return result;
}

TEST(Guard, LetsTheEndOfAThreadThrough) {
    Ending by_exit;
    int mark = 0;
    EXPECT_EQ(end_inside(by_exit, [&] { pthread_exit(&mark); }), &mark);
    EXPECT_TRUE(by_exit.unwound);
    EXPECT_FALSE(by_exit.returned);

    Ending by_cancel;
    EXPECT_EQ(end_inside(by_cancel,
                         [] {
                             pthread_cancel(pthread_self());
                             pthread_testcancel();
                         }),
              PTHREAD_CANCELED);
    EXPECT_TRUE(by_cancel.unwound);
    EXPECT_FALSE(by_cancel.returned);
}

// A call, its caller, and a sleep in it: where each may be cancelled.
bool may_be_cancelled() {
    int before = PTHREAD_CANCEL_DISABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_setcancelstate(before, nullptr);
    return before == PTHREAD_CANCEL_ENABLE;
}

TEST(Guard, OnlySleepsAreCancelled) {
    for (const bool needed : {true, false}) {
        for (const int callers : {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE}) {
            SCOPED_TRACE(testing::Message() << needed << callers);
            const bool could = callers == PTHREAD_CANCEL_ENABLE;
            pthread_setcancelstate(callers, nullptr);
            {
                const UncancelledCall call(needed);
                EXPECT_EQ(may_be_cancelled(), could && !needed);
                {
                    const UncancelledCall within(needed);
                    const CancellableSleep sleep(/*allowed=*/true);
                    EXPECT_EQ(may_be_cancelled(), could);
                }
                {
                    const CancellableSleep sleep(/*allowed=*/false);
                    EXPECT_FALSE(may_be_cancelled());
                }
                EXPECT_EQ(may_be_cancelled(), could && !needed);
            }
            EXPECT_EQ(may_be_cancelled(), could);
        }
    }
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
}

}  // namespace weft::test::guard_test
