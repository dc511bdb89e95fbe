#include "mpi_dropin/part/packed_buffer.h"

namespace weft::dropin {
namespace {

constexpr WrongArguments negative_count{MPI_ERR_COUNT, "a negative count"};
constexpr WrongArguments in_place{MPI_ERR_ARG, "MPI_IN_PLACE in a buffer that cannot be in place"};
constexpr WrongArguments null_buffer{MPI_ERR_BUFFER, "a null buffer of more than 0 bytes"};
constexpr WrongArguments no_lists{MPI_ERR_ARG, "a null array of counts or datatypes", false};

}  // namespace

void PackedBuffer::clear_lists() {
    is_listed_ = false;
    counts_.clear();
    displs_.clear();
    pieces_.clear();
    copy_.reset();
}

WrongArguments PackedBuffer::describe_blocks(const ProgramBuffer& blocks, std::size_t ranks,
                                             Copies copies) {
    if (blocks.form == ProgramBuffer::Shape::varying ||
        blocks.form == ProgramBuffer::Shape::typed) {
        return describe_varying(blocks, ranks, copies);
    }
    if (blocks.count < 0) return negative_count;
    TypeFacts* const type = facts_of(blocks.type);
    if (!type) return refusal_of(blocks.type);
    const std::int64_t number =
        blocks.form == ProgramBuffer::Shape::each ? static_cast<std::int64_t>(ranks) : 1;
    bytes_ = static_cast<std::size_t>(blocks.count * type->size);
    if (bytes_ > 0 && blocks.at == MPI_IN_PLACE) return in_place;
    at_ = moved(blocks.at, type->true_lb);
    if (bytes_ > 0 && !at_) return null_buffer;
    if (bytes_ == 0 || (type->is_plain && copies == Copies::where_needed)) return {};
    is_listed_ = true;
    pieces_.push_back({static_cast<std::byte*>(blocks.at), blocks.count * number, type, 0});
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_ * static_cast<std::size_t>(number));
    at_ = copy_.get();
    return {};
}

WrongArguments PackedBuffer::describe_varying(const ProgramBuffer& blocks, std::size_t ranks,
                                              Copies copies) {
    const bool is_typed = blocks.form == ProgramBuffer::Shape::typed;
    if (ranks > 0 && (blocks.counts.is_null() || (is_typed && !blocks.types))) return no_lists;
    is_listed_ = true;
    counts_.resize(ranks);
    displs_.resize(ranks);
    bool is_plain = copies == Copies::where_needed;
    TypeFacts* type = is_typed ? nullptr : facts_of(blocks.type);
    MPI_Count next = 0;  // without displacements: in elements
    for (std::size_t i = 0; i < ranks; ++i) {
        const MPI_Count count = blocks.counts[i];
        if (is_typed && count == 0) {  // its type may be none
            counts_[i] = 0;
            displs_[i] = 0;
            continue;
        }
        if (count < 0) return negative_count;
        if (is_typed) type = facts_of(blocks.types[i]);
        if (!type) return refusal_of(is_typed ? blocks.types[i] : blocks.type);
        MPI_Count displ = next;
        if (!blocks.displs.is_null()) displ = blocks.displs[i];
        next += count;
        if (!is_typed) displ *= type->extent;
        counts_[i] = static_cast<std::size_t>(count * type->size);
        displs_[i] = displ;
        bytes_ += counts_[i];
        if (counts_[i] == 0) continue;
        if (!type->is_plain) is_plain = false;
        pieces_.push_back({moved(blocks.at, displ), count, type, 0});
        if (!moved(pieces_.back().at, type->true_lb)) return null_buffer;
    }
    if (bytes_ > 0 && blocks.at == MPI_IN_PLACE) return in_place;
    if (is_plain) {
        // Weft gets bytes: where an element begins is part of the displacement. It refuses a null
        // address, such as
        // MPI_BOTTOM.
        at_ = static_cast<std::byte*>(blocks.at);
        if (!at_ && !pieces_.empty())
            at_ = moved(pieces_.front().at, pieces_.front().type->true_lb);
        for (std::size_t i = 0, piece = 0; i < ranks; ++i) {
            if (counts_[i] == 0) continue;
            const Piece& block = pieces_[piece++];
            displs_[i] = moved(block.at, block.type->true_lb) - at_;
        }
        pieces_.clear();
        return {};
    }
    std::size_t offset = 0;
    for (std::size_t i = 0, piece = 0; i < ranks; ++i) {
        displs_[i] = static_cast<std::ptrdiff_t>(offset);
        if (counts_[i] > 0) pieces_[piece++].offset = offset;
        offset += counts_[i];
    }
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    at_ = copy_.get();
    return {};
}

int PackedBuffer::fetch() const {
    for (const Piece& piece : pieces_) {
        const int error = pack(piece.at, piece.count, *piece.type, copy_.get() + piece.offset);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

int PackedBuffer::store() const {
    for (const Piece& piece : pieces_) {
        const int error = unpack(copy_.get() + piece.offset, piece.at, piece.count, *piece.type);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

void PackedBuffer::keep_types() {
    if (!is_listed_) return;
    keeps_types_ = true;
    for (const Piece& piece : pieces_) keep(*piece.type);
}

void PackedBuffer::release_kept_types() {
    keeps_types_ = false;
    for (const Piece& piece : pieces_) release(*piece.type);
}

}  // namespace weft::dropin
