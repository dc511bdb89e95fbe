// What reductions compute, and which are refused.
#include <climits>
#include <complex>

#include "base/random.h"
#include "reduce/kernels.h"
#include "reduce/reduce.h"
#include "support/float_states.h"
#include "support/test.h"

namespace weft::reduce_test {

using test::float_state;
using test::float_states;
using test::FloatState;
using test::set_float_state;

const std::array all_ops = {WEFT_SUM,  WEFT_PROD, WEFT_MIN, WEFT_MAX,  WEFT_LAND,   WEFT_LOR,
                            WEFT_LXOR, WEFT_BAND, WEFT_BOR, WEFT_BXOR, WEFT_MINLOC, WEFT_MAXLOC};

Reduction bound(weft_op op, weft_type type) {
    Result<Reduction> reduction = bind_reduction(op, type);
    EXPECT_TRUE(reduction.is_ok()) << last_detail();
    return *reduction;
}

// left (op) right, by the built-in kernel.
template <class T>
T combined(weft_op op, weft_type type, T left, T right) {
    T into = right;
    bound(op, type).apply(&left, &into, sizeof(T));
    T other = left;
    T from = right;
    bound(op, type).apply_right(&from, &other, sizeof(T));
    EXPECT_EQ(std::memcmp(&into, &other, sizeof(T)), 0) << "apply and apply_right differ";
    return into;
}

template <class T>
T expected(weft_op op, T a, T b) {
    // Computed wide and cut: that is what wrapping means.
    auto wide = [](T v) { return static_cast<std::uint64_t>(v); };
    if (op == WEFT_SUM) return static_cast<T>(wide(a) + wide(b));
    if (op == WEFT_PROD) return static_cast<T>(wide(a) * wide(b));
    if (op == WEFT_MIN) return std::min(a, b);
    if (op == WEFT_MAX) return std::max(a, b);
    if (op == WEFT_LAND) return a && b;
    if (op == WEFT_LOR) return a || b;
    if (op == WEFT_LXOR) return !a != !b;
    if (op == WEFT_BAND) return static_cast<T>(a & b);
    if (op == WEFT_BOR) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
}

constexpr std::size_t guard = 64;

// All operations on random vectors of many lengths, from both sides, with guards around.
template <class T>
void check_integers(weft_type type) {
    ASSERT_EQ(type_bytes(type), sizeof(T));
    Prng random(static_cast<std::uint64_t>(type));
    for (std::size_t op = 0; op < 10; ++op) {
        Reduction reduction = bound(all_ops[op], type);
        for (std::size_t count : {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100}) {
            std::vector<T> left(count + 2 * guard);
            std::vector<T> right(count + 2 * guard);
            for (T& v : left) v = static_cast<T>(random.one_in(4) ? 0 : random.next());
            for (T& v : right) v = static_cast<T>(random.one_in(4) ? 0 : random.next());
            left[guard] = std::numeric_limits<T>::min();
            right[guard] = static_cast<T>(-1);
            std::vector<T> by_left = right;  // into = from (op) into
            std::vector<T> by_right = left;  // into = into (op) from
            reduction.apply(left.data() + guard, by_left.data() + guard, count * sizeof(T));
            std::vector<T> from = right;
            reduction.apply_right(from.data() + guard, by_right.data() + guard, count * sizeof(T));
            for (std::size_t i = 0; i < left.size(); ++i) {
                bool inside = i >= guard && i < guard + count;
                T result = expected(all_ops[op], left[i], right[i]);
                ASSERT_EQ(by_left[i], inside ? result : right[i]) << op_name(all_ops[op]) << i;
                ASSERT_EQ(by_right[i], inside ? result : left[i]) << op_name(all_ops[op]) << i;
            }
        }
    }
}

TEST(Reduce, IntegersOfAllWidths) {
    check_integers<std::int8_t>(WEFT_INT8);
    check_integers<std::int16_t>(WEFT_INT16);
    check_integers<std::int32_t>(WEFT_INT32);
    check_integers<std::int64_t>(WEFT_INT64);
    check_integers<std::uint8_t>(WEFT_UINT8);
    check_integers<std::uint16_t>(WEFT_UINT16);
    check_integers<std::uint32_t>(WEFT_UINT32);
    check_integers<std::uint64_t>(WEFT_UINT64);
}

TEST(Reduce, BytesOnlyBitByBit) {
    EXPECT_EQ(combined<std::uint8_t>(WEFT_BAND, WEFT_BYTE, 0x3c, 0x0f), 0x0c);
    EXPECT_EQ(combined<std::uint8_t>(WEFT_BOR, WEFT_BYTE, 0x3c, 0x0f), 0x3f);
    EXPECT_EQ(combined<std::uint8_t>(WEFT_BXOR, WEFT_BYTE, 0x3c, 0x0f), 0x33);
}

template <class T>
void check_floats(weft_type type) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T infinity = std::numeric_limits<T>::infinity();
    EXPECT_EQ(combined<T>(WEFT_SUM, type, T(1.5), T(-4)), T(-2.5));
    EXPECT_EQ(combined<T>(WEFT_PROD, type, T(1.5), T(-4)), T(-6));
    const T values[] = {-infinity, T(-2), T(-0.0), T(0.0), T(1), T(3), infinity};
    for (T a : values) {
        for (T b : values) {
            // In this order of values, -0 comes before +0.
            T least = std::signbit(a) == std::signbit(b) ? std::min(a, b) : std::signbit(a) ? a : b;
            T most = std::signbit(a) == std::signbit(b) ? std::max(a, b) : std::signbit(a) ? b : a;
            T min = combined<T>(WEFT_MIN, type, a, b);
            T max = combined<T>(WEFT_MAX, type, a, b);
            EXPECT_EQ(std::memcmp(&min, &least, sizeof(T)), 0) << a << ' ' << b;
            EXPECT_EQ(std::memcmp(&max, &most, sizeof(T)), 0) << a << ' ' << b;
        }
        for (weft_op op : {WEFT_MIN, WEFT_MAX}) {
            T one = combined<T>(op, type, nan, a);
            T two = combined<T>(op, type, a, nan);
            EXPECT_TRUE(std::isnan(one));
            EXPECT_EQ(std::memcmp(&one, &two, sizeof(T)), 0) << "depends on the side";
        }
    }
}

TEST(Reduce, FloatsHaveOneAnswerForZerosAndNans) {
    check_floats<float>(WEFT_FLOAT32);
    check_floats<double>(WEFT_FLOAT64);
}

// The vector loop and the scalar one behind it.
TEST(Reduce, LongFloatVectors) {
    std::vector<double> from(103);
    std::vector<double> into(103);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<double>(i);
        into[i] = static_cast<double>(50 - static_cast<int>(i));
    }
    std::vector<double> most = into;
    bound(WEFT_MAX, WEFT_FLOAT64).apply(from.data(), most.data(), most.size() * sizeof(double));
    bound(WEFT_SUM, WEFT_FLOAT64).apply(from.data(), into.data(), into.size() * sizeof(double));
    for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_EQ(into[i], 50);
        EXPECT_EQ(most[i], std::max(from[i], 50 - from[i]));
    }
}

template <class Value>
struct Located {
    Value value;
    std::int32_t index;
};

template <class Value>
void check_pairs(weft_type type) {
    using P = Located<Value>;
    ASSERT_EQ(type_bytes(type), sizeof(P));
    auto check = [&](weft_op op, P a, P b, P want) {
        for (bool swapped : {false, true}) {
            P from = swapped ? b : a;
            P into = swapped ? a : b;
            bound(op, type).apply(&from, &into, sizeof(P));
            EXPECT_TRUE(into.value == want.value || want.value != want.value);
            EXPECT_EQ(into.index, want.index);
        }
    };
    check(WEFT_MINLOC, P{3, 7}, P{-2, 9}, P{-2, 9});
    check(WEFT_MAXLOC, P{3, 7}, P{-2, 9}, P{3, 7});
    check(WEFT_MINLOC, P{3, 7}, P{3, 2}, P{3, 2});
    check(WEFT_MAXLOC, P{3, 7}, P{3, 2}, P{3, 2});
    if constexpr (std::is_floating_point_v<Value>) {
        const Value nan = std::numeric_limits<Value>::quiet_NaN();
        for (weft_op op : {WEFT_MINLOC, WEFT_MAXLOC}) {
            check(op, P{nan, 7}, P{1, 2}, P{nan, 7});
            check(op, P{nan, 7}, P{nan, 2}, P{nan, 2});
        }
    }
}

TEST(Reduce, PairsFindTheLowestPlace) {
    check_pairs<float>(WEFT_FLOAT32_INT32);
    check_pairs<double>(WEFT_FLOAT64_INT32);
    check_pairs<std::int32_t>(WEFT_INT32_INT32);
    check_pairs<std::int64_t>(WEFT_INT64_INT32);
}

// Undefined behaviour, were the kernels to rely on alignment: UBSan sees it, and stops the test.
TEST(Reduce, ElementsLieAtAnyAddress) {
    constexpr std::size_t count = 21;
    Prng random(1);
    for (int t = 0; t < type_count; ++t) {
        const auto type = static_cast<weft_type>(t);
        const std::size_t bytes = count * type_bytes(type);
        for (weft_op op : all_ops) {
            Result<Reduction> reduction = bind_reduction(op, type);
            if (!reduction.is_ok()) continue;
            std::vector<std::byte> from(bytes);
            std::vector<std::byte> into(bytes);
            for (std::byte& b : from) b = static_cast<std::byte>(random.next() & 0x3f);
            for (std::byte& b : into) b = static_cast<std::byte>(random.next() & 0x3f);
            std::vector<std::byte> from_aside(bytes + 1);
            std::vector<std::byte> into_aside(bytes + 3);
            std::memcpy(from_aside.data() + 1, from.data(), bytes);
            std::memcpy(into_aside.data() + 3, into.data(), bytes);
            reduction->apply(from.data(), into.data(), bytes);
            reduction->apply(from_aside.data() + 1, into_aside.data() + 3, bytes);
            EXPECT_EQ(std::memcmp(into_aside.data() + 3, into.data(), bytes), 0)
                << op_name(op) << " of " << type_name(type);
            reduction->apply_right(from.data(), into.data(), bytes);
            reduction->apply_right(from_aside.data() + 1, into_aside.data() + 3, bytes);
            EXPECT_EQ(std::memcmp(into_aside.data() + 3, into.data(), bytes), 0)
                << op_name(op) << " of " << type_name(type) << ", from the right";
        }
    }
}

TEST(Reduce, WhatMpiDoesNotDefineIsRefused) {
    auto is_defined = [](std::size_t op, weft_type type) {
        bool pair = type >= WEFT_FLOAT32_INT32 && type <= WEFT_INT64_INT32;
        bool is_float = type == WEFT_FLOAT32 || type == WEFT_FLOAT64 || type == WEFT_FLOAT16 ||
                        type == WEFT_BFLOAT16;
        if (type == WEFT_COMPLEX64 || type == WEFT_COMPLEX128) return op < 2;
        if (op >= 10) return pair;
        if (type == WEFT_BYTE) return op >= 7;
        return !pair && (!is_float || op < 4);
    };
    for (int t = 0; t < type_count; ++t) {
        auto type = static_cast<weft_type>(t);
        for (std::size_t op = 0; op < all_ops.size(); ++op) {
            Result<Reduction> reduction = bind_reduction(all_ops[op], type);
            EXPECT_EQ(reduction.is_ok(), is_defined(op, type))
                << op_name(all_ops[op]) << " of " << type_name(type);
            EXPECT_EQ(reduction.status().code,
                      is_defined(op, type) ? WEFT_OK : WEFT_REFUSED_ARGUMENT);
        }
    }
    EXPECT_FALSE(bind_reduction(WEFT_SUM, WEFT_FLOAT32_INT32).is_ok());
    EXPECT_STREQ(last_detail(), "op = sum is not defined for type float32_int32");
    EXPECT_EQ(bind_reduction(WEFT_OP_NULL, WEFT_INT32).status().code, WEFT_REFUSED_HANDLE);
    EXPECT_EQ(bind_reduction(WEFT_SUM, static_cast<weft_type>(19)).status().code,
              WEFT_REFUSED_ARGUMENT);
    EXPECT_EQ(type_bytes(static_cast<weft_type>(19)), 0u);
}

TEST(Reduce, SumsThatScaleAreOfFloatingPointTypes) {
    for (int t = 0; t < type_count; ++t) {
        const auto type = static_cast<weft_type>(t);
        const bool is_defined = type == WEFT_FLOAT32 || type == WEFT_FLOAT64 ||
                                (type >= WEFT_FLOAT16 && type <= WEFT_COMPLEX128);
        weft_op premultiplied = WEFT_OP_NULL;
        ASSERT_TRUE(create_premul_sum(0.5, &premultiplied).is_ok());
        for (const weft_op op : {WEFT_AVG, premultiplied}) {
            Result<Reduction> reduction = bind_reduction(op, type);
            EXPECT_EQ(reduction.is_ok(), is_defined) << type_name(type);
            if (!is_defined) {
                EXPECT_EQ(reduction.status().code, WEFT_REFUSED_ARGUMENT);
            } else {
                EXPECT_EQ(reduction->kernel, bound(WEFT_SUM, type).kernel);
                EXPECT_EQ(reduction->scale, op == WEFT_AVG ? Scale::divide : Scale::multiply);
            }
        }
        EXPECT_TRUE(free_user_op(&premultiplied).is_ok());
    }
    EXPECT_FALSE(bind_reduction(WEFT_AVG, WEFT_INT32).is_ok());
    EXPECT_STREQ(
        last_detail(),
        "op = avg is not defined for type int32: the result would be rounded to an integer");
    EXPECT_FALSE(bind_reduction(WEFT_AVG, WEFT_OPAQUE(4)).is_ok());
    EXPECT_STREQ(last_detail(), "op = avg is not defined for type opaque(4)");
    weft_op op = WEFT_OP_NULL;
    for (const double factor : {HUGE_VAL, -HUGE_VAL, std::nan("")})
        EXPECT_EQ(create_premul_sum(factor, &op).code, WEFT_REFUSED_ARGUMENT);
    EXPECT_EQ(create_premul_sum(1, nullptr).code, WEFT_REFUSED_ARGUMENT);
}

template <class T>
T scaled(const Reduction& reduction, T value) {
    T result = value;
    reduction.apply_scaling(&value, &result, sizeof(T));
    reduction.apply_scaling(&value, &value, sizeof(T));
    EXPECT_EQ(std::memcmp(&value, &result, sizeof(T)), 0) << "in place differs";
    return result;
}

TEST(Reduce, ScalesEveryPartOfAnElement) {
    Reduction average = bound(WEFT_AVG, WEFT_FLOAT32);
    average.factor = 3;
    EXPECT_EQ(scaled(average, 2.0f), 2.0f / 3);
    average = bound(WEFT_AVG, WEFT_COMPLEX128);
    average.factor = 3;
    EXPECT_EQ(scaled(average, std::complex<double>(1, -6)), std::complex<double>(1.0 / 3, -2));

    weft_op op = WEFT_OP_NULL;
    ASSERT_TRUE(create_premul_sum(0.1, &op).is_ok());
    EXPECT_EQ(scaled(bound(op, WEFT_FLOAT64), 3.0), 3.0 * 0.1);
    EXPECT_EQ(scaled(bound(op, WEFT_FLOAT32), 3.0f), 3.0f * 0.1f);
    EXPECT_EQ(scaled(bound(op, WEFT_COMPLEX64), std::complex<float>(3, 7)),
              std::complex<float>(3 * 0.1f, 7 * 0.1f));
    EXPECT_TRUE(free_user_op(&op).is_ok());
}

// The factor of 32 bits is the nearest, whatever the thread's state.
TEST(Reduce, AFactorDoesNotDependOnTheStateInWhichItIsGiven) {
    for (int state = 0; state < float_states; ++state) {
        weft_op op = WEFT_OP_NULL;
        set_float_state(state);
        const Status made = create_premul_sum(0.1, &op);
        Result<Reduction> reduction = bind_reduction(op, WEFT_FLOAT32);
        set_float_state(0);
        ASSERT_TRUE(made.is_ok());
        EXPECT_EQ(reduction->factor, double{0.1f}) << "state " << state;
        EXPECT_TRUE(free_user_op(&op).is_ok());
    }
}

// inout = in + 10 * inout: tells the order of its operands.
void in_order(const void* in, void* inout, std::size_t count, weft_type type, void* context) {
    EXPECT_EQ(type, WEFT_INT32);
    ++*static_cast<int*>(context);
    const auto* a = static_cast<const std::int32_t*>(in);
    auto* b = static_cast<std::int32_t*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = a[i] + 10 * b[i];
}

TEST(Reduce, UserOperationsKeepTheirOperandsInOrder) {
    int calls = 0;
    for (bool commutative : {false, true}) {
        weft_op op = WEFT_OP_NULL;
        ASSERT_TRUE(create_user_op(in_order, commutative, &calls, &op).is_ok());
        EXPECT_STREQ(op_name(op), "user");
        Reduction reduction = bound(op, WEFT_INT32);
        EXPECT_EQ(reduction.commutative, commutative);
        // The binding outlives the handle.
        ASSERT_TRUE(free_user_op(&op).is_ok());
        EXPECT_EQ(op, WEFT_OP_NULL);
        std::int32_t from[] = {1, 2};
        std::int32_t into[] = {3, 4};
        reduction.apply(from, into, sizeof into);
        EXPECT_EQ(into[0], 31);
        EXPECT_EQ(into[1], 42);
        reduction.apply_right(from, into, sizeof into);
        EXPECT_EQ(into[0], 31 + 10 * 1);
        EXPECT_EQ(into[1], 42 + 10 * 2);
    }
    EXPECT_EQ(calls, 4);
}

TEST(Reduce, FreedHandlesAreRecognised) {
    int calls = 0;
    weft_op op = WEFT_OP_NULL;
    ASSERT_TRUE(create_user_op(in_order, true, &calls, &op).is_ok());
    weft_op old = op;
    ASSERT_TRUE(free_user_op(&op).is_ok());
    weft_op next = WEFT_OP_NULL;
    ASSERT_TRUE(create_user_op(in_order, true, &calls, &next).is_ok());
    EXPECT_NE(next, old);
    EXPECT_EQ(bind_reduction(old, WEFT_INT32).status().code, WEFT_REFUSED_HANDLE);
    EXPECT_NE(std::strstr(last_detail(), "was freed"), nullptr) << last_detail();
    EXPECT_EQ(free_user_op(&old).code, WEFT_REFUSED_HANDLE);
    EXPECT_TRUE(bind_reduction(next, WEFT_INT32).is_ok());
    ASSERT_TRUE(free_user_op(&next).is_ok());
}

TEST(Reduce, MisuseOfHandlesIsRefused) {
    weft_op op = WEFT_SUM;
    EXPECT_EQ(free_user_op(&op).code, WEFT_REFUSED_HANDLE);
    EXPECT_EQ(op, WEFT_SUM);
    op = WEFT_OP_NULL;
    EXPECT_EQ(free_user_op(&op).code, WEFT_REFUSED_HANDLE);
    EXPECT_EQ(free_user_op(nullptr).code, WEFT_REFUSED_HANDLE);
    op = reinterpret_cast<weft_op>(std::uintptr_t{12345678});
    EXPECT_EQ(bind_reduction(op, WEFT_INT32).status().code, WEFT_REFUSED_HANDLE);
    EXPECT_EQ(create_user_op(nullptr, true, nullptr, &op).code, WEFT_REFUSED_ARGUMENT);
    EXPECT_EQ(create_user_op(in_order, true, nullptr, nullptr).code, WEFT_REFUSED_ARGUMENT);
}

TEST(Reduce, OnlyUserDefinedOperationsCombineOpaqueElements) {
    for (const std::size_t bytes : {1, 3, 24, 1000, WEFT_OPAQUE_MAX}) {
        const weft_type type = WEFT_OPAQUE(bytes);
        EXPECT_EQ(type_bytes(type), bytes);
        EXPECT_EQ(type_name(type), "opaque(" + std::to_string(bytes) + ")");
        EXPECT_EQ(bytes % type_alignment(type), 0u);
        for (int op = 1; op < predefined_op_count; ++op) {
            const auto handle = reinterpret_cast<weft_op>(static_cast<std::uintptr_t>(op));
            EXPECT_EQ(bind_reduction(handle, type).status().code, WEFT_REFUSED_ARGUMENT);
        }
        weft_op own = WEFT_OP_NULL;
        ASSERT_TRUE(create_user_op([](const void*, void*, std::size_t, weft_type, void*) {}, true,
                                   nullptr, &own)
                        .is_ok());
        Result<Reduction> bound = bind_reduction(own, type);
        ASSERT_TRUE(bound.is_ok());
        EXPECT_EQ(bound->element_bytes, bytes);
        EXPECT_EQ(bound->kernel, nullptr);
        EXPECT_TRUE(free_user_op(&own).is_ok());
    }
    EXPECT_EQ(type_alignment(WEFT_OPAQUE(3)), 1u);
    EXPECT_EQ(type_alignment(WEFT_OPAQUE(24)), 8u);
    EXPECT_EQ(type_alignment(WEFT_OPAQUE(64)), 16u);
    for (const int bytes : {0, -1, WEFT_OPAQUE_MAX + 1, 0x40000000}) {
        EXPECT_EQ(type_bytes(WEFT_OPAQUE(bytes)), 0u);
        EXPECT_EQ(type_name(WEFT_OPAQUE(bytes)), "?");
    }
    EXPECT_EQ(type_bytes(static_cast<weft_type>(INT_MIN)), 0u);
}

// --- The state of floating-point arithmetic ------------------------------------------------------

// Operands whose sums and products are rounded, subnormal, infinite or no numbers.
template <class T>
std::vector<T> delicate() {
    using Limits = std::numeric_limits<T>;
    const std::vector<T> some = {1,
                                 -1,
                                 T{1} / 3,
                                 Limits::epsilon() / 4,
                                 -Limits::epsilon() / 4,
                                 Limits::denorm_min(),
                                 3 * Limits::denorm_min(),
                                 -Limits::denorm_min(),
                                 Limits::min() * T{1.5},
                                 0,
                                 -T{0},
                                 Limits::max(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::signaling_NaN()};
    return some;
}

// Every operand with every other, by one call, and one by one.
template <class T>
std::vector<T> combined_in_state(const Reduction& reduction, int state, bool from_right) {
    const std::vector<T> operands = delicate<T>();
    std::vector<T> from;
    std::vector<T> into;
    for (const T& left : operands) {
        for (const T& right : operands) {
            from.push_back(left);
            into.push_back(right);
        }
    }
    std::vector<T> from_one = from;
    std::vector<T> into_one = into;
    const std::size_t bytes = into.size() * sizeof(T);
    set_float_state(state);
    const FloatState before = float_state();
    if (from_right)
        reduction.apply_right(from.data(), into.data(), bytes);
    else
        reduction.apply(from.data(), into.data(), bytes);
    for (std::size_t i = 0; i < into_one.size(); ++i) {
        if (from_right)
            reduction.apply_right(&from_one[i], &into_one[i], sizeof(T));
        else
            reduction.apply(&from_one[i], &into_one[i], sizeof(T));
    }
    const FloatState after = float_state();
    set_float_state(0);
    EXPECT_EQ(before, after) << "state " << state << " is not as before";
    into.insert(into.end(), into_one.begin(), into_one.end());
    return into;
}

template <class T>
void expect_equal_in_all_states(const Reduction& reduction, const std::string& name) {
    for (const bool from_right : {false, true}) {
        const std::vector<T> expected = combined_in_state<T>(reduction, 0, from_right);
        for (int state = 1; state < float_states; ++state) {
            const std::vector<T> got = combined_in_state<T>(reduction, state, from_right);
            for (std::size_t i = 0; i < got.size(); ++i) {
                EXPECT_EQ(std::memcmp(&got[i], &expected[i], sizeof(T)), 0)
                    << name << " number " << i << " is " << got[i] << " in state " << state
                    << "; expected " << expected[i];
            }
        }
    }
}

TEST(Reduce, DoesNotDependOnTheStateOfFloatingPointArithmetic) {
    for (weft_op op : {WEFT_SUM, WEFT_PROD, WEFT_MIN, WEFT_MAX}) {
        expect_equal_in_all_states<float>(bound(op, WEFT_FLOAT32), op_name(op));
        expect_equal_in_all_states<double>(bound(op, WEFT_FLOAT64), op_name(op));
    }
    EXPECT_EQ(combined(WEFT_SUM, WEFT_FLOAT64, 1.0, 0x1p-60), 1.0);
}

// The rounding is that of the thread that binds, whichever thread combines.
TEST(Reduce, RoundsAsWhereItWasBound) {
    const double above = std::nextafter(1.0, 2.0);
    const double below = std::nextafter(1.0, 0.0);
    for (int state = 0; state < float_states; ++state) {
        set_float_state(state);
        const Reduction sum = bound(WEFT_SUM, WEFT_FLOAT64);
        for (int other = 0; other < float_states; ++other) {
            double more = 1;
            double less = 1;
            const double little[] = {0x1p-60, -0x1p-60};
            set_float_state(other);
            sum.apply(&little[0], &more, sizeof more);
            sum.apply(&little[1], &less, sizeof less);
            set_float_state(0);
            EXPECT_EQ(more, state == 1 ? above : 1) << "bound in " << state << ", in " << other;
            EXPECT_EQ(less, state == 2 || state == 3 ? below : 1)
                << "bound in " << state << ", in " << other;
        }
    }
}

template <class T>
void expect_subnormal_values_located(weft_type type) {
    struct Pair {
        T value;
        std::int32_t index;
    };
    const T least = std::numeric_limits<T>::denorm_min();
    for (int state = 0; state < float_states; ++state) {
        for (const bool is_max : {false, true}) {
            const Pair from = {is_max ? 2 * least : least, 7};
            Pair into = {is_max ? least : 2 * least, 3};
            set_float_state(state);
            bound(is_max ? WEFT_MAXLOC : WEFT_MINLOC, type).apply(&from, &into, sizeof into);
            set_float_state(0);
            EXPECT_EQ(into.index, 7) << "state " << state;
        }
    }
}

TEST(Reduce, LocatesSubnormalValuesInEveryState) {
    expect_subnormal_values_located<float>(WEFT_FLOAT32_INT32);
    expect_subnormal_values_located<double>(WEFT_FLOAT64_INT32);
}

// As the program's functions do it.
template <class T>
void add_products(const void* in, void* inout, std::size_t count, weft_type, void*) {
    const T* const from = static_cast<const T*>(in);
    T* const into = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) into[i] = from[i] * T{1.5} + into[i] / T{3};
}

struct Seen {
    FloatState state;
    int round = -1;
    int traps = -1;
    bool is_right = false;
};

// What it sees, and then it leaves another state.
void look_around(const void*, void* inout, std::size_t, weft_type, void* context) {
    Seen& seen = *static_cast<Seen*>(context);
    seen.state = float_state();
    seen.round = fegetround();
    seen.traps = fegetexcept();
    volatile long double third = 1;
    third = third / 3;
    volatile double least = std::numeric_limits<double>::denorm_min();
    volatile double none = 0;
    seen.is_right = third == 1.0L / 3 && least * 1 != 0 && std::isnan(none / none);
    std::memset(inout, 0, sizeof(double));
    fesetround(FE_TOWARDZERO);
    feraiseexcept(FE_ALL_EXCEPT);
}

TEST(Reduce, CallsTheProgramsFunctionsInTheDefaultState) {
    weft_op op = WEFT_OP_NULL;
    ASSERT_TRUE(create_user_op(add_products<float>, true, nullptr, &op).is_ok());
    expect_equal_in_all_states<float>(bound(op, WEFT_FLOAT32), "a function");
    EXPECT_TRUE(free_user_op(&op).is_ok());
    ASSERT_TRUE(create_user_op(add_products<long double>, true, nullptr, &op).is_ok());
    const Reduction of_long_double = bound(op, WEFT_OPAQUE(sizeof(long double)));
    long double expected = 1;
    const long double third = 1.0L / 3;
    of_long_double.apply(&third, &expected, sizeof expected);
    for (int state = 1; state < float_states; ++state) {
        long double got = 1;
        set_float_state(state);
        const FloatState before = float_state();
        of_long_double.apply(&third, &got, sizeof got);
        const FloatState after = float_state();
        set_float_state(0);
        EXPECT_EQ(got, expected) << "state " << state;
        EXPECT_EQ(before, after) << "state " << state << " is not as before";
    }
    EXPECT_TRUE(free_user_op(&op).is_ok());
}

TEST(Reduce, KeepsTheStateThatAFunctionLeavesFromTheProgram) {
    Seen seen;
    weft_op op = WEFT_OP_NULL;
    ASSERT_TRUE(create_user_op(look_around, true, &seen, &op).is_ok());
    const Reduction reduction = bound(op, WEFT_FLOAT64);
    for (int state = 0; state < float_states; ++state) {
        for (const int raised : {0, FE_INEXACT, FE_ALL_EXCEPT}) {
            if (state == 5 && raised == FE_ALL_EXCEPT) continue;  // that would trap
            double from = 1;
            double into = 2;
            seen = {};
            set_float_state(state);
            feraiseexcept(raised);
            const FloatState before = float_state();
            reduction.apply(&from, &into, sizeof into);
            const FloatState after = float_state();
            set_float_state(0);
            EXPECT_EQ(before, after) << "state " << state << " is not as before";
            EXPECT_EQ(seen.round, FE_TONEAREST) << "state " << state;
            EXPECT_EQ(seen.traps, 0) << "state " << state;
            EXPECT_TRUE(seen.is_right) << "state " << state;
        }
    }
    EXPECT_TRUE(free_user_op(&op).is_ok());
}

}  // namespace weft::reduce_test
