// Sends enough to make the link wait.
#include "bench/plain/burst.h"

#include <span>

namespace weft::bench {
namespace {

constexpr std::size_t burst_bytes = 256 << 10;  // twice what an emulated link lets through
constexpr std::int64_t small_bytes = 4096;

}  // namespace

Burst::Burst(const Job& job) : job_(job), sockets_(job), bytes_(2 * burst_bytes) {}

void Burst::use_up_before(std::int64_t bytes) {
    if (bytes <= small_bytes) return;
    must(weft_barrier(job_.comm),
         "weft_barrier");  // the burst must not delay other messages
    sockets_.exchange(std::span(bytes_).first(burst_bytes), std::span(bytes_).last(burst_bytes));
}

}  // namespace weft::bench
