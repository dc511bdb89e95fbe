// How a communicator carries out its calls: one value, alike on all of its ranks. They agree on it when
// the communicator is made; what is made from the communicator inherits it.
#pragma once

#include <cstdint>
#include <string_view>

#include "select/select.h"

namespace weft {

struct Settings {
    Selector selector;     // algorithms that are forced
    bool offloads = true;  // a kernel engine may take the operations; ranks may differ in it

    // These settings with changes, as "allreduce=ring bcast=chain:segment=64K offload=0". Refuses a
    // word that it does not know.
    Result<Settings> changed(std::string_view words) const;
    // Equal for settings with which ranks exchange the same messages.
    std::uint64_t digest() const;
};

}  // namespace weft
