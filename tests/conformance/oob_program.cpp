// Ranks that another library has started (here: fork) make communicators with its exchange: RANKS. Says how many
// exchanges that takes, and that there is no progress thread before the first operation between ranks.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "conformance/rank_expect.h"

namespace {

constexpr int ranks_max = 16;
constexpr std::size_t bytes_max = 1 << 16;

// In memory that the ranks share.
struct Exchange {
    pthread_barrier_t barrier;
    std::byte slots[ranks_max][bytes_max];
};

struct Rank {
    Exchange* exchange;
    int rank;
    int ranks;
    int exchanges = 0;
};

int allgather(void* context, const void* mine, void* all, int bytes) {
    Rank& own = *static_cast<Rank*>(context);
    const auto size = static_cast<std::size_t>(bytes);
    EXPECT(size <= bytes_max);
    ++own.exchanges;
    std::memcpy(own.exchange->slots[own.rank], mine, size);
    pthread_barrier_wait(&own.exchange->barrier);
    for (int r = 0; r < own.ranks; ++r) {
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * size,
                    own.exchange->slots[r], size);
    }
    pthread_barrier_wait(&own.exchange->barrier);
    // Others may use a communicator before this rank has it.
    if (own.exchanges % 2 == 0 && own.rank == own.ranks - 1) usleep(20'000);
    return 0;
}

auto threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
}

void use(weft_comm comm, const Rank& own) {
    int rank = -1;
    int size = -1;
    EXPECT(weft_comm_rank(comm, &rank) == WEFT_OK && rank == own.rank);
    EXPECT(weft_comm_size(comm, &size) == WEFT_OK && size == own.ranks);
    int sum = own.rank;
    EXPECT(weft_allreduce(WEFT_IN_PLACE, &sum, 1, WEFT_INT32, WEFT_SUM, comm) == WEFT_OK);
    EXPECT(sum == own.ranks * (own.ranks - 1) / 2);
}

void run(Rank own) {
    world_rank = own.rank;
    alarm(60);
    const auto threads_at_first = threads();
    weft_oob oob{};
    oob.struct_bytes = sizeof oob;
    oob.context = &own;
    oob.rank = own.rank;
    oob.ranks = own.ranks;
    oob.allgather = allgather;
    weft_comm first = WEFT_COMM_NULL;
    weft_comm second = WEFT_COMM_NULL;
    EXPECT(weft_comm_from_oob(&oob, &first) == WEFT_OK);
    EXPECT(own.exchanges <= 2);

    // What sends nothing needs no thread.
    if (own.rank == own.ranks - 1) {
        int one = 1;
        EXPECT(weft_allreduce(WEFT_IN_PLACE, &one, 1, WEFT_INT32, WEFT_SUM, weft_comm_self()) ==
               WEFT_OK);
        weft_members alone{};
        alone.struct_bytes = sizeof alone;
        alone.ranks = 1;
        alone.world_ranks = &own.rank;
        weft_comm mine = WEFT_COMM_NULL;
        EXPECT(weft_expect_comms(1) == WEFT_OK);
        EXPECT(weft_comm_from_members(&alone, &mine) == WEFT_OK);
        EXPECT(weft_expect_comms(0) == WEFT_OK);
        EXPECT(weft_barrier(mine) == WEFT_OK);
        EXPECT(weft_comm_free(&mine) == WEFT_OK);
    }
#if !defined(__SANITIZE_THREAD__)  // which starts a thread of its own, as UCX may
    const char* transport = std::getenv("WEFT_TRANSPORT");
    const bool is_ucx = transport != nullptr && std::strcmp(transport, "ucx") == 0;
    EXPECT(is_ucx || threads() == threads_at_first);
#endif

    use(first, own);
    use(weft_comm_world(), own);
    EXPECT(weft_comm_from_oob(&oob, &second) == WEFT_OK);
    EXPECT(own.exchanges <= 4);
    use(second, own);
    use(first, own);
    EXPECT(weft_comm_free(&first) == WEFT_OK);
    use(second, own);
    EXPECT(weft_finalize() == WEFT_OK);
}

}  // namespace

int main(int argc, char** argv) {
    const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
    EXPECT(ranks > 0 && ranks <= ranks_max);
    void* memory =
        mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    auto* exchange = static_cast<Exchange*>(memory);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&exchange->barrier, &shared, static_cast<unsigned>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (child > 0) continue;
        run({exchange, rank, ranks});
        return 0;
    }
    bool is_well = true;
    for (int rank = 0; rank < ranks; ++rank) {
        int status = -1;
        EXPECT(wait(&status) > 0);
        is_well &= status == 0;
    }
    return is_well ? 0 : 1;
}
