// A buffer of the program as Weft sees it: bytes without gaps. If the program's buffer has gaps, or
// another order, a copy takes its place.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "mpi_dropin/part/datatypes.h"
#include "mpi_dropin/part/program_call.h"

namespace weft::dropin {

class PackedBuffer {
  public:
    // Describes `blocks` of `ranks` ranks or neighbors, if they are valid arguments.
    WrongArguments describe(const ProgramBuffer& blocks, std::size_t ranks,
                            Copies copies = Copies::where_needed) {
        clear();
        if (blocks.form == ProgramBuffer::Shape::none) return {};
        return describe_blocks(blocks, ranks, copies);
    }
    // Forgets the buffer. Cheap if there is only an address and a size.
    void clear() {
        if (is_listed_) clear_lists();
        at_ = nullptr;
        bytes_ = 0;
    }

    // The buffer that Weft gets.
    std::byte* at() const { return at_; }
    std::size_t bytes() const { return bytes_; }  // of a block, or all together if blocks vary
    const std::size_t* counts() const { return counts_.data(); }     // of bytes
    const std::ptrdiff_t* displs() const { return displs_.data(); }  // in bytes

    std::byte* copy() const { return copy_.get(); }
    // The place of a block in the copy. REQUIRES: there is one.
    std::size_t offset_of(std::size_t block) const {
        return counts_.empty() ? block * bytes_ : static_cast<std::size_t>(displs_[block]);
    }
    std::size_t bytes_of(std::size_t block) const {
        return counts_.empty() ? bytes_ : counts_[block];
    }
    // Weft does not move a block of a list; the copy still has it.
    void leave_out(std::size_t block) { counts_[block] = 0; }

    bool has_copy() const { return is_listed_ && copy_ != nullptr; }
    // Copies the program's buffer into the copy, and back. Does nothing without one. An error of
    // the MPI.
    int fetch() const;
    int store() const;

    // Keeps types that are used later from being freed before that.
    void keep_types();
    void release_types() {
        if (keeps_types_) release_kept_types();
    }

  private:
    struct Piece {
        std::byte* at;
        MPI_Count count;
        TypeFacts* type;
        std::size_t offset;  // in the copy
    };
    WrongArguments describe_blocks(const ProgramBuffer& blocks, std::size_t ranks, Copies copies);
    WrongArguments describe_varying(const ProgramBuffer& blocks, std::size_t ranks, Copies copies);
    void clear_lists();
    void release_kept_types();

    // Members that most calls need come first, in one cache line: with many operations, memory
    // accesses dominate.
    std::byte* at_ = nullptr;
    std::size_t bytes_ = 0;
    bool is_listed_ = false;  // by the members below
    bool keeps_types_ = false;
    std::vector<std::size_t> counts_;
    std::vector<std::ptrdiff_t> displs_;
    std::vector<Piece> pieces_;  // of a copy
    std::unique_ptr<std::byte[]> copy_;
};

}  // namespace weft::dropin
