#include "communicator/call_and_wait.h"

namespace weft {

Status call_and_wait(Communicator& communicator, const char* what, const weft_call& call) {
    Result<Request*> started = communicator.start(call, {.waits = true, .of_library = true});
    const Failure& failed = communicator.group().broken;
    if (!started.is_ok()) {
        if (!started.status().is_broken()) return started.status();
        return communicator.broken_status(what, failed);
    }
    Status outcome = communicator.finish(**started);
    if (outcome.code == WEFT_BROKEN_TIMEOUT) return outcome;
    // Fails even if this rank's part went well: its failure notice says that this rank will never
    // have the group that the call makes (see FailureNotices::take).
    return failed.code == WEFT_OK ? ok : communicator.broken_status(what, failed);
}

Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes) {
    return call_and_wait(communicator, what,
                         {.collective = WEFT_COLLECTIVE_ALLGATHER,
                          .op = WEFT_OP_NULL,
                          .root = 0,
                          .send = bytes_at(mine, bytes),
                          .recv = bytes_at(all, bytes)});
}

}  // namespace weft
