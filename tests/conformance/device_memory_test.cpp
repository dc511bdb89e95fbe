// Buffers in a device's memory are refused with a sentence, if something can tell them from others. Here it is told of a
// part of the test's own memory.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "support/process.h"
#include "support/test.h"
#include "support/thread_job.h"
#include "weft/collective.h"

namespace weft::test::device_memory_test {

std::array<std::int64_t, 8> on_device;

const char* device_memory(const void* address) {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    const auto begin = reinterpret_cast<std::uintptr_t>(on_device.data());
    return place >= begin && place < begin + sizeof on_device ? "CUDA" : nullptr;
}

Call sum(const void* from, void* into) {
    return {.collective = Collective::allreduce,
            .send_buf = from,
            .recv_buf = into,
            .count = 8,
            .type = WEFT_INT64,
            .op = WEFT_SUM};
}

class DevicesMemory : public testing::Test {
  protected:
    static void expect_refused(weft_status status, const char* buffer) {
        EXPECT_EQ(status, WEFT_REFUSED_UNSUPPORTED);
        const std::string sentence = last_detail();
        EXPECT_TRUE(sentence.starts_with(std::string(buffer) + " = 0x")) << sentence;
        EXPECT_NE(sentence.find(" is memory of CUDA; expected memory of the host"),
                  std::string::npos)
            << sentence;
    }

    ThreadJob job_{1, {.engine = EngineKind::manual, .device_memory = device_memory}};
    ThreadRank& rank_ = job_.at(0);
    std::array<std::int64_t, 8> here_{};
    weft_request request_ = WEFT_REQUEST_NULL;
};

TEST_F(DevicesMemory, IsRefusedAsEitherBuffer) {
    for (int time = 0; time < 2; ++time) {  // without a cached schedule, and with one
        expect_refused(rank_.start(sum(on_device.data(), here_.data()), &request_), "send_buf");
        expect_refused(rank_.start(sum(here_.data(), on_device.data()), &request_), "recv_buf");
        expect_refused(rank_.start(sum(WEFT_IN_PLACE, on_device.data()), &request_), "recv_buf");
        expect_refused(rank_.ibcast(on_device.data(), 8, WEFT_INT64, 0, &request_), "buf");
        EXPECT_EQ(request_, WEFT_REQUEST_NULL) << "nothing has been started";
        std::array<std::int64_t, 8> sums{};
        here_ = {1, 2, 3};
        ASSERT_EQ(rank_.start(sum(here_.data(), sums.data()), &request_), WEFT_OK);
        ASSERT_EQ(rank_.wait(&request_), WEFT_OK);
        EXPECT_EQ(sums, here_);
        ASSERT_EQ(rank_.ibcast(here_.data(), 8, WEFT_INT64, 0, &request_), WEFT_OK);
        ASSERT_EQ(rank_.wait(&request_), WEFT_OK);
    }
}

TEST_F(DevicesMemory, IsRefusedByPersistentRequests) {
    expect_refused(rank_.init(sum(on_device.data(), here_.data()), &request_), "send_buf");
}

// Blocks of different sizes: the first one that is used says it.
TEST_F(DevicesMemory, IsToldByTheFirstBlock) {
    const std::int64_t counts = 1;
    const std::int64_t displacements = 3;
    Call call{.collective = Collective::allgatherv,
              .send_buf = here_.data(),
              .recv_buf = on_device.data(),
              .count = 1,
              .type = WEFT_INT64};
    call.recv_blocks = {.counts = &counts, .displacements = &displacements};
    expect_refused(rank_.start(call, &request_), "recv_buf");
}

// Stands for CUDA's driver, which the program loads: it knows one piece of memory.
constexpr const char* driver_source = R"(
static unsigned long long first, end;
static unsigned is_managed;
void allocate(void* at, unsigned long long bytes, unsigned managed) {
    first = (unsigned long long)at;
    end = first + bytes;
    is_managed = managed;
}
int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
    if (address < first || address >= end) return 1;
    if (attribute != 2 && attribute != 8) return 1;
    *(unsigned*)value = attribute == 2 ? 2 : is_managed;
    return 0;
}
)";

// Nothing may touch a device's memory: here, that would end the test.
TEST(MemoryOfCuda, IsRefusedOnceTheProgramHasLoadedItsDriver) {
    ThreadJob job(1, {.engine = EngineKind::manual});
    ThreadRank& rank = job.at(0);
    std::array<std::int64_t, 8> here{1, 2, 3};
    std::array<std::int64_t, 8> sums{};
    weft_request request = WEFT_REQUEST_NULL;
    const auto expect_sum = [&] {
        sums = {};
        ASSERT_EQ(rank.start(sum(here.data(), sums.data()), &request), WEFT_OK) << last_detail();
        ASSERT_EQ(rank.wait(&request), WEFT_OK);
        EXPECT_EQ(sums, here);
    };
    expect_sum();  // its schedule is cached now

    const Folder folder;
    std::ofstream(folder / "driver.c") << driver_source;
    const std::string library = folder / "libcuda.so.1";
    expect_success(WEFT_C_COMPILER " -shared -fPIC -o " + library + " " + (folder / "driver.c"));
    void* const driver = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    const auto allocate =
        reinterpret_cast<void (*)(void*, unsigned long long, unsigned)>(dlsym(driver, "allocate"));
    ASSERT_NE(allocate, nullptr);
    usleep(10'000);  // it is looked for some times in a millisecond
    constexpr std::size_t bytes = 4096;
    void* const device = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(device, MAP_FAILED);
    allocate(device, bytes, 0);

    const auto expect_refusal_of = [&](weft_status status, const std::string& buffer) {
        EXPECT_EQ(status, WEFT_REFUSED_UNSUPPORTED);
        const std::string sentence = last_detail();
        EXPECT_TRUE(sentence.starts_with(buffer + " = 0x")) << sentence;
        EXPECT_TRUE(contains(sentence, " is memory of CUDA; expected memory of the host"));
    };
    expect_refusal_of(rank.start(sum(device, sums.data()), &request), "send_buf");
    expect_refusal_of(rank.start(sum(here.data(), device), &request), "recv_buf");
    expect_refusal_of(rank.init(sum(device, sums.data()), &request), "send_buf");
    expect_refusal_of(rank.ibcast(device, 8, WEFT_INT64, 0, &request), "buf");
    expect_sum();
    allocate(here.data(), sizeof here, 1);  // managed memory, which the processor can use
    expect_sum();
    allocate(nullptr, 0, 0);
    munmap(device, bytes);
}

TEST_F(DevicesMemory, IsNotLookedForInBuffersThatAreNotUsed) {
    Call call = sum(on_device.data(), on_device.data());
    call.count = 0;
    ASSERT_EQ(rank_.start(call, &request_), WEFT_OK) << last_detail();
    ASSERT_EQ(rank_.wait(&request_), WEFT_OK);
}

}  // namespace weft::test::device_memory_test
