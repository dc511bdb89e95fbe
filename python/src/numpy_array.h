// Arrays of NumPy's without the buffer protocol, which describes each array in a new string: as
// every module that NumPy's C interface is compiled into, this reads their fields. Before the first
// is read, one is compared with what the protocol says.
#pragma once

#include <cstddef>

#include "types.h"

namespace weft_python {

struct NumpyArray {
    void* data;
    std::size_t elements;
    const Type* type;
};

// Reads an array, if it is one of a known type that is contiguous (and can be written, if `writes`).
// False: it is something else, or not known yet.
bool read_numpy_array(PyObject* object, bool writes, NumpyArray& array);

// Remembers the type of an array, if it is one. `view` is its buffer, with strides.
void learn_numpy_array(PyObject* object, const Py_buffer& view, const Type& type);

}  // namespace weft_python
