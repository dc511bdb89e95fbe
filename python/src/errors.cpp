#include <cstring>

#include "common.h"

namespace weft_python {
namespace {

// Never destroyed: objects of Python's must not be after its end.
nb::object& error_factory = *new nb::object;

}  // namespace

void set_error_factory(nb::object factory) { error_factory = std::move(factory); }

nb::object make_error(weft_status status, const char* sentence, const char* call) {
    // (A reason of Comm.abort may be cut within a letter.)
    const nb::object text = nb::steal(
        PyUnicode_DecodeUTF8(sentence, static_cast<Py_ssize_t>(std::strlen(sentence)), "replace"));
    if (!text.is_valid()) throw nb::python_error();
    if (!error_factory.is_valid()) {
        return nb::borrow(PyExc_RuntimeError)(text);
    }
    return error_factory(static_cast<int>(status), text,
                         call ? nb::object(nb::str(call)) : nb::object(nb::none()));
}

void raise(nb::handle error) {
    PyErr_SetObject(error.type().ptr(), error.ptr());
    throw nb::python_error();
}

void refuse(const std::string& sentence, const char* call, weft_status status) {
    const std::string all = call ? sentence + " (" + call + ")" : sentence;
    raise(make_error(status, all.c_str(), call));
}

}  // namespace weft_python
