#include "operation.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "types.h"

namespace weft_python {
namespace {

// The dtype of elements for numpy.frombuffer.
nb::object dtype_of(weft_type type, std::size_t bytes) {
    const Type* const known = find_named_type(name_of_type(type));
    const nb::object dtype = nb::module_::import_("numpy").attr("dtype");
    if (!known) return dtype(("V" + std::to_string(bytes)).c_str());
    if (type == WEFT_BFLOAT16) return nb::module_::import_("ml_dtypes").attr("bfloat16");
    const char* const separator = std::strchr(known->name, '_');
    if (!separator) return dtype(std::string(known->name) == "byte" ? "S1" : known->name);
    // A pair of a value and an index, as a C compiler lays it out.
    const std::string value(known->name, separator);
    nb::list fields;
    fields.append(nb::make_tuple("value", value.c_str()));
    fields.append(nb::make_tuple("index", separator + 1));
    return dtype(fields, nb::arg("align") = true);
}

// Weft's own, for as long as the process lives.
auto& predefined = *new std::vector<Op*>;

}  // namespace

Op::Op(nb::object function, bool commutes) : name_("of the program"), function_(function) {
    check(weft_op_create(&Op::combine, commutes, this, &handle_), "Op");
}

Op::~Op() {
    if (is_of_program()) (void)weft_op_free(&handle_);
}

void Op::combine(const void* in, void* inout, std::size_t count, weft_type type, void* op) {
    const Op& self = *static_cast<const Op*>(op);
    call_in_any_thread("the function of a weft.Op", [&] {
        const std::size_t bytes = weft_type_size(type);
        const LentMemory left(in, count * bytes, false);
        const LentMemory right(inout, count * bytes, true);
        const nb::object from = nb::module_::import_("numpy").attr("frombuffer");
        const nb::object dtype = dtype_of(type, bytes);
        self.function_(from(left.view(), dtype), from(right.view(), dtype));
    });
}

const Op& OpArgument::named(const char* call) const {
    if (!nb::isinstance<nb::str>(given)) refuse("op is neither a weft.Op nor a name", call);
    const auto name = nb::cast<std::string>(given);
    std::string known;
    for (const Op* one : predefined) {
        std::string its = one->name();
        std::ranges::transform(its, its.begin(), [](unsigned char c) { return std::tolower(c); });
        if (its == name) return *one;
        known += (known.empty() ? "" : ", ") + its;
    }
    refuse("op = '" + name + "'; expected a weft.Op, or one of " + known, call);
}

void define_operations(nb::module_& module) {
    nb::class_<Op> op_of_python(module, "Op", R"(
A reduction operation.

Parameters
----------
function : callable
    `function(a, b)` sets `b[...] = a op b`, element by element, for arrays of NumPy's that it must
    not keep. It must be associative, and runs in any thread. What it raises breaks the
    communicator.
commute : bool, optional
    Whether the operands may be combined in any order.
)");
    op_class = op_of_python.ptr();
    op_of_python.def(nb::init<nb::object, bool>(), nb::arg("function"), nb::arg("commute") = false)
        .def("__repr__", [](const Op& op) {
            return op.is_of_program() ? std::string("<weft.Op of the program>")
                                      : std::string("weft.") + op.name();
        });
#define OP(name)                                      \
    predefined.push_back(new Op(WEFT_##name, #name)); \
    module.attr(#name) = nb::cast(predefined.back(), nb::rv_policy::reference);
    OP(SUM)
    OP(PROD)
    OP(MIN)
    OP(MAX)
    OP(LAND)
    OP(LOR)
    OP(LXOR)
    OP(BAND)
    OP(BOR)
    OP(BXOR)
    OP(MINLOC)
    OP(MAXLOC)
    OP(AVG)
#undef OP
}

}  // namespace weft_python
