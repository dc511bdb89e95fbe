// The rare paths of the ring: a writer that waits for room, a reader that gives room back.
#include "transport/shm/ring.h"

namespace weft::shm {

// Writer: blocked := 1, then read head. Reader: write head, then read blocked. All sequentially
// consistent, so that at least one of the two sees the other's store.
void RingWriter::ask() {
    // Written once: a writer that polls would take the line from the reader each time.
    if (ring_.control->blocked.load(std::memory_order_seq_cst) == 0)
        ring_.control->blocked.store(1, std::memory_order_seq_cst);
    head_seen_ = ring_.control->head.load(std::memory_order_seq_cst);
}

bool RingWriter::ask_for_room(std::size_t payload_bytes) {
    ask();
    return reserve(payload_bytes) != nullptr;
}

bool RingWriter::ask_until_in_flight(std::size_t bytes) {
    ask();
    return in_flight() <= bytes;
}

bool RingReader::publish() {
    published_ = offered_ = position_;
    ring_.control->head.store(position_, std::memory_order_seq_cst);
    return ring_.control->blocked.load(std::memory_order_seq_cst) != 0 &&
           ring_.control->blocked.exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace weft::shm
