// A job whose ports strangers call. Argument: a folder. Every rank writes there where it listens, and
// waits for the file `go`, so that the first strangers may come before the ranks have connected. Then it
// runs collectives and checks them until the file `stop` exists. Exits with status 1 and a sentence if a
// result is wrong, or if a stranger's connection stays open.
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/fault_program.h"

using weft::test::fail;

namespace {

int rank = -1;
int ranks = 0;

// The sockets of this process.
std::vector<int> sockets() {
    std::vector<int> found;
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder)) {
        int type = 0;
        socklen_t size = sizeof type;
        const int fd = std::atoi(entry->d_name);
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM)
            found.push_back(fd);
    }
    closedir(folder);
    return found;
}

// The port of the one that listens; 0: none does.
int listening_port() {
    for (int fd : sockets()) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_in address{};
        socklen_t length = sizeof address;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0)
            return ntohs(address.sin_port);
    }
    return 0;
}

// One round of collectives of `count` elements each, started together. Empty: all is right.
std::string round_of(std::size_t count, std::uint32_t round) {
    const auto size = static_cast<std::size_t>(ranks);
    const int root = static_cast<int>(round % static_cast<std::uint32_t>(ranks));
    auto value = [&](int of, std::size_t i) {
        return round * 1000003u + static_cast<std::uint32_t>(of) * 4099u +
               static_cast<std::uint32_t>(i);
    };
    std::vector<std::uint32_t> cast(count);
    std::vector<std::uint32_t> sum(count);
    std::vector<std::uint32_t> own(count * size);
    std::vector<std::uint32_t> all(count * size);
    std::vector<std::uint32_t> turned(count * size);
    for (std::size_t i = 0; i < count * size; ++i) own[i] = value(rank, i);
    for (std::size_t i = 0; i < count; ++i) {
        cast[i] = rank == root ? value(root, i) : 0;
        sum[i] = value(rank, i);
    }
    weft_comm world = weft_comm_world();
    weft_request requests[4] = {};
    if (weft_ibcast(cast.data(), count, WEFT_UINT32, root, world, &requests[0]) != WEFT_OK ||
        weft_iallreduce(WEFT_IN_PLACE, sum.data(), count, WEFT_UINT32, WEFT_SUM, world,
                        &requests[1]) != WEFT_OK ||
        weft_iallgather(own.data(), all.data(), count, WEFT_UINT32, world, &requests[2]) !=
            WEFT_OK ||
        weft_ialltoall(own.data(), turned.data(), count, WEFT_UINT32, world, &requests[3]) !=
            WEFT_OK ||
        weft_waitall(4, requests, nullptr) != WEFT_OK)
        return "a collective failed";
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t expected = 0;
        for (int r = 0; r < ranks; ++r) expected += value(r, i);
        if (cast[i] != value(root, i)) return "a broadcast gave something else";
        if (sum[i] != expected) return "an allreduce gave something else";
        for (std::size_t r = 0; r < size; ++r) {
            if (all[r * count + i] != value(static_cast<int>(r), i))
                return "an allgather gave something else";
            if (turned[r * count + i] !=
                value(static_cast<int>(r), static_cast<std::size_t>(rank) * count + i))
                return "an alltoall gave something else";
        }
    }
    return "";
}

// The same on every rank: whether `mine` holds on any.
bool any(bool mine) {
    std::int32_t value = mine ? 1 : 0;
    if (weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT32, WEFT_MAX, weft_comm_world()) !=
        WEFT_OK)
        return true;
    return value != 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return fail(rank, "usage: hostile_program FOLDER");
    const std::string folder = argv[1];
    if (weft_init() != WEFT_OK) return fail(rank, "weft_init");
    weft_comm_rank(weft_comm_world(), &rank);
    weft_comm_size(weft_comm_world(), &ranks);
    const std::string file = folder + "/port." + std::to_string(rank);
    std::ofstream(file + ".new") << listening_port() << std::flush;
    std::filesystem::rename(file + ".new", file);
    while (!std::filesystem::exists(folder + "/go")) usleep(1000);

    std::uint32_t round = 0;
    for (bool stop = false; !stop; ++round) {
        constexpr std::size_t counts[] = {1, 1000, 40'000};
        const std::string wrong = round_of(counts[round % 3], round);
        if (!wrong.empty()) return fail(rank, wrong);
        stop = any(rank == 0 && std::filesystem::exists(folder + "/stop"));
        if (round == 0) std::ofstream(folder + "/met." + std::to_string(rank)) << std::flush;
    }

    // One socket listens; calls of two ranks that crossed may both have been used.
    const auto most = static_cast<std::size_t>(1 + 2 * (ranks - 1));
    int looks = 0;
    while (any(sockets().size() > most) && ++looks < 1000) usleep(10'000);
    if (looks == 1000) return fail(rank, std::to_string(sockets().size()) + " sockets stay open");
    if (weft_finalize() != WEFT_OK) return fail(rank, "weft_finalize");
    std::printf("rank %d: %u rounds\n", rank, round);
    return 0;
}
