// The module that Python imports.
#include <torch/csrc/utils/pybind.h>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include <map>
#include <thread>

#include "backend.h"
#include "completer.h"
#include "failure.h"
#include "rendezvous.h"

namespace weft_torch {
namespace {

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size, std::chrono::duration<double> timeout,
                                         std::string settings, std::string group,
                                         std::vector<std::int64_t> global_ranks) {
    auto options = c10::make_intrusive<WeftOptions>(
        std::chrono::duration_cast<Milliseconds>(timeout), std::move(settings));
    options->group_name = std::move(group);
    return c10::make_intrusive<WeftBackend>(store, rank, size, std::move(options),
                                            std::move(global_ranks));
}

// Leaves the job, if this library has joined it and no thread is inside Weft. Dropped operations
// get some time to end; what the program has not waited for ends with the process.
void leave(std::chrono::duration<double> timeout) {
    Completer::instance().stop();
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (Orphans().sweep() > 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(Milliseconds(1));
    }
    if (has_joined() && Operation::waiting() == 0) (void)weft_finalize();
}

std::map<std::string, std::uint64_t> statistics() {
    weft_statistics counted;
    counted.struct_bytes = sizeof counted;
    check(weft_get_statistics(&counted), "weft statistics");
    return {{"operations", counted.operations},
            {"offloaded", counted.offloaded},
            {"unexpected_messages", counted.unexpected_messages},
            {"connections", counted.connections},
            {"descriptors", counted.descriptors},
            {"memory_bytes", counted.memory_bytes}};
}

}  // namespace
}  // namespace weft_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    namespace py = pybind11;
    using unlocked = py::call_guard<py::gil_scoped_release>;
    m.def("create", &weft_torch::create, unlocked());
    m.def("leave", &weft_torch::leave, unlocked());
    m.def("statistics", &weft_torch::statistics, unlocked());
}
