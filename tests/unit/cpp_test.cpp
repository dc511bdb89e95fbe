// The C++ interface on a job of one rank: what compiles, how sizes are checked, who owns what.
#include <weft/pipeline.hpp>
#include <weft/weft.hpp>

#include "support/test.h"

namespace cpp_test {

// One job for all tests here; nothing outside of them is called before it is joined.
class Cpp : public testing::Test {
  protected:
    static void SetUpTestSuite() { environment_ = new weft::Environment; }
    static void TearDownTestSuite() { delete environment_; }
    const weft::Communicator world_ = weft::Communicator::world();

  private:
    static inline weft::Environment* environment_;
};

template <class F>
weft::Error error_of(F&& call) {
    try {
        call();
    } catch (const weft::Error& error) {
        return error;
    }
    ADD_FAILURE() << "expected weft::Error";
    return {WEFT_OK, ""};
}

#define EXPECT_ERROR(code_, sentence, call)                      \
    do {                                                         \
        const weft::Error error = error_of([&] { (void)call; }); \
        EXPECT_EQ(error.code(), code_);                          \
        EXPECT_STREQ(error.what(), sentence);                    \
    } while (0)

// --- What compiles -------------------------------------------------------------------------------

enum class Colour : std::int32_t { red };
struct Particle {
    double position[3];
    int charge;
};

static_assert(weft::type_of<float> == WEFT_FLOAT32 && weft::type_of<double> == WEFT_FLOAT64);
static_assert(weft::type_of<signed char> == WEFT_INT8 && weft::type_of<short> == WEFT_INT16);
static_assert(weft::type_of<int> == WEFT_INT32 && weft::type_of<long> == WEFT_INT64);
static_assert(weft::type_of<long long> == WEFT_INT64);
static_assert(weft::type_of<unsigned char> == WEFT_UINT8);
static_assert(weft::type_of<unsigned short> == WEFT_UINT16);
static_assert(weft::type_of<unsigned> == WEFT_UINT32);
static_assert(weft::type_of<std::size_t> == WEFT_UINT64);
static_assert(weft::type_of<weft::ValueIndex<float>> == WEFT_FLOAT32_INT32);
static_assert(weft::type_of<weft::ValueIndex<double>> == WEFT_FLOAT64_INT32);
static_assert(weft::type_of<weft::ValueIndex<int>> == WEFT_INT32_INT32);
static_assert(weft::type_of<weft::ValueIndex<std::int64_t>> == WEFT_INT64_INT32);
static_assert(weft::type_of<std::complex<float>> == WEFT_COMPLEX64);
static_assert(weft::type_of<std::complex<double>> == WEFT_COMPLEX128);
static_assert(weft::type_of<weft::bfloat16> == WEFT_BFLOAT16 && sizeof(weft::bfloat16) == 2);
#ifdef __FLT16_MAX__
static_assert(weft::type_of<_Float16> == WEFT_FLOAT16);
#endif
static_assert(weft::type_of<std::byte> == WEFT_BYTE && weft::type_of<char> == WEFT_BYTE);
static_assert(weft::type_of<bool> == WEFT_BYTE && weft::type_of<Colour> == WEFT_BYTE);
static_assert(weft::type_of<Particle> == WEFT_BYTE && weft::type_of<long double> == WEFT_BYTE);

static_assert(weft::Reducible<std::complex<double>> && weft::Reducible<weft::bfloat16>);
static_assert(weft::Reducible<double> && weft::Reducible<std::byte>);
static_assert(!weft::Reducible<char> && !weft::Reducible<bool> && !weft::Reducible<Particle>);

template <class B>
concept CanBcast = requires(const weft::Communicator& comm, B&& buf) {
    comm.ibcast(std::forward<B>(buf), 0);
};
static_assert(CanBcast<std::vector<double>&> && CanBcast<std::span<Particle>>);
static_assert(CanBcast<std::array<char, 4>&> && CanBcast<int (&)[3]>);
static_assert(!CanBcast<std::vector<double>>, "a temporary does not outlive the operation");
static_assert(!CanBcast<const std::vector<double>&> && !CanBcast<std::span<const double>>);
static_assert(!CanBcast<std::vector<std::string>&> && !CanBcast<std::vector<double*>&>);
static_assert(!CanBcast<std::vector<bool>&>);

template <class S, class R, class O>
concept CanReduce = requires(const weft::Communicator& comm, S&& send, R&& recv, const O& op) {
    comm.iallreduce(std::forward<S>(send), std::forward<R>(recv), op);
};
using Doubles = std::vector<double>;
static_assert(CanReduce<const Doubles&, Doubles&, weft_op>);
static_assert(CanReduce<weft::InPlace, std::span<double>, weft::Operation<double>>);
static_assert(!CanReduce<std::vector<float>&, Doubles&, weft_op>, "different elements");
static_assert(!CanReduce<Doubles, Doubles&, weft_op>, "a temporary");
static_assert(!CanReduce<Doubles&, Doubles&, weft::Operation<float>>, "different elements");
static_assert(!CanReduce<weft::InPlace, std::vector<char>&, weft_op>);

static_assert(!std::is_copy_constructible_v<weft::Request> &&
              !std::is_copy_constructible_v<weft::Communicator> &&
              !std::is_copy_constructible_v<weft::Operation<int>>);
static_assert(std::is_nothrow_move_constructible_v<weft::Request> &&
              std::is_nothrow_move_assignable_v<weft::Request>);

// --- Collectives ---------------------------------------------------------------------------------

TEST_F(Cpp, CollectivesTakeContiguousRangesOfEqualElements) {
    const std::vector<double> send = {1, 2, 3};
    std::array<double, 3> recv{};
    world_.allreduce(send, recv, weft::sum);
    EXPECT_EQ(recv[2], 3);
    Particle particles[2] = {{{1, 2, 3}, -1}, {{4, 5, 6}, 1}};
    std::vector<Particle> gathered(2);
    world_.iallgather(particles, gathered).wait();
    EXPECT_EQ(gathered[1].position[2], 6);
    EXPECT_EQ(gathered[1].charge, 1);
    EXPECT_EQ(world_.allreduce(7, weft::max), 7);
    world_.allgather(weft::in_place, recv);
    world_.bcast(std::span(recv).first(0), 0);
}

TEST_F(Cpp, NumbersOf16BitsAndComplexOnesAreReduced) {
    std::vector<weft::bfloat16> halves = {weft::bfloat16(1.5f), weft::bfloat16(-3.0f)};
    world_.allreduce(weft::in_place, halves, weft::avg);
    EXPECT_EQ(halves[0], 1.5f);
    const auto doubled = weft::Operation<weft::bfloat16>::premultiplied_sum(2);
    world_.allreduce(weft::in_place, halves, doubled);
    EXPECT_EQ(halves[0], 3.0f);
    EXPECT_EQ(halves[1], -6.0f);
    const std::vector<std::complex<double>> send = {{1, 2}, {3, -4}};
    std::vector<std::complex<double>> recv(2);
    world_.iallreduce(send, recv, weft::prod).wait();
    EXPECT_EQ(recv, send);
#ifdef __FLT16_MAX__
    std::array<_Float16, 2> small = {static_cast<_Float16>(0.25f), static_cast<_Float16>(4.0f)};
    world_.allreduce(weft::in_place, small, weft::max);
    EXPECT_EQ(static_cast<float>(small[1]), 4.0f);
#endif
}

TEST(Bfloat16, RoundsToTheNearestAndKeepsInfinities) {
    using weft::bfloat16;
    static_assert(bfloat16(1.0f).bits == 0x3f80);
    EXPECT_EQ(bfloat16(1.0f + 0x1p-8f).bits, 0x3f80);  // between two: the even one
    EXPECT_EQ(bfloat16(1.0f + 0x3p-8f).bits, 0x3f82);
    EXPECT_EQ(bfloat16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);
    EXPECT_EQ(bfloat16(-3e38f).bits, 0xff62);
    EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_EQ(bfloat16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
    EXPECT_EQ(bfloat16(-std::numeric_limits<float>::quiet_NaN()).bits, 0x7fc0);
    EXPECT_EQ(static_cast<float>(bfloat16(-2.5f)), -2.5f);
}

TEST_F(Cpp, SendsAndReceivesTakeRanges) {
    const std::vector<double> sent = {1, 2, 3};
    std::array<double, 3> got[3] = {};
    int source = -1;
    weft::Request requests[] = {world_.irecv(got[0], 0, 1), world_.irecv_any(got[1], 2, &source),
                                world_.isend(sent, 0, 2), world_.isend(sent, 0, 1)};
    weft::wait_all(requests);
    EXPECT_EQ(source, 0);
    weft::Request persistent[] = {world_.send_init(sent, 0, 3), world_.recv_init(got[2], 0, 3)};
    for (int round = 0; round < 2; ++round) {
        got[2] = {};
        weft::start_all(persistent);
        weft::wait_all(persistent);
        for (const auto& one : got) EXPECT_TRUE(std::ranges::equal(one, sent));
    }
    // Elements without a type of Weft's travel as bytes.
    struct Pixel {
        char colours[3];
    };
    const Pixel pixel{{'r', 'g', 'b'}};
    Pixel copy[1] = {};
    weft::Request pixels[] = {world_.isend(std::span(&pixel, 1), 0, 4),
                              world_.recv_any_init(copy, 4)};
    pixels[1].start();
    weft::wait_all(pixels);
    EXPECT_EQ(copy[0].colours[2], 'b');
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT, "tag = -2; expected 0..8388607 (weft_isend)",
                 world_.isend(sent, 0, -2));
}

TEST_F(Cpp, BuffersOfWrongSizeAreRefusedWithASentence) {
    std::vector<double> send(3), recv(5);
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT,
                 "recv has 5 elements; expected 3 (weft::Communicator::iallreduce)",
                 world_.iallreduce(send, recv, weft::sum));
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT,
                 "recv has 5 elements; expected 3 (weft::Communicator::allgather_init)",
                 world_.allgather_init(send, recv));
    std::vector<std::size_t> indices(1);
    std::vector<weft::Request> requests(2);
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT, "fewer indices than requests (weft::wait_some)",
                 weft::wait_some(requests, indices));
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT, "fewer indices than requests (weft::test_some)",
                 weft::test_some(requests, indices));
}

TEST_F(Cpp, ErrorsCarryTheCodeAndTheSentenceOfTheLibrary) {
    std::vector<int> data(1);
    EXPECT_ERROR(WEFT_REFUSED_ARGUMENT, weft_last_detail(), world_.bcast(data, 9));
    EXPECT_EQ(std::string(weft_last_detail()).find("root = 9; expected 0"), 0u);
    EXPECT_ERROR(WEFT_REFUSED_HANDLE, weft_last_detail(), weft::Communicator().barrier());
    EXPECT_ERROR(WEFT_REFUSED_HANDLE, weft_last_detail(), weft::Communicator().ibarrier());
    EXPECT_ERROR(WEFT_REFUSED_HANDLE, weft_last_detail(), weft::Request().start());
    EXPECT_ERROR(WEFT_REFUSED_STATE, weft_last_detail(), weft::Environment());
    EXPECT_EQ(weft_is_initialized(), 1);
}

TEST_F(Cpp, OwnOperationsAreFunctionsOfTwoElements) {
    weft::Operation<double> product([](double a, double b) { return a * b; },
                                    weft::Operands::in_any_order);
    std::vector<double> values = {2, 3};
    world_.allreduce(weft::in_place, values, product);
    EXPECT_EQ(values, (std::vector<double>{2, 3}));
    weft::Operation<double> moved = std::move(product);
    EXPECT_EQ(product.handle(), WEFT_OP_NULL);
    world_.allreduce(weft::in_place, values, moved);
    EXPECT_ERROR(WEFT_REFUSED_HANDLE, weft_last_detail(),
                 world_.allreduce(weft::in_place, values, product));
    const weft_op freed = moved.handle();
    moved =
        weft::Operation<double>([](double a, double) { return a; }, weft::Operands::in_rank_order);
    EXPECT_NE(moved.handle(), WEFT_OP_NULL);
    EXPECT_THROW(world_.allreduce(weft::in_place, values, freed), weft::Error);
}

// --- Owners --------------------------------------------------------------------------------------

TEST_F(Cpp, CommunicatorsThatWereMadeAreFreedOnce) {
    weft_comm handle = WEFT_COMM_NULL;
    {
        weft::Communicator first = world_.dup();
        handle = first.handle();
        weft::Communicator second = std::move(first);
        EXPECT_FALSE(first);
        EXPECT_EQ(second.handle(), handle);
        second.barrier();
        first = std::move(second);
        first = std::move(first);
        EXPECT_EQ(first.size(), 1);
        EXPECT_EQ(first.rank(), 0);
    }
    EXPECT_EQ(weft_barrier(handle), WEFT_REFUSED_HANDLE);
    weft::Communicator replaced = world_.split(0);
    handle = replaced.handle();
    replaced = weft::Communicator::self();
    EXPECT_EQ(weft_barrier(handle), WEFT_REFUSED_HANDLE);
    replaced.barrier();
    EXPECT_FALSE(world_.split(WEFT_COLOR_NONE));
    { weft::Communicator borrowed(world_.handle()); }
    world_.barrier();
}

TEST_F(Cpp, PersistentRequestsAreFreedWhenTheyEnd) {
    weft_request handle = WEFT_REQUEST_NULL;
    std::vector<double> data(4, 2);
    {
        weft::Request request = world_.allreduce_init(weft::in_place, data, weft::sum);
        handle = request.handle();
        for (int i = 0; i < 3; ++i) {
            request.start();
            request.wait();
            EXPECT_TRUE(request);
        }
        request.start();  // not waited for
        weft::Request other = std::move(request);
        EXPECT_FALSE(request);
        EXPECT_EQ(other.handle(), handle);
    }
    EXPECT_EQ(weft_start(&handle), WEFT_REFUSED_HANDLE);
    weft::Request replaced = world_.barrier_init();
    handle = replaced.handle();
    replaced = world_.bcast_init(data, 0);
    EXPECT_EQ(weft_start(&handle), WEFT_REFUSED_HANDLE);
    replaced.start();
}

TEST_F(Cpp, NullAndInactiveRequestsAreComplete) {
    std::vector<weft::Request> requests(2);
    requests[1] = world_.barrier_init();
    std::vector<std::size_t> indices(2);
    std::size_t index = 0;
    EXPECT_TRUE(weft::test_all(requests));
    weft::wait_all(requests);
    EXPECT_TRUE(weft::test_any(requests, index));
    EXPECT_EQ(index, weft::none);
    EXPECT_EQ(weft::wait_any(requests), weft::none);
    EXPECT_EQ(weft::test_some(requests, indices), weft::none);
    EXPECT_EQ(weft::wait_some(requests, indices), weft::none);
    EXPECT_TRUE(weft::wait_all_for(requests, std::chrono::nanoseconds::min()));
    EXPECT_TRUE(requests[1].wait_for(std::chrono::nanoseconds::max()));
    weft::wait_all({});
}

// --- The pipeline --------------------------------------------------------------------------------

TEST_F(Cpp, PipelineGivesEveryBlockEachOfItsStepsInOrder) {
    for (std::size_t buffers = 1; buffers <= 5; ++buffers) {
        for (std::size_t blocks : {0, 1, 2, 5, 6, 100}) {
            std::vector<std::vector<std::size_t>> storage(buffers, std::vector<std::size_t>(2));
            std::size_t computed = 0, started = 0, finished = 0;
            weft::pipeline(
                blocks, storage,
                [&](std::size_t block, std::vector<std::size_t>& buffer) {
                    EXPECT_EQ(block, computed++);
                    EXPECT_EQ(started, block);
                    // As many are on their way as there are other buffers.
                    EXPECT_EQ(finished, block < buffers ? 0 : block - buffers + 1);
                    buffer.assign(2, block);
                },
                [&](std::size_t block, std::vector<std::size_t>& buffer) {
                    EXPECT_EQ(block, started++);
                    EXPECT_EQ(&buffer, &storage[block % buffers]);
                    return world_.iallreduce(weft::in_place, buffer, weft::sum);
                },
                [&](std::size_t block, const std::vector<std::size_t>& buffer) {
                    EXPECT_EQ(block, finished++);
                    EXPECT_EQ(buffer, std::vector<std::size_t>(2, block));
                });
            EXPECT_EQ(computed, blocks);
            EXPECT_EQ(started, blocks);
            EXPECT_EQ(finished, blocks);
        }
    }
}

TEST_F(Cpp, PipelineRefusesToRunWithoutBuffers) {
    std::vector<int> none;
    const auto untouched = [](std::size_t, int&) { ADD_FAILURE(); };
    EXPECT_ERROR(
        WEFT_REFUSED_ARGUMENT, "0 buffers; expected 1 or more (weft::pipeline)",
        weft::pipeline(3, none, untouched, [](std::size_t, int&) { return weft::Request(); }));
}

}  // namespace cpp_test
