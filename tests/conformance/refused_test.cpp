// Every refused argument answers with a status and a sentence that holds the offending value. A job
// of one rank in this process.
#include <gtest/gtest.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace refused_test {

// Expects a refusal whose sentence begins with `sentence` (and ends with the function's name).
void expect_refused(weft_status status, weft_status expected, const std::string& sentence) {
    EXPECT_EQ(status, expected) << weft_status_name(status) << ": " << weft_last_detail();
    EXPECT_EQ(std::string(weft_last_detail()).substr(0, sentence.size()), sentence);
}

// Where no job is joined: null requests are complete, and others are refused.
void expect_only_null_requests() {
    weft_request null = WEFT_REQUEST_NULL;
    EXPECT_EQ(weft_test(&null), WEFT_OK);
    EXPECT_EQ(weft_wait(&null), WEFT_OK);
    EXPECT_EQ(weft_wait_until(&null, 0), WEFT_OK);
    EXPECT_EQ(weft_request_free(&null), WEFT_OK);
    weft_request nulls[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
    weft_status statuses[2] = {WEFT_PENDING, WEFT_PENDING};
    EXPECT_EQ(weft_testall(2, nulls, nullptr), WEFT_OK);
    EXPECT_EQ(weft_waitall_until(2, nulls, nullptr, 0), WEFT_OK);
    EXPECT_EQ(weft_waitall(2, nulls, statuses), WEFT_OK);
    EXPECT_EQ(statuses[0], WEFT_OK);
    EXPECT_EQ(statuses[1], WEFT_OK);
    EXPECT_EQ(weft_waitall(0, nullptr, nullptr), WEFT_OK);
    size_t number = 7;
    EXPECT_EQ(weft_testany(2, nulls, &number), WEFT_OK);
    EXPECT_EQ(number, WEFT_NONE);
    number = 7;
    EXPECT_EQ(weft_waitany(2, nulls, &number), WEFT_OK);
    EXPECT_EQ(number, WEFT_NONE);
    size_t indices[2];
    number = 7;
    EXPECT_EQ(weft_testsome(2, nulls, &number, indices, nullptr), WEFT_OK);
    EXPECT_EQ(number, WEFT_NONE);
    number = 7;
    EXPECT_EQ(weft_waitsome(2, nulls, &number, indices, nullptr), WEFT_OK);
    EXPECT_EQ(number, WEFT_NONE);
    expect_refused(weft_waitany(2, nulls, nullptr), WEFT_REFUSED_ARGUMENT, "index = null");
    expect_refused(weft_start(&null), WEFT_REFUSED_HANDLE, "request = WEFT_REQUEST_NULL; expected");
    weft_request stale[2] = {WEFT_REQUEST_NULL, reinterpret_cast<weft_request>(std::uintptr_t{1})};
    expect_refused(weft_waitall(2, stale, nullptr), WEFT_REFUSED_STATE,
                   "Weft is not initialized; expected weft_init first (weft_waitall)");
}

void product(const void*, void*, size_t, weft_type, void*) {}

// What a function of a collective is called with, by the argument's type: buffers without content.
struct Empty {
    weft_comm comm = WEFT_COMM_NULL;
    weft_request* request = nullptr;
    weft_type type = WEFT_INT32;
    weft_op op = WEFT_SUM;

    operator const void*() const { return nullptr; }
    operator void*() const { return nullptr; }
    operator std::size_t() const { return 0; }
    operator int() const { return 0; }
    operator const std::size_t*() const { return counts; }
    operator const std::ptrdiff_t*() const { return nullptr; }
    operator const weft_type*() const { return types; }
    operator weft_comm() const { return comm; }
    operator weft_request*() const { return request; }
    operator weft_type() const { return type; }
    operator weft_op() const { return op; }

    static constexpr std::size_t counts[2] = {0, 0};
    weft_type types[2] = {type, type};
};

template <class... Arguments>
weft_status call(weft_status (*function)(Arguments...), const Empty& empty) {
    return function(empty.operator Arguments()...);
}

// Calls of the functions of every collective.
struct Functions {
    const char* name;
    bool is_among_neighbors;
    bool has_type;
    bool reduces;
    weft_status (*start)(const Empty&);
    weft_status (*block)(const Empty&);
    weft_status (*init)(const Empty&);
};
#define FUNCTIONS(name, is_among_neighbors, op)                    \
    {#name,                                                        \
     is_among_neighbors,                                           \
     std::string_view(#name) != "barrier",                         \
     std::string_view(#op) == "op",                                \
     [](const Empty& empty) { return call(weft_i##name, empty); }, \
     [](const Empty& empty) { return call(weft_##name, empty); },  \
     [](const Empty& empty) { return call(weft_##name##_init, empty); }},
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) FUNCTIONS(name, false, op)
#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root) FUNCTIONS(name, true, op)
const Functions all_functions[] = {
#include "algorithm/collectives.def"
};
#undef COLLECTIVE
#undef FUNCTIONS

class Refused : public testing::Test {
  protected:
    // A process joins a job once.
    static void SetUpTestSuite() {
        weft_request request = WEFT_REQUEST_NULL;
        expect_refused(weft_ibarrier(WEFT_COMM_NULL, &request), WEFT_REFUSED_STATE,
                       "Weft is not initialized; expected weft_init first (weft_ibarrier)");
        expect_refused(weft_finalize(), WEFT_REFUSED_STATE,
                       "Weft is not initialized (weft_finalize)");
        expect_refused(weft_set_engine(WEFT_ENGINE_THREAD), WEFT_REFUSED_STATE,
                       "Weft is not initialized; expected weft_init first (weft_set_engine)");
        expect_only_null_requests();
        EXPECT_EQ(weft_comm_world(), WEFT_COMM_NULL);
        EXPECT_EQ(weft_is_initialized(), 0);
        ASSERT_EQ(weft_init(), WEFT_OK) << weft_last_detail();
    }
    static void TearDownTestSuite() {
        EXPECT_EQ(weft_finalize(), WEFT_OK) << weft_last_detail();
        expect_refused(weft_init(), WEFT_REFUSED_STATE,
                       "Weft was finalized; a process can join its job only once");
        expect_only_null_requests();
        EXPECT_EQ(weft_comm_world(), WEFT_COMM_NULL);
    }

    void TearDown() override { EXPECT_EQ(request_, untouched); }

    static inline const auto untouched = reinterpret_cast<weft_request>(std::uintptr_t{0x1234});
    weft_comm world_ = weft_comm_world();
    weft_request request_ = untouched;
    weft_type unknown_type_ = static_cast<weft_type>(99);
    weft_engine unknown_engine_ = static_cast<weft_engine>(7);
    void* in_place_ = const_cast<void*>(WEFT_IN_PLACE);
    std::int32_t from_[8] = {};
    std::int32_t into_[8] = {};
};

TEST_F(Refused, SecondInit) {
    expect_refused(weft_init(), WEFT_REFUSED_STATE, "Weft is already initialized (weft_init)");
    EXPECT_EQ(weft_is_initialized(), 1);
}

TEST_F(Refused, Root) {
    expect_refused(weft_ibcast(into_, 8, WEFT_INT32, 9, world_, &request_), WEFT_REFUSED_ARGUMENT,
                   "root = 9; expected 0..0 (weft_ibcast)");
    expect_refused(weft_bcast(into_, 8, WEFT_INT32, -1, world_), WEFT_REFUSED_ARGUMENT,
                   "root = -1; expected 0..0 (weft_bcast)");
}

TEST_F(Refused, NullBuffers) {
    expect_refused(weft_ibcast(nullptr, 3, WEFT_FLOAT64, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT,
                   "buf = null; expected a buffer of 24 bytes (weft_ibcast)");
    expect_refused(weft_iallgather(nullptr, into_, 1, WEFT_INT32, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = null; expected a buffer of 4 bytes");
    expect_refused(weft_iallreduce(from_, nullptr, 2, WEFT_INT32, WEFT_SUM, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "recv_buf = null; expected a buffer of 8 bytes");
    expect_refused(weft_iallreduce(from_, const_cast<void*>(WEFT_IN_PLACE), 2, WEFT_INT32, WEFT_SUM,
                                   world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "recv_buf = WEFT_IN_PLACE; expected a buffer of 8 bytes");
}

TEST_F(Refused, NoBufferWithoutContent) {
    const int one = 1;
    weft_comm ring = WEFT_COMM_NULL;
    ASSERT_EQ(weft_comm_cart(world_, 1, &one, &one, &ring), WEFT_OK) << weft_last_detail();
    for (const Functions& f : all_functions)
        EXPECT_EQ(f.block({.comm = f.is_among_neighbors ? ring : world_}), WEFT_OK)
            << f.name << ": " << weft_last_detail();
    ASSERT_EQ(weft_comm_free(&ring), WEFT_OK);
}

TEST_F(Refused, ArgumentsOfGatherAndScatter) {
    expect_refused(weft_igather(from_, into_, 2, WEFT_INT32, 1, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "root = 1; expected 0..0 (weft_igather)");
    expect_refused(weft_gather(from_, nullptr, 2, WEFT_INT32, 0, world_), WEFT_REFUSED_ARGUMENT,
                   "recv_buf = null; expected a buffer of 8 bytes (weft_gather)");
    expect_refused(weft_igather(nullptr, into_, 2, WEFT_INT32, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = null; expected a buffer of 8 bytes");
    expect_refused(weft_igather(into_, into_ + 1, 2, WEFT_INT32, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = ");
    expect_refused(weft_igather(from_, in_place_, 2, WEFT_INT32, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "recv_buf = WEFT_IN_PLACE; expected a buffer of 8 bytes");
    expect_refused(weft_iscatter(from_, into_, 2, WEFT_INT32, -1, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "root = -1; expected 0..0 (weft_iscatter)");
    expect_refused(weft_scatter(nullptr, into_, 2, WEFT_INT32, 0, world_), WEFT_REFUSED_ARGUMENT,
                   "send_buf = null; expected a buffer of 8 bytes (weft_scatter)");
    expect_refused(weft_iscatter(WEFT_IN_PLACE, into_, 2, WEFT_INT32, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = WEFT_IN_PLACE; expected a buffer of 8 bytes");
    expect_refused(weft_iscatter(from_, nullptr, 2, WEFT_INT32, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "recv_buf = null; expected a buffer of 8 bytes");
    expect_refused(weft_iscatter(from_, into_, 2, unknown_type_, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "type = 99; expected one of weft_type (weft_iscatter)");
}

TEST_F(Refused, ArgumentsOfSendsAndReceives) {
    const weft_type type = WEFT_INT32;
    int source = -1;
    const auto expect = [](weft_status status, const std::string& sentence) {
        expect_refused(status, WEFT_REFUSED_ARGUMENT, sentence);
    };
    expect(weft_isend(from_, 2, type, 1, 0, world_, &request_),
           "dest = 1; expected 0..0 (weft_isend)");
    expect(weft_send_init(from_, 2, type, -1, 0, world_, &request_),
           "dest = -1; expected 0..0 (weft_send_init)");
    expect(weft_irecv(into_, 2, type, -1, 0, world_, &request_),
           "source = -1; expected 0..0; weft_irecv_any receives from any rank (weft_irecv)");
    expect(weft_recv_init(into_, 2, type, 0, -1, world_, &request_),
           "tag = -1; expected 0..8388607 (weft_recv_init)");
    expect(weft_irecv_any(into_, 2, type, WEFT_TAG_MAX + 1, &source, world_, &request_),
           "tag = 8388608; expected 0..8388607 (weft_irecv_any)");
    expect(weft_isend(nullptr, 2, type, 0, 0, world_, &request_),
           "buf = null; expected a buffer of 8 bytes (weft_isend)");
    expect(weft_irecv(in_place_, 2, type, 0, 0, world_, &request_),
           "buf = WEFT_IN_PLACE; expected a buffer of 8 bytes (weft_irecv)");
    expect(weft_recv_any_init(into_, 2, unknown_type_, 0, &source, world_, &request_),
           "type = 99; expected one of weft_type (weft_recv_any_init)");
    expect(weft_irecv(into_, SIZE_MAX / 2, type, 0, 0, world_, &request_),
           "count = 9223372036854775807; expected at most");
    expect(weft_isend(from_, 2, type, 0, 0, world_, nullptr),
           "request = null; expected an address (weft_isend)");
    expect_refused(weft_isend(from_, 2, type, 0, 0, WEFT_COMM_NULL, &request_), WEFT_REFUSED_HANDLE,
                   "comm = ");
    // Nothing was started: the first that is meets the first of the other end.
    weft_request requests[2] = {};
    from_[0] = 41;
    ASSERT_EQ(weft_isend(from_, 2, type, 0, WEFT_TAG_MAX, world_, &requests[0]), WEFT_OK);
    expect_refused(weft_request_free(&requests[0]), WEFT_REFUSED_OUTSTANDING,
                   "send to rank 0 with tag 8388607 of 8 bytes on world is active");
    ASSERT_EQ(weft_irecv_any(into_, 2, type, WEFT_TAG_MAX, &source, world_, &requests[1]), WEFT_OK);
    ASSERT_EQ(weft_waitall(2, requests, nullptr), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(into_[0], 41);
    EXPECT_EQ(source, 0);
}

TEST_F(Refused, ArgumentsOfAlltoallAndReduce) {
    expect_refused(weft_ialltoall(nullptr, into_, 2, WEFT_INT32, world_, &request_),
                   WEFT_REFUSED_ARGUMENT,
                   "send_buf = null; expected a buffer of 8 bytes (weft_ialltoall)");
    expect_refused(weft_alltoall(WEFT_IN_PLACE, nullptr, 2, WEFT_INT32, world_),
                   WEFT_REFUSED_ARGUMENT,
                   "recv_buf = null; expected a buffer of 8 bytes (weft_alltoall)");
    expect_refused(weft_ialltoall(from_, into_, SIZE_MAX / 2, WEFT_INT32, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "count = 9223372036854775807; expected at most");
    expect_refused(weft_ireduce(from_, into_, 2, WEFT_INT32, WEFT_SUM, 3, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "root = 3; expected 0..0 (weft_ireduce)");
    expect_refused(weft_ireduce(from_, into_, 2, WEFT_INT32, WEFT_OP_NULL, 0, world_, &request_),
                   WEFT_REFUSED_HANDLE, "op is WEFT_OP_NULL");
    expect_refused(weft_reduce(from_, into_, 2, WEFT_FLOAT32, WEFT_BXOR, 0, world_),
                   WEFT_REFUSED_ARGUMENT, "op = bxor is not defined for type float32");
    expect_refused(weft_ireduce(from_, into_, 2, WEFT_UINT8, WEFT_AVG, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "op = avg is not defined for type uint8: the result ");
    expect_refused(weft_iscan(from_, into_, 2, WEFT_FLOAT32, WEFT_AVG, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "op = avg is not defined for scan, whose results ");
    expect_refused(weft_exscan(from_, into_, 2, WEFT_FLOAT32, WEFT_AVG, world_),
                   WEFT_REFUSED_ARGUMENT, "op = avg is not defined for exscan, whose results ");
    expect_refused(weft_allreduce(from_, into_, 2, WEFT_COMPLEX64, WEFT_MAX, world_),
                   WEFT_REFUSED_ARGUMENT, "op = max is not defined for type complex64");
    expect_refused(weft_ireduce(from_, nullptr, 2, WEFT_INT32, WEFT_SUM, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "recv_buf = null; expected a buffer of 8 bytes");
    expect_refused(weft_ireduce(from_, from_, 2, WEFT_INT32, WEFT_SUM, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = ");
}

TEST_F(Refused, ArgumentsOfTheOtherReductions) {
    struct Function {
        const char* name;
        weft_status (*call)(const void*, void*, const size_t*, weft_type, weft_op, weft_comm,
                            weft_request*);
    };
    static constexpr Function functions[] = {
        {"weft_ireduce_scatter", weft_ireduce_scatter},
        {"weft_ireduce_scatter_block",
         [](const void* s, void* r, const size_t* n, weft_type t, weft_op o, weft_comm c,
            weft_request* q) { return weft_ireduce_scatter_block(s, r, *n, t, o, c, q); }},
        {"weft_iscan",
         [](const void* s, void* r, const size_t* n, weft_type t, weft_op o, weft_comm c,
            weft_request* q) { return weft_iscan(s, r, *n, t, o, c, q); }},
        {"weft_iexscan",
         [](const void* s, void* r, const size_t* n, weft_type t, weft_op o, weft_comm c,
            weft_request* q) { return weft_iexscan(s, r, *n, t, o, c, q); }},
    };
    const size_t two[] = {2};
    for (const Function& f : functions) {
        const std::string end = std::string(" (") + f.name + ")";
        expect_refused(f.call(nullptr, into_, two, WEFT_INT32, WEFT_SUM, world_, &request_),
                       WEFT_REFUSED_ARGUMENT,
                       "send_buf = null; expected a buffer of 8 bytes" + end);
        expect_refused(f.call(from_, into_, two, unknown_type_, WEFT_SUM, world_, &request_),
                       WEFT_REFUSED_ARGUMENT, "type = 99; expected one of weft_type" + end);
        expect_refused(f.call(from_, into_, two, WEFT_INT32, WEFT_OP_NULL, world_, &request_),
                       WEFT_REFUSED_HANDLE, "op is WEFT_OP_NULL" + end);
        expect_refused(f.call(from_, into_, two, WEFT_FLOAT32, WEFT_BXOR, world_, &request_),
                       WEFT_REFUSED_ARGUMENT, "op = bxor is not defined for type float32" + end);
    }
    expect_refused(
        weft_ireduce_scatter(from_, into_, nullptr, WEFT_INT32, WEFT_SUM, world_, &request_),
        WEFT_REFUSED_ARGUMENT, "recv_counts = null; expected 1 counts (weft_ireduce_scatter)");
}

TEST_F(Refused, ArgumentsOfCallsWithBlocksThatDiffer) {
    const size_t two[] = {2};
    const size_t three[] = {3};
    const size_t many[] = {SIZE_MAX};
    const weft_type ints[] = {WEFT_INT32};
    const weft_type unknown[] = {unknown_type_};
    const weft_type type = WEFT_INT32;
    const auto expect = [](weft_status status, const std::string& sentence) {
        expect_refused(status, WEFT_REFUSED_ARGUMENT, sentence);
    };
    expect(weft_igatherv(from_, 2, into_, two, nullptr, type, 1, world_, &request_),
           "root = 1; expected 0..0 (weft_igatherv)");
    expect(weft_igatherv(from_, 2, into_, nullptr, nullptr, type, 0, world_, &request_),
           "recv_counts = null; expected 1 counts (weft_igatherv)");
    expect(weft_igatherv(from_, 2, into_, three, nullptr, type, 0, world_, &request_),
           "send_count = 2; expected recv_counts[0] = 3 (weft_igatherv)");
    expect(weft_igatherv(from_, 2, nullptr, two, nullptr, type, 0, world_, &request_),
           "recv_buf = null; expected a buffer of 8 bytes (weft_igatherv)");
    expect(weft_iscatterv(from_, two, nullptr, into_, 2, type, -1, world_, &request_),
           "root = -1; expected 0..0 (weft_iscatterv)");
    expect(weft_iscatterv(from_, nullptr, nullptr, into_, 2, type, 0, world_, &request_),
           "send_counts = null; expected 1 counts (weft_iscatterv)");
    expect(weft_iscatterv(from_, two, nullptr, into_, 3, type, 0, world_, &request_),
           "recv_count = 3; expected send_counts[0] = 2 (weft_iscatterv)");
    expect(weft_iallgatherv(from_, 2, into_, nullptr, nullptr, type, world_, &request_),
           "recv_counts = null; expected 1 counts (weft_iallgatherv)");
    expect(weft_iallgatherv(from_, 3, into_, two, nullptr, type, world_, &request_),
           "send_count = 3; expected recv_counts[0] = 2 (weft_iallgatherv)");
    expect(weft_ialltoallv(from_, nullptr, nullptr, into_, two, nullptr, type, world_, &request_),
           "send_counts = null; expected 1 counts (weft_ialltoallv)");
    expect(weft_ialltoallv(from_, two, nullptr, into_, three, nullptr, type, world_, &request_),
           "send_counts[0] = 2; expected recv_counts[0] = 3 (weft_ialltoallv)");
    expect(weft_ialltoallv(from_, many, nullptr, into_, many, nullptr, type, world_, &request_),
           "send_counts[0] = 18446744073709551615; expected at most");
    expect(
        weft_ialltoallw(from_, two, nullptr, nullptr, into_, two, nullptr, ints, world_, &request_),
        "send_types = null; expected 1 types (weft_ialltoallw)");
    expect(
        weft_ialltoallw(from_, two, nullptr, ints, into_, two, nullptr, unknown, world_, &request_),
        "recv_types[0] = 99; expected one of weft_type (weft_ialltoallw)");
    expect(
        weft_ialltoallw(from_, two, nullptr, ints, into_, three, nullptr, ints, world_, &request_),
        "send_counts[0] = 8 bytes; expected recv_counts[0] = 12 bytes (weft_ialltoallw)");
}

TEST_F(Refused, ArgumentsOfCallsAmongNeighbors) {
    const int one = 1;
    weft_comm ring = WEFT_COMM_NULL;
    ASSERT_EQ(weft_comm_cart(world_, 1, &one, &one, &ring), WEFT_OK) << weft_last_detail();
    const size_t ones[] = {1, 1};
    const size_t differ[] = {1, 2};
    const weft_type ints[] = {WEFT_INT32, WEFT_INT32};
    const weft_type type = WEFT_INT32;
    const auto expect = [](weft_status status, const std::string& sentence) {
        expect_refused(status, WEFT_REFUSED_ARGUMENT, sentence);
    };
    expect(weft_ineighbor_allgather(nullptr, into_, 1, type, ring, &request_),
           "send_buf = null; expected a buffer of 4 bytes (weft_ineighbor_allgather)");
    expect(weft_ineighbor_allgather(from_, into_, 1, unknown_type_, ring, &request_),
           "type = 99; expected one of weft_type (weft_ineighbor_allgather)");
    expect(weft_ineighbor_allgatherv(from_, 1, into_, nullptr, nullptr, type, ring, &request_),
           "recv_counts = null; expected 2 counts (weft_ineighbor_allgatherv)");
    expect(weft_ineighbor_allgatherv(from_, 1, into_, differ, nullptr, type, ring, &request_),
           "send_count = 1; expected recv_counts[1] = 2, the same block");
    expect(weft_ineighbor_alltoall(from_, nullptr, 1, type, ring, &request_),
           "recv_buf = null; expected a buffer of 8 bytes (weft_ineighbor_alltoall)");
    expect(weft_ineighbor_alltoallv(from_, ones, nullptr, into_, nullptr, nullptr, type, ring,
                                    &request_),
           "recv_counts = null; expected 2 counts (weft_ineighbor_alltoallv)");
    // Slot 0 meets slot 1.
    expect(weft_ineighbor_alltoallv(from_, ones, nullptr, into_, differ, nullptr, type, ring,
                                    &request_),
           "send_counts[0] is 4 bytes; expected 8 as of recv_counts[1], the same block");
    expect(weft_ineighbor_alltoallw(from_, ones, nullptr, ints, into_, ones, nullptr, nullptr, ring,
                                    &request_),
           "recv_types = null; expected 2 types (weft_ineighbor_alltoallw)");
    EXPECT_EQ(weft_comm_free(&ring), WEFT_OK);
}

TEST_F(Refused, OverlappingBuffers) {
    weft_status status = weft_iallgather(into_ + 1, into_, 2, WEFT_INT32, world_, &request_);
    EXPECT_EQ(status, WEFT_REFUSED_ARGUMENT);
    EXPECT_NE(std::string(weft_last_detail()).find("overlaps recv_buf"), std::string::npos);
    status = weft_iallreduce(into_, into_, 2, WEFT_INT32, WEFT_SUM, world_, &request_);
    EXPECT_EQ(status, WEFT_REFUSED_ARGUMENT);
    EXPECT_NE(std::string(weft_last_detail()).find("WEFT_IN_PLACE (weft_iallreduce)"),
              std::string::npos);
}

TEST_F(Refused, TypesAndCounts) {
    expect_refused(weft_ibcast(into_, 1, unknown_type_, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "type = 99; expected one of weft_type (weft_ibcast)");
    expect_refused(weft_ibcast(into_, SIZE_MAX, WEFT_INT64, 0, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "count = 18446744073709551615; expected at most");
    EXPECT_EQ(weft_type_size(unknown_type_), 0u);
}

TEST_F(Refused, Operations) {
    EXPECT_EQ(weft_iallreduce(from_, into_, 1, WEFT_FLOAT32, WEFT_BAND, world_, &request_),
              WEFT_REFUSED_ARGUMENT);
    EXPECT_NE(std::string(weft_last_detail()).find("float32"), std::string::npos);
    EXPECT_EQ(weft_iallreduce(from_, into_, 1, WEFT_INT32, WEFT_OP_NULL, world_, &request_),
              WEFT_REFUSED_HANDLE)
        << weft_last_detail();
    weft_op op = WEFT_OP_NULL;
    expect_refused(weft_op_create(nullptr, 1, nullptr, &op), WEFT_REFUSED_ARGUMENT,
                   "function = null");
    expect_refused(weft_op_create(product, 1, nullptr, nullptr), WEFT_REFUSED_ARGUMENT,
                   "op = null");
    ASSERT_EQ(weft_op_create(product, 1, nullptr, &op), WEFT_OK);
    weft_op freed = op;
    ASSERT_EQ(weft_op_free(&op), WEFT_OK);
    EXPECT_EQ(op, WEFT_OP_NULL);
    char sentence[100];
    std::snprintf(sentence, sizeof sentence,
                  "op handle %p was freed, or never made by weft_op_create (",
                  static_cast<void*>(freed));
    expect_refused(weft_iallreduce(from_, into_, 1, WEFT_INT32, freed, world_, &request_),
                   WEFT_REFUSED_HANDLE, std::string(sentence) + "weft_iallreduce)");
    expect_refused(weft_op_free(&freed), WEFT_REFUSED_HANDLE,
                   std::string(sentence) + "weft_op_free)");
    weft_op sum = WEFT_SUM;
    expect_refused(weft_op_free(&sum), WEFT_REFUSED_HANDLE,
                   "op = sum is predefined and cannot be freed (weft_op_free)");
    EXPECT_EQ(sum, WEFT_SUM);
    expect_refused(weft_op_free(nullptr), WEFT_REFUSED_HANDLE,
                   "op = null; expected the address of an operation (weft_op_free)");
    weft_op none = WEFT_OP_NULL;
    expect_refused(weft_op_free(&none), WEFT_REFUSED_HANDLE, "op is null (weft_op_free)");
}

TEST_F(Refused, CommunicatorsAndPlaces) {
    expect_refused(weft_ibarrier(WEFT_COMM_NULL, &request_), WEFT_REFUSED_HANDLE, "comm = ");
    expect_refused(weft_ibarrier(reinterpret_cast<weft_comm>(std::uintptr_t{77}), &request_),
                   WEFT_REFUSED_HANDLE,
                   "comm = 0x4d; expected a communicator that has not been freed");
    expect_refused(weft_ibarrier(world_, nullptr), WEFT_REFUSED_ARGUMENT, "request = null");
    expect_refused(weft_comm_rank(world_, nullptr), WEFT_REFUSED_ARGUMENT, "rank = null");
    expect_refused(weft_comm_size(world_, nullptr), WEFT_REFUSED_ARGUMENT, "size = null");
    expect_refused(weft_set_engine(unknown_engine_), WEFT_REFUSED_ARGUMENT,
                   "engine = 7; expected one of weft_engine");
}

// Every function looks at its communicator, and its sentence names the function.
TEST_F(Refused, AFreedCommunicator) {
    weft_comm freed = WEFT_COMM_NULL;
    ASSERT_EQ(weft_comm_dup(world_, &freed), WEFT_OK) << weft_last_detail();
    weft_comm comm = freed;
    ASSERT_EQ(weft_comm_free(&comm), WEFT_OK) << weft_last_detail();
    EXPECT_EQ(comm, WEFT_COMM_NULL);
    char sentence[100];
    std::snprintf(sentence, sizeof sentence,
                  "comm = %p; expected a communicator that has not been freed (",
                  static_cast<void*>(freed));
    auto expect = [&](weft_status status, const char* function) {
        expect_refused(status, WEFT_REFUSED_HANDLE, sentence + std::string(function) + ")");
    };
    for (const Functions& f : all_functions) {
        const std::string name = f.name;
        const Empty empty = {.comm = freed, .request = &request_};
        expect(f.start(empty), ("weft_i" + name).c_str());
        expect(f.block(empty), ("weft_" + name).c_str());
        expect(f.init(empty), ("weft_" + name + "_init").c_str());
    }
    int number = 7;
    expect(weft_comm_rank(freed, &number), "weft_comm_rank");
    expect(weft_comm_size(freed, &number), "weft_comm_size");
    expect(weft_comm_dup(freed, &comm), "weft_comm_dup");
    expect(weft_comm_split(freed, 0, 0, &comm), "weft_comm_split");
    expect(weft_comm_cart(freed, 1, &number, &number, &comm), "weft_comm_cart");
    expect(weft_comm_graph(freed, 0, nullptr, 0, nullptr, &comm), "weft_comm_graph");
    expect(weft_comm_neighbors_count(freed, &number, &number), "weft_comm_neighbors_count");
    expect(weft_comm_neighbors(freed, 0, nullptr, 0, nullptr), "weft_comm_neighbors");
    expect(weft_comm_free(&freed), "weft_comm_free");
    expect_refused(weft_comm_free(nullptr), WEFT_REFUSED_HANDLE, "comm = ");
    EXPECT_EQ(number, 7);
    EXPECT_EQ(comm, WEFT_COMM_NULL);
}

// What every collective refuses, with its name.
TEST_F(Refused, WhatNoCollectiveTakes) {
    const int one = 1;
    weft_comm ring = WEFT_COMM_NULL;
    ASSERT_EQ(weft_comm_cart(world_, 1, &one, &one, &ring), WEFT_OK) << weft_last_detail();
    for (const Functions& f : all_functions) {
        SCOPED_TRACE(f.name);
        const weft_comm comm = f.is_among_neighbors ? ring : world_;
        const std::string end = std::string(f.name) + ")";
        for (auto* form : {f.start, f.init}) {
            expect_refused(form({.comm = comm}), WEFT_REFUSED_ARGUMENT,
                           "request = null; expected an address (weft_" +
                               (form == f.start ? "i" + end : f.name + std::string("_init)")));
        }
        if (f.has_type) {
            const weft_status status =
                f.start({.comm = comm, .request = &request_, .type = unknown_type_});
            EXPECT_EQ(status, WEFT_REFUSED_ARGUMENT);
            const std::string detail = weft_last_detail();
            EXPECT_NE(detail.find(" = 99; expected one of weft_type (weft_i" + end), detail.npos)
                << detail;
        }
        if (f.reduces) {
            expect_refused(f.start({.comm = comm, .request = &request_, .op = WEFT_OP_NULL}),
                           WEFT_REFUSED_HANDLE, "op is WEFT_OP_NULL (weft_i" + end);
        }
    }
    ASSERT_EQ(weft_comm_free(&ring), WEFT_OK);
}

TEST_F(Refused, MakingAndFreeingCommunicators) {
    expect_refused(weft_comm_dup(world_, nullptr), WEFT_REFUSED_ARGUMENT,
                   "new_comm = null; expected an address (weft_comm_dup)");
    expect_refused(weft_comm_split(world_, 0, 0, nullptr), WEFT_REFUSED_ARGUMENT,
                   "new_comm = null; expected an address (weft_comm_split)");
    weft_comm comm = world_;
    expect_refused(weft_comm_split(world_, -1, 0, &comm), WEFT_REFUSED_ARGUMENT,
                   "color = -1; expected 0 or more, or WEFT_COLOR_NONE (weft_comm_split)");
    expect_refused(weft_comm_free(&comm), WEFT_REFUSED_ARGUMENT,
                   "comm = world; expected a communicator that a constructor made, such as "
                   "weft_comm_dup (weft_comm_free)");
    EXPECT_EQ(comm, world_);
    comm = weft_comm_self();
    expect_refused(weft_comm_free(&comm), WEFT_REFUSED_ARGUMENT, "comm = self; expected");
}

TEST_F(Refused, Topologies) {
    weft_comm comm = WEFT_COMM_NULL;
    const int one = 1;
    const int two = 2;
    expect_refused(weft_comm_cart(world_, -1, &one, &one, &comm), WEFT_REFUSED_ARGUMENT,
                   "ndims = -1; expected 0 or more (weft_comm_cart)");
    expect_refused(weft_comm_cart(world_, 1025, &one, &one, &comm), WEFT_REFUSED_ARGUMENT,
                   "ndims = 1025; expected 0..1024");
    expect_refused(weft_comm_cart(world_, 1, nullptr, &one, &comm), WEFT_REFUSED_ARGUMENT,
                   "dims = null; expected 1 numbers");
    expect_refused(weft_comm_cart(world_, 1, &one, nullptr, &comm), WEFT_REFUSED_ARGUMENT,
                   "periods = null; expected 1 numbers");
    for (const int period : {7, 2, -1}) {
        expect_refused(weft_comm_cart(world_, 1, &one, &period, &comm), WEFT_REFUSED_ARGUMENT,
                       "periods[0] = " + std::to_string(period) + "; expected 0 or 1");
    }
    expect_refused(weft_comm_cart(world_, 1, &two, &one, &comm), WEFT_REFUSED_ARGUMENT,
                   "dims[0] = 2; expected 1..1, as there are 1 ranks");
    expect_refused(weft_comm_cart(world_, 1, &one, &one, nullptr), WEFT_REFUSED_ARGUMENT,
                   "new_comm = null");
    expect_refused(weft_comm_graph(world_, 1, &one, 0, nullptr, &comm), WEFT_REFUSED_ARGUMENT,
                   "sources[0] = 1; expected 0..0 (weft_comm_graph)");
    const int own = 0;
    expect_refused(
        weft_comm_graph(world_, 0, nullptr, 1, &own, &comm), WEFT_REFUSED_ARGUMENT,
        "rank 0 of the job lists rank 0 1 times as a destination, which lists it 0 times "
        "as a source; expected equally many");
    expect_refused(weft_ineighbor_alltoall(from_, into_, 1, WEFT_INT32, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "comm has no topology; expected one made by");
    int number = 7;
    expect_refused(weft_comm_neighbors_count(world_, &number, &number), WEFT_REFUSED_ARGUMENT,
                   "comm = world has no topology");
    EXPECT_EQ(comm, WEFT_COMM_NULL);
    EXPECT_EQ(number, 7);
}

TEST_F(Refused, Requests) {
    expect_refused(weft_wait(nullptr), WEFT_REFUSED_HANDLE, "request = null");
    expect_refused(weft_test(&request_), WEFT_REFUSED_HANDLE,
                   "request = 0x1234; expected a request that has not completed (weft_test)");
    expect_refused(weft_waitall(2, nullptr, nullptr), WEFT_REFUSED_ARGUMENT, "requests = null");
    weft_request null = WEFT_REQUEST_NULL;
    EXPECT_EQ(weft_wait(&null), WEFT_OK);
    EXPECT_EQ(weft_waitall(0, nullptr, nullptr), WEFT_OK);
}

TEST_F(Refused, PersistentForms) {
    expect_refused(weft_barrier_init(WEFT_COMM_NULL, &request_), WEFT_REFUSED_HANDLE, "comm = ");
    expect_refused(weft_barrier_init(world_, nullptr), WEFT_REFUSED_ARGUMENT,
                   "request = null; expected an address (weft_barrier_init)");
    expect_refused(weft_bcast_init(into_, 8, WEFT_INT32, 9, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "root = 9; expected 0..0 (weft_bcast_init)");
    expect_refused(weft_allgather_init(nullptr, into_, 1, WEFT_INT32, world_, &request_),
                   WEFT_REFUSED_ARGUMENT, "send_buf = null; expected a buffer of 4 bytes");
    expect_refused(weft_allreduce_init(from_, into_, 1, unknown_type_, WEFT_SUM, world_, &request_),
                   WEFT_REFUSED_ARGUMENT,
                   "type = 99; expected one of weft_type (weft_allreduce_init)");
}

TEST_F(Refused, Starts) {
    expect_refused(weft_start(nullptr), WEFT_REFUSED_HANDLE,
                   "request = null; expected a request's address (weft_start)");
    expect_refused(weft_start(&request_), WEFT_REFUSED_HANDLE,
                   "request = 0x1234; expected a request that has not completed (weft_start)");
    weft_request null = WEFT_REQUEST_NULL;
    expect_refused(weft_start(&null), WEFT_REFUSED_HANDLE,
                   "request = WEFT_REQUEST_NULL; expected a persistent request (weft_start)");
    expect_refused(weft_startall(1, nullptr), WEFT_REFUSED_ARGUMENT,
                   "requests = null; expected 1 requests (weft_startall)");
    weft_request nonblocking = WEFT_REQUEST_NULL;
    ASSERT_EQ(weft_ibarrier(world_, &nonblocking), WEFT_OK);
    expect_refused(weft_start(&nonblocking), WEFT_REFUSED_HANDLE,
                   "barrier of 0 bytes on world is started; expected a persistent request");

    // All or none: what stands before the refused one is not started.
    weft_request requests[3];
    for (weft_request& request : requests) ASSERT_EQ(weft_barrier_init(world_, &request), WEFT_OK);
    weft_request twice[3] = {requests[0], requests[1], requests[0]};
    expect_refused(weft_startall(3, twice), WEFT_REFUSED_STATE,
                   "persistent barrier of 0 bytes on world is active; expected a request that is "
                   "not started at requests[2] (weft_startall)");
    weft_request foreign[3] = {requests[0], requests[1], nonblocking};
    expect_refused(weft_startall(3, foreign), WEFT_REFUSED_HANDLE, "barrier of 0 bytes");
    ASSERT_EQ(weft_startall(3, requests), WEFT_OK);
    expect_refused(weft_start(&requests[1]), WEFT_REFUSED_STATE,
                   "persistent barrier of 0 bytes on world is active; expected a request that is "
                   "not started (weft_start)");
    EXPECT_EQ(weft_waitall(3, requests, nullptr), WEFT_OK);
    for (weft_request& request : requests) EXPECT_EQ(weft_request_free(&request), WEFT_OK);
    EXPECT_EQ(weft_wait(&nonblocking), WEFT_OK);
    EXPECT_EQ(weft_startall(0, nullptr), WEFT_OK);
}

TEST_F(Refused, Frees) {
    expect_refused(weft_request_free(nullptr), WEFT_REFUSED_HANDLE, "request = null");
    expect_refused(weft_request_free(&request_), WEFT_REFUSED_HANDLE, "request = 0x1234");
    // Done, but nobody has asked for the outcome yet.
    weft_request requests[2];
    ASSERT_EQ(weft_barrier_init(world_, &requests[0]), WEFT_OK);
    ASSERT_EQ(weft_start(&requests[0]), WEFT_OK);
    ASSERT_EQ(weft_ibarrier(world_, &requests[1]), WEFT_OK);
    expect_refused(weft_request_free(&requests[0]), WEFT_REFUSED_OUTSTANDING,
                   "persistent barrier of 0 bytes on world is active; expected an inactive request "
                   "(weft_request_free)");
    expect_refused(weft_request_free(&requests[1]), WEFT_REFUSED_OUTSTANDING,
                   "barrier of 0 bytes on world is active; expected an inactive request");
    EXPECT_EQ(weft_waitall(2, requests, nullptr), WEFT_OK);
    EXPECT_EQ(weft_request_free(&requests[0]), WEFT_OK);
    EXPECT_EQ(requests[0], WEFT_REQUEST_NULL);
    EXPECT_EQ(weft_request_free(&requests[0]), WEFT_OK);
}

TEST_F(Refused, CompletionCalls) {
    const size_t untold = 7;
    size_t number = untold;
    size_t indices[2];
    weft_status statuses[2] = {WEFT_INTERRUPTED, WEFT_INTERRUPTED};
    weft_request requests[2] = {WEFT_REQUEST_NULL, request_};
    const std::string sentence =
        "request = 0x1234; expected a request that has not completed at requests[1] (";
    expect_refused(weft_testall(2, requests, statuses), WEFT_REFUSED_HANDLE,
                   sentence + "weft_testall)");
    expect_refused(weft_waitall(2, requests, statuses), WEFT_REFUSED_HANDLE,
                   sentence + "weft_waitall)");
    expect_refused(weft_waitall_until(2, requests, statuses, 0), WEFT_REFUSED_HANDLE,
                   sentence + "weft_waitall_until)");
    expect_refused(weft_testany(2, requests, &number), WEFT_REFUSED_HANDLE,
                   sentence + "weft_testany)");
    expect_refused(weft_waitany(2, requests, &number), WEFT_REFUSED_HANDLE,
                   sentence + "weft_waitany)");
    expect_refused(weft_testsome(2, requests, &number, indices, statuses), WEFT_REFUSED_HANDLE,
                   sentence + "weft_testsome)");
    expect_refused(weft_waitsome(2, requests, &number, indices, statuses), WEFT_REFUSED_HANDLE,
                   sentence + "weft_waitsome)");
    expect_refused(weft_wait_until(&request_, 0), WEFT_REFUSED_HANDLE, "request = 0x1234");
    expect_refused(weft_wait_until(nullptr, 0), WEFT_REFUSED_HANDLE, "request = null");
    EXPECT_EQ(number, untold);
    EXPECT_EQ(statuses[0], WEFT_INTERRUPTED);
    EXPECT_EQ(requests[1], request_);

    expect_refused(weft_testany(1, requests, nullptr), WEFT_REFUSED_ARGUMENT,
                   "index = null; expected an address (weft_testany)");
    expect_refused(weft_waitany(1, requests, nullptr), WEFT_REFUSED_ARGUMENT, "index = null");
    expect_refused(weft_testsome(1, requests, nullptr, indices, nullptr), WEFT_REFUSED_ARGUMENT,
                   "completed = null; expected an address (weft_testsome)");
    expect_refused(weft_waitsome(1, requests, &number, nullptr, nullptr), WEFT_REFUSED_ARGUMENT,
                   "indices = null; expected an address (weft_waitsome)");
    expect_refused(weft_testall(2, nullptr, nullptr), WEFT_REFUSED_ARGUMENT, "requests = null");
    expect_refused(weft_waitany(2, nullptr, &number), WEFT_REFUSED_ARGUMENT, "requests = null");
    expect_refused(weft_waitsome(2, nullptr, &number, indices, nullptr), WEFT_REFUSED_ARGUMENT,
                   "requests = null; expected 2 requests (weft_waitsome)");
    EXPECT_EQ(weft_waitany(0, nullptr, &number), WEFT_OK);
    EXPECT_EQ(number, WEFT_NONE);
}

TEST_F(Refused, ARequestNamedTwice) {
    weft_request request = WEFT_REQUEST_NULL;
    ASSERT_EQ(weft_ibarrier(world_, &request), WEFT_OK);
    weft_request twice[2] = {request, request};
    weft_status statuses[2];
    EXPECT_EQ(weft_waitall(2, twice, statuses), WEFT_REFUSED_HANDLE);
    EXPECT_EQ(statuses[0], WEFT_OK);
    EXPECT_EQ(statuses[1], WEFT_REFUSED_HANDLE);
    EXPECT_EQ(twice[1], WEFT_REQUEST_NULL);
}

TEST_F(Refused, NothingWithOneRank) {
    from_[3] = 42;
    EXPECT_EQ(weft_allgather(from_, into_, 8, WEFT_INT32, world_), WEFT_OK);
    EXPECT_EQ(into_[3], 42);
    into_[3] = 0;
    EXPECT_EQ(weft_allreduce(from_, into_, 8, WEFT_INT32, WEFT_SUM, world_), WEFT_OK);
    EXPECT_EQ(into_[3], 42);
    EXPECT_EQ(weft_barrier(world_), WEFT_OK);
    for (auto* collective : {weft_gather, weft_scatter}) {
        into_[3] = 0;
        EXPECT_EQ(collective(from_, into_, 8, WEFT_INT32, 0, world_), WEFT_OK);
        EXPECT_EQ(into_[3], 42);
    }
    into_[3] = 0;
    EXPECT_EQ(weft_alltoall(from_, into_, 8, WEFT_INT32, world_), WEFT_OK);
    EXPECT_EQ(into_[3], 42);
    into_[3] = 0;
    EXPECT_EQ(weft_reduce(from_, into_, 8, WEFT_INT32, WEFT_SUM, 0, world_), WEFT_OK);
    EXPECT_EQ(into_[3], 42);
    EXPECT_EQ(weft_gather(WEFT_IN_PLACE, into_, 8, WEFT_INT32, 0, world_), WEFT_OK);
    EXPECT_EQ(weft_scatter(from_, in_place_, 8, WEFT_INT32, 0, world_), WEFT_OK);
    EXPECT_EQ(weft_alltoall(WEFT_IN_PLACE, into_, 8, WEFT_INT32, world_), WEFT_OK);
    EXPECT_EQ(weft_reduce(WEFT_IN_PLACE, into_, 8, WEFT_INT32, WEFT_SUM, 0, world_), WEFT_OK);
    EXPECT_EQ(into_[3], 42);
}

}  // namespace refused_test
