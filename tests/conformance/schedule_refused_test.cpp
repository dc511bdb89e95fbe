// What schedules built by the program are refused, and with which sentence. A job of one rank in this
// process.
#include <gtest/gtest.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace schedule_refused_test {

// Expects a refusal whose sentence begins with `sentence` (and ends with the function's name).
void expect_refused(weft_status status, weft_status expected, const std::string& sentence) {
    EXPECT_EQ(status, expected) << weft_status_name(status) << ": " << weft_last_detail();
    EXPECT_EQ(std::string(weft_last_detail()).substr(0, sentence.size()), sentence);
}

void nothing(void*, size_t, void*) {}

class ScheduleRefused : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        weft_schedule schedule = WEFT_SCHEDULE_NULL;
        expect_refused(weft_schedule_create(WEFT_COMM_NULL, &schedule), WEFT_REFUSED_STATE,
                       "Weft is not initialized; expected weft_init first (weft_schedule_create)");
        ASSERT_EQ(weft_init(), WEFT_OK) << weft_last_detail();
    }
    static void TearDownTestSuite() { EXPECT_EQ(weft_finalize(), WEFT_OK) << weft_last_detail(); }

    void SetUp() override { ASSERT_EQ(weft_schedule_create(weft_comm_world(), &open_), WEFT_OK); }
    void TearDown() override {
        EXPECT_EQ(node_, untouched);
        EXPECT_EQ(weft_schedule_free(&open_), WEFT_OK);
    }

    weft_region recv(std::int64_t offset, std::int64_t bytes) {
        return {WEFT_RECV_BUFFER, offset, bytes};
    }
    weft_node join() {
        weft_node node = WEFT_NODE_NONE;
        EXPECT_EQ(weft_schedule_join(open_, &node), WEFT_OK);
        return node;
    }
    // The sentence of weft_schedule_init.
    void expect_no_request(weft_status expected, const std::string& sentence, const void* send_buf,
                           void* recv_buf, weft_type type, weft_op op) {
        weft_request request = WEFT_REQUEST_NULL;
        expect_refused(weft_schedule_init(open_, send_buf, recv_buf, type, op, &request), expected,
                       sentence);
        EXPECT_EQ(request, WEFT_REQUEST_NULL);
    }

    static constexpr weft_node untouched = 77;
    weft_schedule open_ = WEFT_SCHEDULE_NULL;
    weft_node node_ = untouched;
    std::int32_t data_[8] = {};
    std::int32_t other_[8] = {};
};

TEST_F(ScheduleRefused, HandlesAndPlaces) {
    weft_schedule null = WEFT_SCHEDULE_NULL;
    expect_refused(weft_schedule_create(WEFT_COMM_NULL, &null), WEFT_REFUSED_HANDLE, "comm = ");
    expect_refused(weft_schedule_create(weft_comm_world(), nullptr), WEFT_REFUSED_ARGUMENT,
                   "schedule = null; expected an address (weft_schedule_create)");
    weft_schedule freed = WEFT_SCHEDULE_NULL;
    ASSERT_EQ(weft_schedule_create(weft_comm_world(), &freed), WEFT_OK);
    weft_schedule copy = freed;
    ASSERT_EQ(weft_schedule_free(&freed), WEFT_OK);
    EXPECT_EQ(freed, WEFT_SCHEDULE_NULL);
    char sentence[100];
    std::snprintf(sentence, sizeof sentence,
                  "schedule = %p; expected a schedule that has not been freed",
                  static_cast<void*>(copy));
    expect_refused(weft_schedule_free(&copy), WEFT_REFUSED_HANDLE, sentence);
    expect_refused(weft_schedule_seal(copy), WEFT_REFUSED_HANDLE, sentence);
    expect_refused(weft_schedule_send(copy, recv(0, 4), 1, &node_), WEFT_REFUSED_HANDLE, sentence);
    expect_refused(weft_schedule_check(copy), WEFT_REFUSED_HANDLE, sentence);
    weft_request request = WEFT_REQUEST_NULL;
    expect_refused(weft_schedule_init(copy, nullptr, nullptr, WEFT_BYTE, WEFT_OP_NULL, &request),
                   WEFT_REFUSED_HANDLE, sentence);
    expect_refused(weft_schedule_free(nullptr), WEFT_REFUSED_HANDLE, "schedule = ");
    expect_refused(weft_schedule_scratch(open_, 8, nullptr), WEFT_REFUSED_ARGUMENT,
                   "region = null; expected an address (weft_schedule_scratch)");
}

TEST_F(ScheduleRefused, Regions) {
    expect_refused(weft_schedule_copy(open_, recv(0, -4), recv(8, -4), &node_),
                   WEFT_REFUSED_ARGUMENT, "from has bytes = -4 at offset 0; expected 0..");
    expect_refused(weft_schedule_copy(open_, recv(0, 4), recv(-8, 4), &node_),
                   WEFT_REFUSED_ARGUMENT, "into has bytes = 4 at offset -8; expected 0..");
    const auto most = std::numeric_limits<std::int64_t>::max();
    expect_refused(weft_schedule_call(open_, recv(most, 1), nothing, nullptr, &node_),
                   WEFT_REFUSED_ARGUMENT, "data has bytes = 1 at offset 9223372036854775807;");
    expect_refused(
        weft_schedule_copy(open_, {static_cast<weft_buffer>(5), 0, 4}, recv(0, 4), &node_),
        WEFT_REFUSED_ARGUMENT, "buffer = 5; expected one of weft_buffer (weft_schedule_copy)");
    expect_refused(
        weft_schedule_copy(open_, recv(0, 4), {static_cast<weft_buffer>(-1), 0, 4}, &node_),
        WEFT_REFUSED_ARGUMENT, "buffer = -1; expected one of weft_buffer");
    expect_refused(weft_schedule_copy(open_, recv(0, 4), {WEFT_SEND_BUFFER, 8, 4}, &node_),
                   WEFT_REFUSED_ARGUMENT,
                   "into = send[8..12) would be written; expected WEFT_RECV_BUFFER or "
                   "WEFT_SCRATCH (weft_schedule_copy)");
    expect_refused(weft_schedule_reduce_right(open_, {WEFT_SEND_BUFFER, 0, 4}, recv(0, 4), &node_),
                   WEFT_REFUSED_ARGUMENT, "from = send[0..4) would be written");
    expect_refused(weft_schedule_call(open_, {WEFT_SEND_BUFFER, 0, 4}, nothing, nullptr, &node_),
                   WEFT_REFUSED_ARGUMENT, "data = send[0..4) would be written");
    expect_refused(weft_schedule_copy(open_, recv(0, 4), recv(8, 12), &node_),
                   WEFT_REFUSED_ARGUMENT, "from has 4 bytes and into 12; expected equal sizes");
    expect_refused(weft_schedule_reduce(open_, recv(0, 8), recv(4, 8), &node_),
                   WEFT_REFUSED_ARGUMENT, "from = recv[0..8) overlaps into = recv[4..12)");
    expect_refused(weft_schedule_call(open_, recv(0, 4), nullptr, nullptr, &node_),
                   WEFT_REFUSED_ARGUMENT, "function = null; expected a function");
    // Nothing may lie anywhere, and regions may touch.
    EXPECT_EQ(weft_schedule_copy(open_, {WEFT_SCRATCH, 99, 0}, {WEFT_SEND_BUFFER, 0, 0}, nullptr),
              WEFT_OK);
    EXPECT_EQ(weft_schedule_copy(open_, recv(0, 8), recv(8, 8), nullptr), WEFT_OK);
    const auto least = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t offset : {std::int64_t{-1}, least, most}) {
        SCOPED_TRACE(offset);
        const weft_region empty = recv(offset, 0);
        EXPECT_EQ(weft_schedule_copy(open_, {WEFT_SEND_BUFFER, offset, 0}, empty, nullptr), WEFT_OK)
            << weft_last_detail();
        EXPECT_EQ(weft_schedule_reduce(open_, {WEFT_SCRATCH, offset, 0}, empty, nullptr), WEFT_OK)
            << weft_last_detail();
        EXPECT_EQ(weft_schedule_reduce_right(open_, empty, empty, nullptr), WEFT_OK)
            << weft_last_detail();
        EXPECT_EQ(weft_schedule_call(open_, empty, nothing, nullptr, nullptr), WEFT_OK)
            << weft_last_detail();
    }
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK) << weft_last_detail();
    weft_request request = WEFT_REQUEST_NULL;
    ASSERT_EQ(weft_schedule_init(open_, data_, other_, WEFT_INT32, WEFT_SUM, &request), WEFT_OK)
        << weft_last_detail();
    EXPECT_EQ(weft_start(&request), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(weft_wait(&request), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(weft_request_free(&request), WEFT_OK) << weft_last_detail();
}

TEST_F(ScheduleRefused, Scratch) {
    weft_region region = recv(1, 2);
    expect_refused(weft_schedule_scratch(open_, -1, &region), WEFT_REFUSED_ARGUMENT,
                   "bytes = -1; expected 0..1099511627776 (weft_schedule_scratch)");
    expect_refused(weft_schedule_scratch(open_, std::numeric_limits<std::int64_t>::max(), &region),
                   WEFT_REFUSED_ARGUMENT, "bytes = 9223372036854775807; expected 0..");
    EXPECT_EQ(region.offset, 1);
    ASSERT_EQ(weft_schedule_scratch(open_, 24, &region), WEFT_OK);
    ASSERT_EQ(weft_schedule_scratch(open_, 8, &region), WEFT_OK);
    EXPECT_EQ(region.buffer, WEFT_SCRATCH);
    EXPECT_EQ(region.offset, 64);
    EXPECT_EQ(region.bytes, 8);
    expect_refused(weft_schedule_copy(open_, {WEFT_SCRATCH, 64, 12}, recv(0, 12), &node_),
                   WEFT_REFUSED_ARGUMENT,
                   "from = scratch[64..76); expected a part of the scratch, 72 bytes "
                   "(weft_schedule_copy)");
}

TEST_F(ScheduleRefused, Peers) {
    for (int peer : {-1, 0, 1}) {
        const std::string sentence =
            "peer = " + std::to_string(peer) + "; expected 0..0 other than this rank, 0 (";
        expect_refused(weft_schedule_send(open_, recv(0, 4), peer, &node_), WEFT_REFUSED_ARGUMENT,
                       sentence + "weft_schedule_send)");
        expect_refused(weft_schedule_recv(open_, recv(0, 4), peer, &node_), WEFT_REFUSED_ARGUMENT,
                       sentence + "weft_schedule_recv)");
    }
}

TEST_F(ScheduleRefused, Nodes) {
    const weft_node first = join();
    expect_refused(weft_schedule_after(open_, WEFT_NODE_NONE, first), WEFT_REFUSED_HANDLE,
                   "node = 0; expected a node of this schedule (weft_schedule_after)");
    expect_refused(weft_schedule_after(open_, first, 1), WEFT_REFUSED_HANDLE,
                   "predecessor = 0x1; expected a node of this schedule");
    expect_refused(weft_schedule_after(open_, first + 1, first), WEFT_REFUSED_HANDLE, "node = ");
    weft_schedule other = WEFT_SCHEDULE_NULL;
    weft_node foreign = WEFT_NODE_NONE;
    ASSERT_EQ(weft_schedule_create(weft_comm_world(), &other), WEFT_OK);
    ASSERT_EQ(weft_schedule_join(other, &foreign), WEFT_OK);
    expect_refused(weft_schedule_after(open_, first, foreign), WEFT_REFUSED_HANDLE,
                   "predecessor = 0x");
    expect_refused(weft_schedule_after(open_, foreign, first), WEFT_REFUSED_HANDLE, "node = 0x");
    EXPECT_EQ(weft_schedule_after(open_, first, WEFT_NODE_NONE), WEFT_OK);
    EXPECT_EQ(weft_schedule_free(&other), WEFT_OK);
}

TEST_F(ScheduleRefused, Cycles) {
    const weft_node a = join(), b = join(), c = join();
    EXPECT_EQ(weft_schedule_after(open_, a, b), WEFT_OK);
    EXPECT_EQ(weft_schedule_after(open_, b, c), WEFT_OK);
    EXPECT_EQ(weft_schedule_after(open_, c, a), WEFT_OK);
    // Also when asked again: what was refused has changed nothing.
    for (int i = 0; i < 2; ++i) {
        expect_refused(weft_schedule_seal(open_), WEFT_REFUSED_ARGUMENT,
                       "the schedule's operations wait for each other in a cycle "
                       "(weft_schedule_seal)");
    }
    expect_no_request(WEFT_REFUSED_STATE, "the schedule is open", nullptr, nullptr, WEFT_BYTE,
                      WEFT_OP_NULL);
}

TEST_F(ScheduleRefused, ANodeThatWaitsForItself) {
    const weft_node node = join();
    EXPECT_EQ(weft_schedule_after(open_, node, node), WEFT_OK);
    EXPECT_EQ(weft_schedule_seal(open_), WEFT_REFUSED_ARGUMENT);
}

TEST_F(ScheduleRefused, UseOfAnOpenOne) {
    expect_refused(weft_schedule_check(open_), WEFT_REFUSED_STATE,
                   "the schedule is open; expected a sealed one (weft_schedule_check)");
    expect_no_request(WEFT_REFUSED_STATE,
                      "the schedule is open; expected a sealed one (weft_schedule_init)", nullptr,
                      nullptr, WEFT_BYTE, WEFT_OP_NULL);
}

TEST_F(ScheduleRefused, ChangesOfASealedOne) {
    const weft_node node = join();
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    const std::string sentence = "the schedule is sealed; expected an open one (";
    weft_region region;
    expect_refused(weft_schedule_seal(open_), WEFT_REFUSED_STATE, sentence + "weft_schedule_seal)");
    expect_refused(weft_schedule_join(open_, &node_), WEFT_REFUSED_STATE, sentence);
    expect_refused(weft_schedule_after(open_, node, node), WEFT_REFUSED_STATE, sentence);
    expect_refused(weft_schedule_scratch(open_, 4, &region), WEFT_REFUSED_STATE, sentence);
    expect_refused(weft_schedule_send(open_, recv(0, 4), 1, &node_), WEFT_REFUSED_STATE, sentence);
    expect_refused(weft_schedule_recv(open_, recv(0, 4), 1, &node_), WEFT_REFUSED_STATE, sentence);
    expect_refused(weft_schedule_copy(open_, recv(0, 4), recv(4, 4), &node_), WEFT_REFUSED_STATE,
                   sentence);
    expect_refused(weft_schedule_call(open_, recv(0, 4), nothing, nullptr, &node_),
                   WEFT_REFUSED_STATE, sentence);
    EXPECT_EQ(weft_schedule_check(open_), WEFT_OK);
}

TEST_F(ScheduleRefused, Buffers) {
    ASSERT_EQ(weft_schedule_copy(open_, {WEFT_SEND_BUFFER, 8, 4}, recv(16, 4), nullptr), WEFT_OK);
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    expect_no_request(WEFT_REFUSED_ARGUMENT,
                      "send_buf = null; expected a buffer of 12 bytes (weft_schedule_init)",
                      nullptr, data_, WEFT_BYTE, WEFT_OP_NULL);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "recv_buf = null; expected a buffer of 20 bytes",
                      data_, nullptr, WEFT_BYTE, WEFT_OP_NULL);
    expect_no_request(WEFT_REFUSED_ARGUMENT,
                      "send_buf = WEFT_IN_PLACE; expected a buffer of 12 bytes", WEFT_IN_PLACE,
                      data_, WEFT_BYTE, WEFT_OP_NULL);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "send_buf = 0x", data_, data_, WEFT_BYTE,
                      WEFT_OP_NULL);
    expect_refused(weft_schedule_init(open_, data_, other_, WEFT_BYTE, WEFT_OP_NULL, nullptr),
                   WEFT_REFUSED_ARGUMENT, "request = null; expected an address");
}

// They run with the engine held: without the refusal, they would wait for themselves.
void expect_no_calls_of_weft() {
    const std::string sentence =
        "called from an operation's or a schedule's function; Weft cannot be called there (";
    weft_request request = WEFT_REQUEST_NULL;
    weft_comm comm = WEFT_COMM_NULL;
    int rank = -1;
    expect_refused(weft_barrier(weft_comm_world()), WEFT_REFUSED_STATE, sentence + "weft_barrier)");
    expect_refused(weft_ibarrier(weft_comm_world(), &request), WEFT_REFUSED_STATE,
                   sentence + "weft_ibarrier)");
    expect_refused(weft_wait(&request), WEFT_REFUSED_STATE, sentence + "weft_wait)");
    expect_refused(weft_comm_dup(weft_comm_world(), &comm), WEFT_REFUSED_STATE,
                   sentence + "weft_comm_dup)");
    expect_refused(weft_comm_rank(weft_comm_world(), &rank), WEFT_REFUSED_STATE,
                   sentence + "weft_comm_rank)");
    expect_refused(weft_set_engine(WEFT_ENGINE_MANUAL), WEFT_REFUSED_STATE,
                   sentence + "weft_set_engine)");
    expect_refused(weft_finalize(), WEFT_REFUSED_STATE, sentence + "weft_finalize)");
}

TEST_F(ScheduleRefused, CallsByFunctionsOfTheProgram) {
    int calls = 0;
    auto function = [](void*, size_t, void* context) {
        expect_no_calls_of_weft();
        ++*static_cast<int*>(context);
    };
    auto operation = [](const void*, void*, size_t, weft_type, void* context) {
        expect_no_calls_of_weft();
        ++*static_cast<int*>(context);
    };
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create(operation, 1, &calls, &op), WEFT_OK);
    const weft_region from = {WEFT_SEND_BUFFER, 0, 4};
    weft_node reduced = WEFT_NODE_NONE;
    weft_node reduced_right = WEFT_NODE_NONE;
    weft_region scratch;
    ASSERT_EQ(weft_schedule_scratch(open_, 4, &scratch), WEFT_OK);
    ASSERT_EQ(weft_schedule_reduce(open_, from, recv(0, 4), &reduced), WEFT_OK);
    ASSERT_EQ(weft_schedule_reduce_right(open_, scratch, recv(0, 4), &reduced_right), WEFT_OK);
    ASSERT_EQ(weft_schedule_after(open_, reduced_right, reduced), WEFT_OK);
    ASSERT_EQ(weft_schedule_call(open_, recv(4, 4), function, &calls, nullptr), WEFT_OK);
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    weft_request request = WEFT_REQUEST_NULL;
    ASSERT_EQ(weft_schedule_init(open_, data_, other_, WEFT_INT32, op, &request), WEFT_OK)
        << weft_last_detail();
    ASSERT_EQ(weft_start(&request), WEFT_OK);
    EXPECT_EQ(weft_wait(&request), WEFT_OK);
    EXPECT_EQ(calls, 3);
    // And afterwards all is as before.
    EXPECT_EQ(weft_barrier(weft_comm_world()), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(weft_request_free(&request), WEFT_OK);
    EXPECT_EQ(weft_op_free(&op), WEFT_OK);
}

TEST_F(ScheduleRefused, Reductions) {
    ASSERT_EQ(weft_schedule_join(open_, nullptr), WEFT_OK);
    ASSERT_EQ(weft_schedule_reduce(open_, {WEFT_SEND_BUFFER, 0, 12}, recv(4, 12), nullptr),
              WEFT_OK);
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    expect_no_request(WEFT_REFUSED_HANDLE, "op is WEFT_OP_NULL (weft_schedule_init)", data_, other_,
                      WEFT_INT32, WEFT_OP_NULL);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "type = 99; expected one", data_, other_,
                      static_cast<weft_type>(99), WEFT_SUM);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "op = sum is not defined for type byte", data_, other_,
                      WEFT_BYTE, WEFT_SUM);
    const std::string node =
        "operation 1 (reduce  recv[4..16) = send[0..12) (op) recv[4..16)); expected whole elements";
    expect_no_request(WEFT_REFUSED_ARGUMENT, node + " of int64, 8 bytes, at multiples of 8", data_,
                      other_, WEFT_INT64, WEFT_SUM);
    weft_request request = WEFT_REQUEST_NULL;
    for (int i = 0; i < 8; ++i) data_[i] = other_[i] = i;
    ASSERT_EQ(weft_schedule_init(open_, data_, other_, WEFT_INT32, WEFT_SUM, &request), WEFT_OK);
    ASSERT_EQ(weft_start(&request), WEFT_OK);
    expect_refused(weft_start(&request), WEFT_REFUSED_STATE,
                   "schedule of 2 operations on world is active; expected a request that is not "
                   "started (weft_start)");
    EXPECT_EQ(weft_wait(&request), WEFT_OK);
    EXPECT_EQ(other_[0], 0);
    EXPECT_EQ(other_[3], 3 + 2);
    EXPECT_EQ(other_[4], 4);
    EXPECT_EQ(weft_request_free(&request), WEFT_OK);
}

TEST_F(ScheduleRefused, ReductionsOfPartsOfPairs) {
    ASSERT_EQ(weft_schedule_reduce(open_, recv(0, 8), recv(12, 8), nullptr), WEFT_OK);
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "operation 0 (reduce  recv[12..20) = ", nullptr, data_,
                      WEFT_INT64, WEFT_SUM);
    // A struct of two 32-bit members may begin at 12.
    weft_request request = WEFT_REQUEST_NULL;
    ASSERT_EQ(weft_schedule_init(open_, nullptr, data_, WEFT_INT32_INT32, WEFT_MINLOC, &request),
              WEFT_OK);
    EXPECT_EQ(weft_request_free(&request), WEFT_OK);
}

TEST_F(ScheduleRefused, SumsThatScale) {
    ASSERT_EQ(weft_schedule_reduce(open_, recv(0, 8), recv(8, 8), nullptr), WEFT_OK);
    ASSERT_EQ(weft_schedule_seal(open_), WEFT_OK);
    expect_no_request(WEFT_REFUSED_ARGUMENT, "op = avg; expected an operation that only combines",
                      nullptr, data_, WEFT_FLOAT64, WEFT_AVG);
    weft_op op = WEFT_OP_NULL;
    ASSERT_EQ(weft_op_create_premul_sum(2, &op), WEFT_OK);
    expect_no_request(WEFT_REFUSED_ARGUMENT,
                      "op = a premultiplied sum; expected an operation that only combines", nullptr,
                      data_, WEFT_FLOAT64, op);
    EXPECT_EQ(weft_op_free(&op), WEFT_OK);
}

}  // namespace schedule_refused_test
