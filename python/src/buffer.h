// Memory of a Python object, kept alive and in place while an operation uses it.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <string>

#include "types.h"

namespace weft_python {

// What messages say about a buffer: the argument's name and the method's.
struct Argument {
    const char* name;
    const char* call;
};

// All functions need the GIL.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Takes the memory of an object that has the buffer protocol, __array_interface__ or DLPack.
    // Refuses memory that is not contiguous, belongs to a device, or is read-only though `writes`.
    void take(nb::handle object, bool writes, Argument argument);
    void release() {
        hold_.reset();
        object_.reset();
    }

    bool is_taken() const { return object_.is_valid(); }
    void* data() const { return data_; }
    std::size_t elements() const { return elements_; }
    std::size_t bytes() const { return elements_ * element_bytes_; }
    // Of elements that Weft has no type for: opaque.
    weft_type type() const { return known_ ? known_->type : WEFT_OPAQUE(element_bytes_); }
    bool has_known_type() const { return known_ != nullptr; }
    bool is_boolean() const { return known_ && known_->kind[0] == 'b'; }
    std::string type_name() const;
    nb::handle object() const { return object_; }

  private:
    void take_view(bool writes, Argument argument);
    void take_array_interface(const nb::dict& fields, bool writes, Argument argument);
    void take_tensor(bool writes, Argument argument);
    void set_type(const Type* type, std::size_t bytes, Argument argument);

    void* data_ = nullptr;
    std::size_t elements_ = 0;
    std::size_t element_bytes_ = 1;
    const Type* known_ = nullptr;
    // What keeps the memory in place. (An array of NumPy's is in place as long as it lives.)
    struct Hold {
        Py_buffer view{};
        nb::ndarray<nb::ro> tensor;

        ~Hold() { PyBuffer_Release(&view); }
    };
    nb::object object_;
    std::unique_ptr<Hold> hold_;
};

}  // namespace weft_python
