// The module weft._weft: the C interface for Python. weft/__init__.py makes the package of it.
#include "common.h"
#include "request.h"
#include "waiting.h"

NB_MODULE(_weft, module) {
    using namespace weft_python;
    // What is still in use when the interpreter ends is left to the process.
    nb::set_leak_warnings(false);
    module.def("set_error_factory", &set_error_factory);
    module.def("sweep", &sweep);
    module.def("leave", &leave);
    module.def("waiting_threads", &waiting_threads);
    module.def("status_name",
               [](int status) { return weft_status_name(static_cast<weft_status>(status)); });
    define_requests(module);
    define_operations(module);
    define_communicators(module);
    define_schedules(module);
}
