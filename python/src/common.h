// What the files of the module share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <weft/weft.h>

#include <string>

namespace weft_python {

namespace nb = nanobind;

// --- Failures as exceptions --------------------------------------------------------------------

// Python's function (status, sentence, call) -> exception; weft/_errors.py sets it.
void set_error_factory(nb::object factory);

// The exception for a status. `call`: the method of Python's, or null.
nb::object make_error(weft_status status, const char* sentence, const char* call);

[[noreturn]] void raise(nb::handle error);

// Refuses a call. The sentence gets the name of the method.
[[noreturn]] void refuse(const std::string& sentence, const char* call,
                         weft_status status = WEFT_REFUSED_ARGUMENT);

// Throws the exception of a failure with the thread's last sentence.
inline void check(weft_status status, const char* call = nullptr) {
    if (status != WEFT_OK) [[unlikely]]
        raise(make_error(status, weft_last_detail(), call));
}

// --- The parts of the module -------------------------------------------------------------------

void define_requests(nb::module_& module);
void define_operations(nb::module_& module);
void define_communicators(nb::module_& module);
void define_schedules(nb::module_& module);

}  // namespace weft_python
