#include "numpy_array.h"

#include <algorithm>
#include <vector>

namespace weft_python {
namespace {

// The beginning of NumPy's PyArrayObject_fields.
struct Fields {
    PyObject head;
    char* data;
    int dimensions;
    Py_ssize_t* shape;
    Py_ssize_t* strides;  // of any order: flags say whether it is C's
    PyObject* base;
    PyObject* dtype;
    int flags;
};
constexpr int c_contiguous = 0x1;
constexpr int writeable = 0x400;

const Fields& fields_of(PyObject* object) { return *reinterpret_cast<const Fields*>(object); }

struct KnownType {
    PyObject* dtype;  // owned; those of numbers live as long as NumPy
    const Type* type;
};
constexpr std::size_t known_max = 32;
std::vector<KnownType>& known_types = *new std::vector<KnownType>;

PyTypeObject* array_type = nullptr;  // numpy.ndarray, once an array is as expected
bool is_unknown_layout = false;

bool is_as_expected(PyObject* object, const Py_buffer& view) {
    const Fields& fields = fields_of(object);
    if (fields.data != view.buf || fields.dimensions != view.ndim) return false;
    const nb::object dtype = nb::handle(object).attr("dtype");
    return std::equal(view.shape, view.shape + view.ndim, fields.shape) &&
           fields.dtype == dtype.ptr() && ((fields.flags & writeable) == 0) == (view.readonly != 0);
}

}  // namespace

bool read_numpy_array(PyObject* object, bool writes, NumpyArray& array) {
    if (Py_TYPE(object) != array_type) return false;
    const Fields& fields = fields_of(object);
    const int needs = writes ? c_contiguous | writeable : c_contiguous;
    if ((fields.flags & needs) != needs) return false;
    for (const KnownType& known : known_types) {
        if (known.dtype != fields.dtype) continue;
        array = {fields.data, 1, known.type};
        for (int i = 0; i < fields.dimensions; ++i)
            array.elements *= static_cast<std::size_t>(fields.shape[i]);
        return true;
    }
    return false;
}

void learn_numpy_array(PyObject* object, const Py_buffer& view, const Type& type) {
    if (is_unknown_layout || known_types.size() == known_max) return;
    if (array_type == nullptr) {
        // Others come again and again: they are asked once. (Without NumPy there are no arrays.)
        static PyTypeObject* other = nullptr;
        if (Py_TYPE(object) == other || view.ndim == 0) return;
        other = Py_TYPE(object);
        const nb::dict modules = nb::module_::import_("sys").attr("modules");
        if (!modules.contains("numpy")) return;
        const nb::object expected = nb::module_::import_("numpy").attr("ndarray");
        if (nb::handle(object).type().ptr() != expected.ptr()) return;
        is_unknown_layout = !is_as_expected(object, view);
        if (is_unknown_layout) return;
        array_type = reinterpret_cast<PyTypeObject*>(nb::object(expected).release().ptr());
    }
    if (Py_TYPE(object) != array_type) return;
    PyObject* const dtype = fields_of(object).dtype;
    const auto is_this = [&](const KnownType& known) { return known.dtype == dtype; };
    if (std::ranges::none_of(known_types, is_this))
        known_types.push_back({nb::borrow(dtype).release().ptr(), &type});
}

}  // namespace weft_python
