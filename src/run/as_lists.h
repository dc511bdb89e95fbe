// A run as task lists. Inside of run/ only.
#pragma once

#include <memory>

#include "run/offload.h"

namespace weft {

struct Run::AsLists {
    const Tasks& tasks;
    std::unique_ptr<Offload::Lists> lists;
    std::unique_ptr<Run> rest;
};

}  // namespace weft
