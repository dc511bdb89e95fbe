// Blocks of a buffer that may differ in size: [buffer, counts, displacements, types].
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "buffer.h"

namespace weft_python {

// What a collective sends or receives.
enum class Blocks {
    none,
    one,
    ranks,
    sources,
    destinations,
    varying,
    varying_sources,
    varying_destinations,
    typed,
    typed_sources,
    typed_destinations
};

constexpr bool is_varying(Blocks blocks) { return blocks >= Blocks::varying; }
constexpr bool is_typed(Blocks blocks) { return blocks >= Blocks::typed; }

// Numbers that are not negative, of a sequence or an array.
std::vector<std::size_t> sizes(nb::handle sequence, Argument argument);

// The sizes and places of blocks in elements; of typed ones the places are in bytes.
struct Layout {
    std::vector<std::size_t> counts;
    std::vector<std::ptrdiff_t> displacements;  // empty: one block follows the other
    std::vector<weft_type> types;

    // Takes a list apart, for `blocks` blocks; returns the buffer, which the list keeps.
    nb::handle take(nb::handle list, std::size_t blocks, bool typed, Argument argument);

    // Elements, or bytes, up to the end of the last block.
    std::size_t extent() const;

    // Refuses a buffer that some block is not inside of.
    void check_inside(const Buffer& buffer, Argument argument) const;

  private:
    std::size_t unit(std::size_t i) const { return types.empty() ? 1 : weft_type_size(types[i]); }
    template <class Visit>
    void for_each_block(Visit visit) const;
};

// Refuses a number of values that is not the number of blocks.
void check_length(std::size_t length, std::size_t blocks, const char* what, Argument argument);

}  // namespace weft_python
