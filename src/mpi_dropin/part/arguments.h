// The arguments of any collective in one form: what is sent, what is received, how it is combined.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

enum class MpiCollective {
#define COLLECTIVE(Name, name, parameters, arguments_) Name,
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

struct Arguments {
    ProgramBuffer send{};
    ProgramBuffer recv{};
    MPI_Op op = MPI_OP_NULL;
    int root = no_root;
};

// A function for each row of collectives.def, named as there.
namespace arguments {

inline Arguments Barrier() { return {}; }
inline Arguments Bcast(void* buf, std::int64_t count, MPI_Datatype type, int root) {
    return {{}, ProgramBuffer::one(buf, count, type), MPI_OP_NULL, root};
}
inline Arguments Gather(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                        void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    return {ProgramBuffer::one(send, send_count, send_type),
            ProgramBuffer::each(recv, recv_count, recv_type), MPI_OP_NULL, root};
}
inline Arguments Gatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                         void* recv, Numbers recv_counts, Numbers displs, MPI_Datatype recv_type,
                         int root) {
    return {ProgramBuffer::one(send, send_count, send_type),
            ProgramBuffer::varying(recv, recv_counts, displs, recv_type), MPI_OP_NULL, root};
}
inline Arguments Scatter(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                         void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    return {ProgramBuffer::each(send, send_count, send_type),
            ProgramBuffer::one(recv, recv_count, recv_type), MPI_OP_NULL, root};
}
inline Arguments Scatterv(const void* send, Numbers send_counts, Numbers displs,
                          MPI_Datatype send_type, void* recv, std::int64_t recv_count,
                          MPI_Datatype recv_type, int root) {
    return {ProgramBuffer::varying(send, send_counts, displs, send_type),
            ProgramBuffer::one(recv, recv_count, recv_type), MPI_OP_NULL, root};
}
inline Arguments Allgather(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    return {ProgramBuffer::one(send, send_count, send_type),
            ProgramBuffer::each(recv, recv_count, recv_type)};
}
inline Arguments Allgatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                            void* recv, Numbers recv_counts, Numbers displs,
                            MPI_Datatype recv_type) {
    return {ProgramBuffer::one(send, send_count, send_type),
            ProgramBuffer::varying(recv, recv_counts, displs, recv_type)};
}
inline Arguments Alltoall(const void* send, std::int64_t send_count, MPI_Datatype send_type,
                          void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    return {ProgramBuffer::each(send, send_count, send_type),
            ProgramBuffer::each(recv, recv_count, recv_type)};
}
inline Arguments Alltoallv(const void* send, Numbers send_counts, Numbers send_displs,
                           MPI_Datatype send_type, void* recv, Numbers recv_counts,
                           Numbers recv_displs, MPI_Datatype recv_type) {
    return {ProgramBuffer::varying(send, send_counts, send_displs, send_type),
            ProgramBuffer::varying(recv, recv_counts, recv_displs, recv_type)};
}
inline Arguments Alltoallw(const void* send, Numbers send_counts, Numbers send_displs,
                           const MPI_Datatype* send_types, void* recv, Numbers recv_counts,
                           Numbers recv_displs, const MPI_Datatype* recv_types) {
    return {ProgramBuffer::typed(send, send_counts, send_displs, send_types),
            ProgramBuffer::typed(recv, recv_counts, recv_displs, recv_types)};
}
inline Arguments Allreduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                           MPI_Op op) {
    return {ProgramBuffer::one(send, count, type), ProgramBuffer::one(recv, count, type), op};
}
inline Arguments Reduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                        MPI_Op op, int root) {
    return {ProgramBuffer::one(send, count, type), ProgramBuffer::one(recv, count, type), op, root};
}
inline Arguments Scan(const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                      MPI_Op op) {
    return Allreduce(send, recv, count, type, op);
}
inline Arguments Exscan(const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                        MPI_Op op) {
    return Allreduce(send, recv, count, type, op);
}
inline Arguments Reduce_scatter_block(const void* send, void* recv, std::int64_t count,
                                      MPI_Datatype type, MPI_Op op) {
    return {ProgramBuffer::each(send, count, type), ProgramBuffer::one(recv, count, type), op};
}
inline Arguments Reduce_scatter(const void* send, void* recv, Numbers counts, MPI_Datatype type,
                                MPI_Op op) {
    return {ProgramBuffer::varying(send, counts, {}, type), ProgramBuffer::one(recv, 0, type), op};
}
inline constexpr auto& Neighbor_allgather = Allgather;
inline constexpr auto& Neighbor_allgatherv = Allgatherv;
inline constexpr auto& Neighbor_alltoall = Alltoall;
inline constexpr auto& Neighbor_alltoallv = Alltoallv;
inline constexpr auto& Neighbor_alltoallw = Alltoallw;

}  // namespace arguments
}  // namespace weft::dropin
