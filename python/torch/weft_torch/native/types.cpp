#include "types.h"

#include "failure.h"

namespace weft_torch {
namespace {

enum class Kind { integer, truth, real, complex };

struct Element {
    at::ScalarType scalar;
    weft_type type;
    std::size_t parts;
    Kind kind;
};

constexpr Element elements[] = {
    {at::ScalarType::Float, WEFT_FLOAT32, 1, Kind::real},
    {at::ScalarType::Double, WEFT_FLOAT64, 1, Kind::real},
    {at::ScalarType::BFloat16, WEFT_BFLOAT16, 1, Kind::real},
    {at::ScalarType::Half, WEFT_FLOAT16, 1, Kind::real},
    {at::ScalarType::Long, WEFT_INT64, 1, Kind::integer},
    {at::ScalarType::Int, WEFT_INT32, 1, Kind::integer},
    {at::ScalarType::Short, WEFT_INT16, 1, Kind::integer},
    {at::ScalarType::Char, WEFT_INT8, 1, Kind::integer},
    {at::ScalarType::Byte, WEFT_UINT8, 1, Kind::integer},
    {at::ScalarType::UInt16, WEFT_UINT16, 1, Kind::integer},
    {at::ScalarType::UInt32, WEFT_UINT32, 1, Kind::integer},
    {at::ScalarType::UInt64, WEFT_UINT64, 1, Kind::integer},
    {at::ScalarType::Bool, WEFT_UINT8, 1, Kind::truth},
    {at::ScalarType::ComplexFloat, WEFT_COMPLEX64, 1, Kind::complex},
    {at::ScalarType::ComplexDouble, WEFT_COMPLEX128, 1, Kind::complex},
    {at::ScalarType::ComplexHalf, WEFT_FLOAT16, 2, Kind::complex},
};

using RedOp = c10d::ReduceOp::RedOpType;

struct Operator {
    RedOp reduce;
    const char* name;
    weft_op op;
    weft_op of_truth;  // of truth values, whose sum is "or"
    bool on_complex;
};

const Operator operators[] = {
    {RedOp::SUM, "SUM", WEFT_SUM, WEFT_LOR, true},
    {RedOp::AVG, "AVG", WEFT_AVG, WEFT_OP_NULL, true},
    {RedOp::PRODUCT, "PRODUCT", WEFT_PROD, WEFT_LAND, true},
    {RedOp::MIN, "MIN", WEFT_MIN, WEFT_LAND, false},
    {RedOp::MAX, "MAX", WEFT_MAX, WEFT_LOR, false},
    {RedOp::BAND, "BAND", WEFT_BAND, WEFT_LAND, false},
    {RedOp::BOR, "BOR", WEFT_BOR, WEFT_LOR, false},
    {RedOp::BXOR, "BXOR", WEFT_BXOR, WEFT_LXOR, false},
    {RedOp::PREMUL_SUM, "PREMUL_SUM", WEFT_OP_NULL, WEFT_OP_NULL, true},
};

const Element* find_element(at::ScalarType scalar) {
    for (const Element& element : elements) {
        if (element.scalar == scalar) return &element;
    }
    return nullptr;
}

const Operator* find_operator(RedOp reduce) {
    for (const Operator& known : operators) {
        if (known.reduce == reduce) return &known;
    }
    return nullptr;
}

bool is_bitwise(RedOp reduce) {
    return reduce == RedOp::BAND || reduce == RedOp::BOR || reduce == RedOp::BXOR;
}

bool can_reduce(const Element& element, const Operator& known) {
    switch (element.kind) {
        case Kind::truth: return known.of_truth != WEFT_OP_NULL;
        case Kind::integer: return known.reduce != RedOp::PREMUL_SUM;
        case Kind::real: return !is_bitwise(known.reduce);
        case Kind::complex:
            // (Halves are combined part by part.)
            return known.on_complex && (element.parts == 1 || known.reduce != RedOp::PRODUCT);
    }
    return false;
}

double factor_of(const c10d::ReduceOp& reduce) {
    const auto* const supplement =
        dynamic_cast<const c10d::PreMulSumSupplement*>(reduce.supplement_.get());
    TORCH_CHECK_VALUE(supplement != nullptr, "weft: PREMUL_SUM without a factor");
    return supplement->tensor_factor.defined() ? supplement->tensor_factor.item<double>()
                                               : supplement->double_factor;
}

}  // namespace

Reduction::Reduction(const at::Tensor& tensor, const c10d::ReduceOp& reduce, const char* call) {
    const Element* const element = find_element(tensor.scalar_type());
    const Operator* const known = find_operator(reduce.op_);
    TORCH_CHECK_VALUE(known != nullptr, "weft ", call, ": unknown reduction ",
                      static_cast<int>(reduce.op_));
    TORCH_CHECK_VALUE(element != nullptr && can_reduce(*element, *known), "weft ", call, ": ",
                      known->name, " of ", c10::toString(tensor.scalar_type()),
                      " is not supported");
    type = element->type;
    parts = element->parts;
    op = element->kind == Kind::truth ? known->of_truth : known->op;
    if (known->reduce == RedOp::AVG && element->kind == Kind::integer) {
        op = WEFT_SUM;
        divides = true;
    } else if (known->reduce == RedOp::PREMUL_SUM) {
        check(weft_op_create_premul_sum(factor_of(reduce), &op), c10::str("weft ", call));
        is_own_ = true;
    }
}

Reduction::~Reduction() {
    if (is_own_) (void)weft_op_free(&op);
}

Moved::Moved(const at::Tensor& tensor)
    : type(tensor.scalar_type() == at::ScalarType::Float ? WEFT_FLOAT32 : WEFT_BYTE),
      element_bytes(weft_type_size(type)) {}

}  // namespace weft_torch
