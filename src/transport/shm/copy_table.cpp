// The measured table of copy methods.
#include "transport/shm/copy_table.h"

namespace weft::shm {
namespace {

struct Row {
    std::size_t from_bytes;
    LargeMethod method;
};

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
