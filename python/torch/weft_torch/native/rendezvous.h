// How the processes of a group find each other: Weft's out-of-band exchange over torch's Store.
#pragma once

#include "common.h"

namespace weft_torch {

// Blocks until all processes of the group have called it. The keys are deleted when all have read
// them, so a store may serve groups of the same name one after the other.
weft_comm rendezvous(const c10::intrusive_ptr<c10d::Store>& store, int rank, int ranks,
                     Milliseconds timeout, const std::string& where);

// Has such a call made this process a member of its job? (Otherwise another user of the library
// has, who leaves it.)
bool has_joined();

}  // namespace weft_torch
