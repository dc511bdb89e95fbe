// What the jumps (stub.c) and the stand-ins (stand_ins.c) of the preloaded library share.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct slot {
    void* target;      // what a call jumps to; null: not known yet
    const char* name;  // "MPI_Bcast"
};

// What stand-ins must know of an MPI's binary interface.
struct values {
    void* in_place;
    void* status_ignore;            // also MPI_STATUSES_IGNORE
    size_t status_bytes;            // sizeof(MPI_Status)
    size_t status_error;            // offsetof(MPI_Status, MPI_ERROR)
    size_t request_bytes;           // sizeof(MPI_Request)
    uintptr_t null_request;         // MPI_REQUEST_NULL,
    const char* null_request_name;  // or the variable whose address it is
    int root;                       // MPI_ROOT
    int cart, graph;                // as MPI_Topo_test tells; MPI_DIST_GRAPH is 3 in all
    int no_memory, unsupported;     // MPI_ERR_NO_MEM, MPI_ERR_UNSUPPORTED_OPERATION
    const char* persistent_prefix;  // "PMPIX_": what MPI_Bcast_init began with before MPI-4
};

// Finds what a slot's function is in this process, and stores it as the target, which it returns.
HIDDEN void* weft_bind_slot(struct slot* slot);

// The MPI's own; null: it has no such symbol.
HIDDEN void* weft_find_underneath(const char* symbol);

// A function to call in place of one that the MPI lacks; null: there is none. `values` are those of
// the MPI's binary interface; null: not known.
HIDDEN void* weft_find_stand_in(const char* name, const struct values* values);
