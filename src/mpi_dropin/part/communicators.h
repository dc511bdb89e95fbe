// The MPI's communicators whose collectives Weft takes. Each has a Weft communicator, made without
// messages: its number follows from the parent's number, how many constructors were called on the
// parent before, and its lowest rank there. All its ranks know these.
//
// Thread safety: any thread.
#pragma once

#include <weft/weft.h>

#include <cstdint>

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

struct TakenComm {
    MPI_Comm handle = MPI_COMM_NULL;
    weft_comm comm = WEFT_COMM_NULL;  // null: there was no memory for it on this rank; calls fail
    std::uint64_t number = 0;
    std::uint64_t constructors = 0;  // called on it
    int rank = 0;
    int ranks = 1;
    int indegree = 0;  // of a topology
    int outdegree = 0;
    bool has_topology = false;
    bool is_freed = false;  // by the program; operations may go on
    int users = 0;          // the program's handle, and operations
};

// Null: its collectives are left to the MPI.
TakenComm* taken(MPI_Comm comm);

void keep(TakenComm& comm);
void let_go(TakenComm& comm);

// Takes the communicators of the start. `world` is Weft's. False: the MPI refused an attribute.
bool take_first_communicators(weft_comm world);
// Frees what was taken; call it before the MPI ends.
void leave_communicators();

// Reports an error of a call on `comm` through its error handler.
int raise_error(const TakenComm& comm, int code);
// What a call may not do with a request.
enum class Misuse { starts_active, frees_active, cancels, has_old_copy, number };
// Reports MPI_ERR_REQUEST in the same way, and returns it. Null: on no known communicator.
int refuse_request(const TakenComm* comm, Misuse why);

// Surrounds the call of an MPI constructor. Meanwhile other ranks may already use the new
// communicator.
class CommConstruction {
  public:
    // A communicator made from `parent`, by a constructor that all its ranks call in the same
    // order.
    explicit CommConstruction(MPI_Comm parent);
    // A communicator without such a parent; its ranks agree on a number when it is made.
    CommConstruction();
    ~CommConstruction();
    CommConstruction(CommConstruction&& other) noexcept;
    CommConstruction(const CommConstruction&) = delete;
    CommConstruction& operator=(const CommConstruction&) = delete;
    CommConstruction& operator=(CommConstruction&&) = delete;

    // The constructor has returned.
    void take(MPI_Comm made);
    // ... with an error: perhaps on this rank alone, without any contact with the others.
    void fail();

  private:
    TakenComm* parent_ = nullptr;  // kept; null: none, or its collectives are left to the MPI
    std::uint64_t turn_ = 0;
    bool is_unordered_ = false;
    bool is_expecting_ = false;
};

}  // namespace weft::dropin
