// A call of any collective, as the program makes it: what is sent, what is received, how it is
// combined.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

enum class MpiCollective {
#define COLLECTIVE(Name, name, parameters, arguments_, call_) Name,
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
    number
};

// An array of the program, of int or of a wider type.
class Numbers {
  public:
    Numbers() = default;
    template <typename Integer>
    Numbers(const Integer* numbers) : numbers_(numbers), is_wide_(sizeof(Integer) == 8) {
        static_assert(sizeof(Integer) == 4 || sizeof(Integer) == 8);
    }
    bool is_null() const { return numbers_ == nullptr; }
    std::int64_t operator[](std::size_t i) const {
        return is_wide_ ? static_cast<const std::int64_t*>(numbers_)[i]
                        : static_cast<const std::int32_t*>(numbers_)[i];
    }

  private:
    const void* numbers_ = nullptr;
    bool is_wide_ = false;
};

// A buffer of the program.
struct ProgramBuffer {
    enum class Shape : std::uint8_t {
        none,
        one,      // `count` elements
        each,     // a block of `count` elements for each rank, or each neighbor
        varying,  // `counts`, `displs` in elements
        typed     // `counts`, `displs` in bytes, `types`
    };
    Shape form = Shape::none;
    void* at = nullptr;
    std::int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Numbers counts{};
    Numbers displs{};
    const MPI_Datatype* types = nullptr;

    static ProgramBuffer one(const void* at, std::int64_t count, MPI_Datatype type) {
        return {Shape::one, const_cast<void*>(at), count, type};
    }
    static ProgramBuffer each(const void* at, std::int64_t count, MPI_Datatype type) {
        return {Shape::each, const_cast<void*>(at), count, type};
    }
    static ProgramBuffer varying(const void* at, Numbers counts, Numbers displs,
                                 MPI_Datatype type) {
        return {Shape::varying, const_cast<void*>(at), 0, type, counts, displs};
    }
    static ProgramBuffer typed(const void* at, Numbers counts, Numbers displs,
                               const MPI_Datatype* types) {
        return {Shape::typed, const_cast<void*>(at), 0, MPI_DATATYPE_NULL, counts, displs, types};
    }
};

constexpr int no_root = INT_MIN;

// Why a rank cannot make a call.
struct WrongArguments {
    int error = MPI_SUCCESS;  // its class; MPI_SUCCESS: there is no reason
    const char* why = "";
    bool may_ask = true;   // the MPI, which would crash otherwise
    bool is_left = false;  // to the MPI, on all ranks

    explicit operator bool() const { return error != MPI_SUCCESS; }
};

// Which buffers of a call get copies: those that are not contiguous, or all. In copies blocks
// neither overlap, nor are they in both buffers.
enum class Copies : std::uint8_t { where_needed, all };

// MPI_Ibcast, MPI_Bcast_init, MPI_Bcast.
enum class Form : std::uint8_t { nonblocking, persistent, blocking };

struct ProgramCall {
    MpiCollective collective;
    Form form;
    MPI_Comm comm;
    MPI_Request* request;
    ProgramBuffer send{};
    ProgramBuffer recv{};
    MPI_Op op = MPI_OP_NULL;
    int root = no_root;
};

}  // namespace weft::dropin
