// The last node loses a link in the midst of collectives: ENGINE SECONDS INTERFACE [waiting]. Every rank must
// learn it from a status that names a rank on the other side of the cut, within so many seconds. (If nodes have more
// links, failure notices cross the cut, and may name one on this side.) With "waiting", only the last rank sends from
// then on.
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/fault_program.h"

using weft::test::fail;
using weft::test::now_s;

namespace {

int rank = -1;

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5) return 1;
    const std::string cut_command = std::string("ip link set ") + argv[3] + " down";
    const bool waits = argc == 5;
    const char* const interfaces = std::getenv("WEFT_INTERFACES");  // set by `weft run --links`
    const bool has_more_links = interfaces != nullptr && std::strchr(interfaces, ',') != nullptr;
    setenv("WEFT_ENGINE", argv[1], 1);
    if (weft_init() != WEFT_OK) return fail(rank, "weft_init");
    const weft_comm world = weft_comm_world();
    int ranks = 0;
    weft_comm_rank(world, &rank);
    weft_comm_size(world, &ranks);
    constexpr std::size_t name_bytes = 64;
    char name[name_bytes] = "";
    gethostname(name, sizeof name - 1);
    std::vector<char> names(name_bytes * static_cast<std::size_t>(ranks));
    if (weft_allgather(name, names.data(), name_bytes, WEFT_BYTE, world) != WEFT_OK) {
        return fail(rank, "weft_allgather");
    }
    auto node = [&](int r) {
        return std::string(names.data() + static_cast<std::size_t>(r) * name_bytes);
    };
    const std::string cut = node(ranks - 1);

    std::vector<double> values(100'000, 1);
    weft_status status = WEFT_OK;
    double cut_s = now_s();
    for (int i = 0; status == WEFT_OK; ++i) {
        if (i == 20) {
            // Every rank knows the time of the cut: nobody is further ahead than one operation.
            if (rank == ranks - 1 && std::system(cut_command.c_str()) != 0) return 1;
            cut_s = now_s();
        }
        if (waits && i >= 20) {
            status = weft_bcast(values.data(), 8, WEFT_FLOAT64, ranks - 1, world);
            continue;
        }
        std::ranges::fill(values, 1);
        status = weft_allreduce(WEFT_IN_PLACE, values.data(), values.size(), WEFT_FLOAT64, WEFT_SUM,
                                world);
        const bool is_right =
            std::ranges::all_of(values, [&](double value) { return value == ranks; });
        if (status == WEFT_OK && !is_right)
            return fail(rank, "a wrong result was reported as good");
    }
    const double told_s = now_s() - cut_s;
    if (status != WEFT_BROKEN_TRANSPORT && status != WEFT_BROKEN_RANK) {
        return fail(rank, std::string("the cut ended in ") + weft_status_name(status));
    }
    bool is_named = false;
    for (int other = 0; other < ranks; ++other) {
        const bool across = (node(other) == cut) != (node(rank) == cut);
        const std::string text = "rank " + std::to_string(other) + " of the job";
        is_named |= (across || has_more_links) && std::strstr(weft_last_detail(), text.c_str());
    }
    if (!is_named) return fail(rank, "nobody across the cut is named");
    if (told_s > std::atof(argv[2]))
        return fail(rank, "told after " + std::to_string(told_s) + " s");
    std::printf("rank %d: %s\n", rank, weft_last_detail());
    return weft_finalize() == WEFT_OK ? 0 : fail(rank, "weft_finalize");
}
