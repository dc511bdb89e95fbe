#include "buffer.h"

#include "numpy_array.h"

namespace weft_python {
namespace {

std::string class_of(nb::handle object) {
    const nb::handle type = object.type();
    return nb::cast<std::string>(type.attr("__module__")) + "." +
           nb::cast<std::string>(type.attr("__qualname__"));
}

[[noreturn]] void refuse_buffer(Argument argument, const std::string& reason,
                                weft_status status = WEFT_REFUSED_ARGUMENT) {
    refuse(argument.name + (" " + reason), argument.call, status);
}

[[noreturn]] void refuse_strides(Argument argument) {
    refuse_buffer(argument,
                  "is not contiguous in C's order; pass numpy.ascontiguousarray(...) of it, and "
                  "copy back what is received");
}

[[noreturn]] void refuse_read_only(Argument argument) {
    refuse_buffer(argument, "is read-only; expected memory that can be written");
}

[[noreturn]] void refuse_device(nb::handle object, Argument argument) {
    refuse_buffer(argument,
                  "is in the memory of a device (" + class_of(object) +
                      "); Weft moves host memory: copy it there first",
                  WEFT_REFUSED_UNSUPPORTED);
}

nb::tuple tuple_of(const nb::object& sequence) { return nb::tuple(sequence); }

// Whether elements of `bytes` bytes follow each other. Strides are in bytes.
template <class Shape, class Strides>
bool is_contiguous(std::size_t dimensions, std::size_t bytes, Shape shape, Strides strides) {
    auto expected = static_cast<std::int64_t>(bytes);
    bool follows = true;
    for (std::size_t i = dimensions; i-- > 0;) {
        const auto extent = static_cast<std::int64_t>(shape(i));
        if (extent == 0) return true;
        if (extent > 1 && static_cast<std::int64_t>(strides(i)) != expected) follows = false;
        expected *= extent;
    }
    return follows;
}

}  // namespace

std::string Buffer::type_name() const {
    if (!nb::hasattr(object_, "dtype")) return known_ ? known_->name : "opaque elements";
    const nb::object dtype = object_.attr("dtype");
    return nb::str(dtype).c_str();
}

void Buffer::set_type(const Type* type, std::size_t bytes, Argument argument) {
    if (!type && (bytes < 1 || bytes > WEFT_OPAQUE_MAX)) {
        refuse_buffer(argument, "has elements of " + std::to_string(bytes) +
                                    " bytes; expected 1.." + std::to_string(WEFT_OPAQUE_MAX));
    }
    element_bytes_ = bytes;
    known_ = type;
}

void Buffer::take(nb::handle object, bool writes, Argument argument) {
    object_ = nb::borrow(object);
    if (NumpyArray array; read_numpy_array(object.ptr(), writes, array)) [[likely]] {
        data_ = array.data;
        elements_ = array.elements;
        element_bytes_ = array.type->bytes;
        known_ = array.type;
        return;
    }
    hold_ = std::make_unique<Hold>();
    if (PyObject_CheckBuffer(object.ptr())) {
        constexpr int asked = PyBUF_FORMAT | PyBUF_STRIDES;
        const bool has_view = PyObject_GetBuffer(object.ptr(), &hold_->view, asked) == 0;
        if (has_view) return take_view(writes, argument);
        PyErr_Clear();  // the protocol has no letter for the type, such as bfloat16
    }
    if (nb::hasattr(object, "__cuda_array_interface__")) refuse_device(object, argument);
    if (nb::hasattr(object, "__array_interface__")) {
        const nb::object fields = object.attr("__array_interface__");
        return take_array_interface(nb::cast<nb::dict>(fields), writes, argument);
    }
    if (nb::hasattr(object, "__dlpack__")) return take_tensor(writes, argument);
    refuse_buffer(argument, "is a " + class_of(object) +
                                "; expected the buffer protocol, __array_interface__ or DLPack");
}

void Buffer::take_view(bool writes, Argument argument) {
    const Py_buffer& view = hold_->view;
    if (!PyBuffer_IsContiguous(&view, 'C')) refuse_strides(argument);
    if (writes && view.readonly) refuse_read_only(argument);
    const auto bytes = static_cast<std::size_t>(view.itemsize);
    set_type(find_type(kind_of_format(view.format).c_str(), bytes), bytes, argument);
    data_ = view.buf;
    elements_ = static_cast<std::size_t>(view.len) / bytes;
    if (known_) learn_numpy_array(object_.ptr(), view, *known_);
}

void Buffer::take_array_interface(const nb::dict& fields, bool writes, Argument argument) {
    const auto type_string = nb::cast<std::string>(fields["typestr"]);
    const nb::tuple data = tuple_of(fields["data"]);
    const nb::tuple shape = tuple_of(fields["shape"]);
    const std::size_t bytes = std::stoul("0" + type_string.substr(2));
    const auto extent = [&](std::size_t i) { return nb::cast<std::size_t>(shape[i]); };
    elements_ = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) elements_ *= extent(i);
    const nb::object strides = fields.get("strides", nb::none());
    if (!strides.is_none()) {
        const nb::tuple all = tuple_of(strides);
        const auto stride = [&](std::size_t i) { return nb::cast<std::int64_t>(all[i]); };
        if (!is_contiguous(shape.size(), bytes, extent, stride)) refuse_strides(argument);
    }
    if (writes && nb::cast<bool>(data[1])) refuse_read_only(argument);
    data_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
    // A type of an extension, such as ml_dtypes' bfloat16, has only a name.
    const Type* type = find_type(kind_of_type_string(type_string).c_str(), bytes);
    if (!type && nb::hasattr(object_, "dtype")) type = find_named_type(type_name().c_str());
    set_type(type, bytes, argument);
}

void Buffer::take_tensor(bool writes, Argument argument) {
    if (nb::hasattr(object_, "__dlpack_device__")) {
        const nb::tuple device = tuple_of(object_.attr("__dlpack_device__")());
        const nb::object kind = device[0];
        const int number = nb::cast<int>(nb::int_(kind));
        if (number != nb::device::cpu::value && number != nb::device::cuda_host::value) {
            refuse_device(object_, argument);
        }
    }
    nb::ndarray<nb::ro>& tensor = hold_->tensor;
    if (!nb::try_cast(object_, tensor)) {
        refuse_buffer(argument, "is a " + class_of(object_) + " whose DLPack cannot be read");
    }
    if (nb::ndarray<> writable; writes && !nb::try_cast(object_, writable)) {
        refuse_read_only(argument);
    }
    const auto extent = [&](std::size_t i) { return tensor.shape(i); };
    const auto stride = [&](std::size_t i) { return tensor.stride(i); };
    if (!is_contiguous(tensor.ndim(), 1, extent, stride)) refuse_strides(argument);
    elements_ = 1;
    for (std::size_t i = 0; i < tensor.ndim(); ++i) elements_ *= extent(i);
    const nb::dlpack::dtype dtype = tensor.dtype();
    constexpr const char* kinds[] = {"i", "u", "f", "", "g", "z", "b"};  // by DLPack's code
    const char* const kind =
        dtype.lanes == 1 && dtype.code < std::size(kinds) ? kinds[dtype.code] : "";
    const std::size_t bytes = (std::size_t{dtype.bits} * dtype.lanes + 7) / 8;
    set_type(find_type(kind, bytes), bytes, argument);
    data_ = const_cast<void*>(tensor.data());
}

}  // namespace weft_python
