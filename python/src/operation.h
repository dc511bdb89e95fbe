// Reduction operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include "common.h"

namespace weft_python {

// One of Weft's, or a function of the program's.
class Op {
  public:
    Op(weft_op handle, const char* name) : handle_(handle), name_(name) {}
    Op(nb::object function, bool commutes);
    ~Op();
    Op(const Op&) = delete;

    weft_op handle() const { return handle_; }
    const char* name() const { return name_; }
    bool is_of_program() const { return function_.is_valid(); }

  private:
    static void combine(const void* in, void* inout, std::size_t count, weft_type type, void* op);

    weft_op handle_ = WEFT_OP_NULL;
    const char* name_;
    nb::object function_;
};

// The class Op of Python's.
inline PyObject* op_class = nullptr;

// How a method is given an operation: an Op, or the name of one of Weft's in lower case, such as
// "sum". No handle: not at all.
struct OpArgument {
    nb::handle given{};
    const Op* op = nullptr;  // if it is one

    static OpArgument of(nb::handle given) {
        const bool is_op = given.type().is(op_class) || nb::isinstance<Op>(given);
        return {given, is_op ? nb::inst_ptr<Op>(given) : nullptr};
    }
    // Refuses other names.
    const Op& expect(const char* call) const { return op ? *op : named(call); }

  private:
    const Op& named(const char* call) const;
};

// Calls a function of the program's in a thread of Weft's: `body`, with the GIL. An exception is
// shown, and passed on as one that breaks the communicator.
template <class Body>
void call_in_any_thread(const char* what, Body body) {
    bool failed = true;
    if (const nb::gil_scoped_acquire locked; locked.is_valid()) {
        try {
            body();
            failed = false;
        } catch (nb::python_error& error) {
            error.discard_as_unraisable(what);
        } catch (const std::exception&) {
        }
    }
    if (failed) throw std::runtime_error("a function of Python's raised an exception");
}

// Memory of Weft's as a memoryview, which the function must not keep.
class LentMemory {
  public:
    LentMemory(const void* data, std::size_t bytes, bool is_writable)
        : view_(nb::steal(PyMemoryView_FromMemory(static_cast<char*>(const_cast<void*>(data)),
                                                  static_cast<Py_ssize_t>(bytes),
                                                  is_writable ? PyBUF_WRITE : PyBUF_READ))) {
        if (!view_.is_valid()) throw nb::python_error();
    }
    ~LentMemory() {
        const nb::error_scope kept;
        PyObject* const done = PyObject_CallMethod(view_.ptr(), "release", nullptr);
        if (!done) PyErr_Clear();  // an array over it is still there
        Py_XDECREF(done);
    }
    LentMemory(const LentMemory&) = delete;

    const nb::object& view() const { return view_; }

  private:
    nb::object view_;
};

}  // namespace weft_python

namespace nanobind::detail {

template <>
struct type_caster<weft_python::OpArgument> {
    NB_TYPE_CASTER(weft_python::OpArgument, const_name("Op | str"))

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        value = weft_python::OpArgument::of(source);
        return value.op || isinstance<str>(source);
    }
};

}  // namespace nanobind::detail
