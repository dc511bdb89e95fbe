// Ranks on nodes of an emulated cluster, one on each, say what their links carried during
// collectives: LINKS BYTES once | streams | limited | limited_again.
// once: one nonblocking allgather; streams: LINKS persistent ones, each on a stream of its own;
// limited: the same, on a communicator with links=1, or on another one made after it.
// The second time counts. Prints "RANK: SENT RECEIVED ...", bytes, a pair for each link.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/weft/interface_bytes.h"
#include "weft/weft.h"

namespace {

void must(weft_status status) {
    if (status == WEFT_OK) return;
    std::fprintf(stderr, "links_program: %s\n", weft_last_detail());
    std::exit(1);
}

weft_comm comm = WEFT_COMM_NULL;  // on which the collectives are

// While nothing is under way.
std::vector<weft::InterfaceBytes> links_of_this_node(int links) {
    must(weft_barrier(weft_comm_world()));
    std::vector<weft::InterfaceBytes> all;
    for (int link = 0; link < links; ++link) {
        all.push_back(weft::interface_bytes("eth" + std::to_string(link)));
    }
    must(weft_barrier(weft_comm_world()));
    return all;
}

class Buffers {
  public:
    Buffers(int rank, int ranks, std::size_t bytes)
        : mine_(bytes, static_cast<char>(rank + 1)),
          all_(bytes * static_cast<std::size_t>(ranks)) {}

    weft_status start(weft_request* request) {
        return weft_iallgather(mine_.data(), all_.data(), mine_.size(), WEFT_BYTE, comm, request);
    }
    weft_status make(weft_request* request) {
        return weft_allgather_init(mine_.data(), all_.data(), mine_.size(), WEFT_BYTE, comm,
                                   request);
    }
    void check() const {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (all_[i] == static_cast<char>(i / mine_.size() + 1)) continue;
            std::fprintf(stderr, "links_program: byte %zu is wrong\n", i);
            std::exit(1);
        }
    }

  private:
    std::vector<char> mine_;
    std::vector<char> all_;
};

void run(std::vector<Buffers>& buffers, std::vector<weft_request>& requests, bool is_persistent) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        must(is_persistent ? weft_start(&requests[i]) : buffers[i].start(&requests[i]));
    }
    must(weft_waitall(requests.size(), requests.data(), nullptr));
    for (const Buffers& one : buffers) one.check();
}

}  // namespace

int main(int, char** argv) {
    const int links = std::atoi(argv[1]);
    const auto bytes = static_cast<std::size_t>(std::atoll(argv[2]));
    const std::string mode = argv[3];
    const bool is_persistent = mode != "once";
    must(weft_init());
    comm = weft_comm_world();
    const int limited = mode == "limited" ? 1 : mode == "limited_again" ? 2 : 0;
    for (int i = 0; i < limited; ++i) must(weft_comm_dup_with(weft_comm_world(), "links=1", &comm));
    int rank = 0;
    int ranks = 0;
    must(weft_comm_rank(weft_comm_world(), &rank));
    must(weft_comm_size(weft_comm_world(), &ranks));
    const std::size_t operations = is_persistent ? static_cast<std::size_t>(links) : 1;
    std::vector<Buffers> buffers(operations, Buffers(rank, ranks, bytes));
    std::vector<weft_request> requests(operations, WEFT_REQUEST_NULL);
    if (is_persistent) {
        for (std::size_t i = 0; i < operations; ++i) must(buffers[i].make(&requests[i]));
    }
    run(buffers, requests, is_persistent);  // opens the connections
    const std::vector<weft::InterfaceBytes> before = links_of_this_node(links);
    run(buffers, requests, is_persistent);
    const std::vector<weft::InterfaceBytes> after = links_of_this_node(links);
    std::printf("%d:", rank);
    for (std::size_t link = 0; link < after.size(); ++link) {
        std::printf(" %llu %llu",
                    static_cast<unsigned long long>(after[link].sent - before[link].sent),
                    static_cast<unsigned long long>(after[link].received - before[link].received));
    }
    std::printf("\n");
    if (is_persistent) {
        for (weft_request& request : requests) must(weft_request_free(&request));
    }
    must(weft_finalize());
}
