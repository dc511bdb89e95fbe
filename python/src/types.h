// Types of elements: what NumPy and other libraries call them, and what Weft does.
#pragma once

#include <cstddef>
#include <string>

#include "common.h"

namespace weft_python {

struct Type {
    const char* name;
    weft_type type;
    const char* kind;
    std::size_t bytes;
};

// The type of elements of a kind, or null.
const Type* find_type(const char* kind, std::size_t bytes);

// The type of a name, such as "float32", or null.
const Type* find_named_type(const char* name);

// The type of a name or of a dtype of NumPy's. Refuses others.
const Type& expect_type(nb::handle dtype, const char* call);

// The name of a type; "opaque" for others.
const char* name_of_type(weft_type type);

// The kind of a format of the buffer protocol (letters of `struct`); empty if it has none here, or
// is of another byte order.
std::string kind_of_format(const char* format);

// The kind of a type string of NumPy's __array_interface__, such as "<f8".
std::string kind_of_type_string(const std::string& text);

}  // namespace weft_python
