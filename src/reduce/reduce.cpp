#include "reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/handles.h"
#include "base/user_code.h"
#include "reduce/half_kernels.h"
#include "reduce/int8_blocks.h"
#include "reduce/kernels.h"
#include "reduce/scaling.h"
#include "reduce/versions.h"

namespace weft {
namespace {

struct UserOp {
    weft_op_function function = nullptr;  // null: a sum, whose operands are multiplied before
    void* context = nullptr;
    bool commutative = true;
    bool is_confined = false;  // to threads of the program
    double factor = 1;
    float factor_of_32_bits = 1;
};

// User-defined operations, by handle: from any thread.
struct Table {
    std::mutex mutex;
    HandleTable<UserOp> ops;  // guarded by mutex; owns the operations
};

// Never destroyed: static objects of the program may use operations while they are destroyed.
Table& table() {
    static Table& instance = *new Table;
    return instance;
}

std::uintptr_t value_of(weft_op op) { return reinterpret_cast<std::uintptr_t>(op); }

Status no_such_op(weft_op op) {
    return failure(WEFT_REFUSED_HANDLE, "op handle %p was freed, or never made by weft_op_create",
                   static_cast<void*>(op));
}

Result<UserOp> find_user_op(weft_op op) {
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const UserOp* user = t.ops.find(value_of(op));
    if (!user) return no_such_op(op);
    return *user;
}

struct TypeEntry {
    const char* name;
    std::size_t bytes;
};

// The C structs of the pair types.
struct Float32Int32 {
    float value;
    std::int32_t index;
};
struct Float64Int32 {
    double value;
    std::int32_t index;
};
struct Int32Int32 {
    std::int32_t value;
    std::int32_t index;
};
struct Int64Int32 {
    std::int64_t value;
    std::int32_t index;
};

// In the order of weft_type.
constexpr TypeEntry types[type_count] = {
    {"byte", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float32", 4},
    {"float64", 8},
    {"float32_int32", sizeof(Float32Int32)},
    {"float64_int32", sizeof(Float64Int32)},
    {"int32_int32", sizeof(Int32Int32)},
    {"int64_int32", sizeof(Int64Int32)},
    {"float16", 2},
    {"bfloat16", 2},
    {"complex64", 8},
    {"complex128", 16},
};

// In the order of the predefined handles.
constexpr const char* op_names[predefined_op_count] = {
    "null", "sum",  "prod", "min",  "max",    "land",   "lor",
    "lxor", "band", "bor",  "bxor", "minloc", "maxloc", "avg",
};

bool is_named(weft_type type) { return type >= 0 && type < type_count; }

// The bytes of a WEFT_OPAQUE type; 0: it is another type, or none.
std::size_t opaque_bytes(weft_type type) {
    const std::int64_t bytes = std::int64_t{type} - WEFT_OPAQUE(0);
    return bytes > 0 && bytes <= WEFT_OPAQUE_MAX ? static_cast<std::size_t>(bytes) : 0;
}

bool is_integer(weft_type type) { return type >= WEFT_INT8 && type <= WEFT_UINT64; }

Status refuse_type(const char* op, weft_type type) {
    const char* const reason =
        is_integer(type) ? ": the result would be rounded to an integer" : "";
    return failure(WEFT_REFUSED_ARGUMENT, "op = %s is not defined for type %s%s", op,
                   type_name(type).c_str(), reason);
}

// To the nearest float32, whatever the direction of this thread. (Volatile: the compiler must not
// move the conversion out of the scope.)
float to_float32(double value) {
    const VectorScope here(to_nearest);
    const volatile double given = value;
    const volatile auto narrow = static_cast<float>(given);
    return narrow;
}

// Binds the sum of scaled operands, or of a result that is scaled, to reduction.type.
Status bind_scaled_sum(Reduction& reduction, Scale scale, const char* op) {
    if (!scaling_of(scale, reduction.type, reduction.rounding))
        return refuse_type(op, reduction.type);
    reduction.scale = scale;
    reduction.op = sum_number;
    reduction.kernel = kernel_of(sum_number, reduction.type, reduction.rounding);
    return ok;
}

}  // namespace

std::size_t type_bytes(weft_type type) {
    return is_named(type) ? types[type].bytes : opaque_bytes(type);
}

std::size_t type_alignment(weft_type type) {
    switch (type) {
        case WEFT_FLOAT32_INT32: return alignof(Float32Int32);
        case WEFT_FLOAT64_INT32: return alignof(Float64Int32);
        case WEFT_INT32_INT32: return alignof(Int32Int32);
        case WEFT_INT64_INT32: return alignof(Int64Int32);
        default: break;
    }
    // No struct of this many bytes needs a larger alignment.
    const std::size_t bytes = type_bytes(type);
    return std::min(bytes & (~bytes + 1), alignof(std::max_align_t));
}

std::string type_name(weft_type type) {
    if (is_named(type)) return types[type].name;
    const std::size_t bytes = opaque_bytes(type);
    return bytes > 0 ? "opaque(" + std::to_string(bytes) + ")" : "?";
}

const char* op_name(weft_op op) {
    return value_of(op) < predefined_op_count ? op_names[value_of(op)] : "user";
}

void Reduction::round_as_this_thread() {
    const Rounding now = rounding_now();
    if (now == rounding) return;
    rounding = now;
    if (kernel && wire != WireFormat::int8) kernel = kernel_of(op, type, now);
}

void Reduction::apply(const void* from, void* into, std::size_t bytes) const {
    if (bytes == 0) return;
    if (kernel) {
        kernel(from, into, into, bytes / element_bytes);
    } else {
        const UserCode here(rounding);
        user(from, into, bytes / element_bytes, type, user_context);
    }
}

void Reduction::apply_right(void* from, void* into, std::size_t bytes) const {
    if (bytes == 0) return;
    if (kernel) {
        kernel(into, from, into, bytes / element_bytes);
    } else {
        const UserCode here(rounding);
        // Even if it is declared commutative: swapped operands might round differently, and the
        // ranks' results must be bitwise identical.
        user(into, from, bytes / element_bytes, type, user_context);
        std::memcpy(into, from, bytes);
    }
}

void Reduction::apply_scaling(const void* from, void* into, std::size_t bytes) const {
    if (bytes == 0) return;
    scaling_of(scale, type, rounding)(from, into, bytes / element_bytes, factor);
}

void Reduction::accumulate_in_float32() {
    const bool is_half = type == WEFT_FLOAT16 || type == WEFT_BFLOAT16;
    if (!is_half || (op != sum_number && op != prod_number)) return;
    narrow_type = type;
    type = WEFT_FLOAT32;
    element_bytes = sizeof(float);
    kernel = kernel_of(op, type, rounding);
}

void Reduction::widen(const void* from, void* into, std::size_t bytes) const {
    const double by = scale == Scale::multiply ? factor : 1;
    widening_of(narrow_type, rounding, best_loops())(from, into, bytes / 2, by);
}

void Reduction::narrow(const void* from, void* into, std::size_t bytes) const {
    const double by = scale == Scale::divide ? factor : 1;
    narrowing_of(narrow_type, rounding, best_loops())(from, into, bytes / 2, by);
}

bool Reduction::can_travel_as(WireFormat format) const {
    return kernel != nullptr && (format != WireFormat::int8 || op == sum_number);
}

void Reduction::encode_as(WireFormat format, float* error) {
    wire = format;
    wire_error = error;
    if (!kernel) return;
    element_bytes = static_cast<std::size_t>(wire_block(format).bytes);
    if (format == WireFormat::int8) {
        kernel = int8_loops_of(best_loops()).sum;
    } else {
        type = WEFT_BFLOAT16;
        kernel = kernel_of(op, type, rounding);
    }
}

void Reduction::encode(const void* from, void* into, std::size_t count) const {
    if (scale != Scale::multiply) return encode_floats(wire, rounding, from, into, count);
    const WireBlock block = wire_block(wire);
    constexpr std::size_t chunk = 1920;  // of whole blocks, on the stack
    const Scaling multiply = scaling_of(scale, WEFT_FLOAT32, rounding);
    for (std::size_t done = 0; done < count; done += chunk) {
        const std::size_t n = std::min(count - done, chunk);
        float scaled[chunk];
        multiply(static_cast<const std::byte*>(from) + done * sizeof(float), scaled, n, factor);
        encode_floats(
            wire, rounding, scaled,
            static_cast<std::byte*>(into) + block.bytes_of(static_cast<std::int64_t>(done)), n);
    }
}

void Reduction::decode(const void* from, void* into, std::size_t count) const {
    float error = decode_floats(wire, from, into, count);
    if (scale == Scale::divide) {
        scaling_of(scale, WEFT_FLOAT32, rounding)(into, into, count, factor);
        error /= static_cast<float>(factor);
    }
    *wire_error = std::max(*wire_error, error);
}

Result<Reduction> bind_reduction(weft_op op, weft_type type) {
    if (type_bytes(type) == 0) {
        return failure(WEFT_REFUSED_ARGUMENT, "type = %d; expected one of weft_type",
                       static_cast<int>(type));
    }
    if (op == WEFT_OP_NULL) return failure(WEFT_REFUSED_HANDLE, "op is WEFT_OP_NULL");

    Reduction reduction;
    reduction.type = type;
    reduction.element_bytes = type_bytes(type);
    const bool may_round = type > WEFT_UINT64 || value_of(op) >= predefined_op_count;
    if (may_round) reduction.rounding = rounding_now();
    if (op == WEFT_AVG) [[unlikely]] {
        WEFT_RETURN_IF_NOT_OK(bind_scaled_sum(reduction, Scale::divide, op_name(op)));
        return reduction;
    }
    if (value_of(op) < predefined_op_count) {
        reduction.op = static_cast<int>(value_of(op));
        if (is_named(type)) reduction.kernel = kernel_of(reduction.op, type, reduction.rounding);
        if (!reduction.kernel) {
            return failure(WEFT_REFUSED_ARGUMENT, "op = %s is not defined for type %s", op_name(op),
                           type_name(type).c_str());
        }
        reduction.exact = type <= WEFT_UINT64;  // integers wrap around
        return reduction;
    }
    Result<UserOp> user = find_user_op(op);
    if (!user.is_ok()) return user.status();
    if (!user->function) {
        WEFT_RETURN_IF_NOT_OK(bind_scaled_sum(reduction, Scale::multiply, "a premultiplied sum"));
        const bool is_wide = type == WEFT_FLOAT64 || type == WEFT_COMPLEX128;
        reduction.factor = is_wide ? user->factor : double{user->factor_of_32_bits};
        return reduction;
    }
    reduction.user = user->function;
    reduction.user_context = user->context;
    reduction.commutative = user->commutative;
    reduction.is_confined = user->is_confined;
    return reduction;
}

namespace {

Status add_op(const UserOp& made, weft_op* op) {
    if (!op) return failure(WEFT_REFUSED_ARGUMENT, "op = null; expected an address");
    auto user = std::make_unique<UserOp>(made);
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const std::uint32_t place = t.ops.add(user.get());
    user.release();
    *op = reinterpret_cast<weft_op>(t.ops.handle(place));
    return ok;
}

}  // namespace

Status create_user_op(weft_op_function function, bool commutative, void* context, weft_op* op,
                      bool is_confined) {
    if (!function) return failure(WEFT_REFUSED_ARGUMENT, "function = null; expected a function");
    return add_op({.function = function,
                   .context = context,
                   .commutative = commutative,
                   .is_confined = is_confined},
                  op);
}

Status create_premul_sum(double factor, weft_op* op) {
    if (!std::isfinite(factor)) {
        return failure(WEFT_REFUSED_ARGUMENT, "factor = %g; expected a finite number", factor);
    }
    return add_op({.factor = factor, .factor_of_32_bits = to_float32(factor)}, op);
}

Status free_user_op(weft_op* op) {
    if (!op || *op == WEFT_OP_NULL) return failure(WEFT_REFUSED_HANDLE, "op is null");
    if (value_of(*op) < predefined_op_count) {
        return failure(WEFT_REFUSED_HANDLE, "op = %s is predefined and cannot be freed",
                       op_name(*op));
    }
    Table& t = table();
    std::lock_guard lock(t.mutex);
    const std::unique_ptr<UserOp> user(t.ops.find(value_of(*op)));
    if (!user) return no_such_op(*op);
    t.ops.remove(static_cast<std::uint32_t>(value_of(*op)) - 1);
    *op = WEFT_OP_NULL;
    return ok;
}

}  // namespace weft
