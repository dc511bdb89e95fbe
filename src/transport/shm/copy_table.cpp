// The measured table of copy methods.
#include "transport/shm/copy_table.h"

namespace weft::shm {
namespace {

struct Row {
    std::size_t from_bytes;
    LargeMethod method;
};

// The ring wins at every size between two cores that share a cache: in microseconds, ring against
// process_vm_readv, 16 KiB 1.6 : 3.5, 64 KiB 4.3 : 7.5, 1 MiB 57 : 105, 4 MiB 235 : 460. Between
// cores that do not, the single copy wins (1 MiB 260 : 110): such a machine adds a row.
constexpr Row table[] = {
    {0, LargeMethod::ring},
};

}  // namespace

LargeMethod large_method(std::size_t bytes) {
    LargeMethod method = table[0].method;
    for (const Row& row : table)
        if (bytes >= row.from_bytes) method = row.method;
    return method;
}

}  // namespace weft::shm
