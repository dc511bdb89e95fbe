#include "mpi_dropin/part/datatypes.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "mpi_dropin/part/handle_map.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

// `character`: bytes that an MPI may combine as numbers.
enum class ElementKind {
    bytes,
    character,
    signed_integer,
    unsigned_integer,
    floating,
    complex_number,
    pair
};

struct Predefined {
    MPI_Datatype handle;
    ElementKind kind;
    weft_type pair = WEFT_BYTE;
};

// Those that Weft does not have.
struct OwnType {
    MPI_Datatype handle;
    OwnElement element;
    MPI_Count size;  // of a packed element
};

auto& known = lasting<HandleMap<MPI_Datatype, TypeFacts>>();
MPI_Comm packing = MPI_COMM_NULL;  // of this process alone; errors return

// As which numbers the MPI combines a type of one byte.
weft_type element_of_character(MPI_Datatype type) {
    const std::byte all_ones{0xff};
    std::byte largest{0x01};
    // MPICH's MPI_Reduce_local does not check its arguments.
    if (mpi.Allreduce(&all_ones, &largest, 1, type, MPI_MAX, packing) != MPI_SUCCESS)
        return WEFT_BYTE;
    largest = std::byte{0x01};
    mpi.Reduce_local(&all_ones, &largest, 1, type, MPI_MAX);
    return largest == all_ones ? WEFT_UINT8 : WEFT_INT8;
}

std::optional<weft_type> element_of(const Predefined& type, TypeFacts& facts) {
    const MPI_Count size = facts.size;
    static constexpr weft_type of_size[][4] = {{WEFT_INT8, WEFT_INT16, WEFT_INT32, WEFT_INT64},
                                               {WEFT_UINT8, WEFT_UINT16, WEFT_UINT32, WEFT_UINT64}};
    switch (type.kind) {
        case ElementKind::bytes: return WEFT_BYTE;
        case ElementKind::character: return element_of_character(facts.handle);
        case ElementKind::pair: return type.pair;
        case ElementKind::floating:
            if (size == 4) return WEFT_FLOAT32;
            if (size == 8) return WEFT_FLOAT64;
            return std::nullopt;
        case ElementKind::complex_number:
            if (size == 8) return WEFT_COMPLEX64;
            if (size == 16) return WEFT_COMPLEX128;
            return std::nullopt;
        case ElementKind::signed_integer:
        case ElementKind::unsigned_integer:
            for (int log = 0; log < 4; ++log) {
                if (size == MPI_Count{1} << log)
                    return of_size[type.kind == ElementKind::unsigned_integer][log];
            }
    }
    return std::nullopt;
}

// The MPI's older functions count in int: at most this many bytes at a time.
constexpr MPI_Count bytes_at_once = MPI_Count{1} << 30;

MPI_Count elements_at_once(const TypeFacts& type) {
    return std::max<MPI_Count>(1, bytes_at_once / std::max<MPI_Count>(1, type.size));
}

bool is_committed(MPI_Datatype type) {
    int position = 0;
    std::byte nothing{};
    return mpi.Pack(&nothing, 0, type, &nothing, 0, &position, packing) == MPI_SUCCESS;
}

// Whether packing one element copies its bytes in memory order. The element is packed several
// times; each time its bytes hold another digit of their position. Nothing: it cannot be packed.
std::optional<bool> keeps_order(const TypeFacts& facts) {
    constexpr MPI_Count bytes_max = MPI_Count{1} << 20;
    if (facts.size > bytes_max) return false;
    const auto size = static_cast<std::size_t>(facts.size);
    std::vector<std::byte> element(size), packed(size);
    for (int shift = 0; shift == 0 || (size - 1) >> shift != 0; shift += 8) {
        for (std::size_t i = 0; i < size; ++i) element[i] = static_cast<std::byte>(i >> shift);
        if (pack(moved(element.data(), -facts.true_lb), 1, facts, packed.data()) != MPI_SUCCESS) {
            return std::nullopt;
        }
        if (packed != element) return false;
    }
    return true;
}

// How a type was made, and from which type if it is a duplicate or a contiguous one. A type that
// was made by a large-count function may be queried only by one.
int combiner_of(MPI_Datatype type, MPI_Datatype* inner) {
    int combiner = MPI_UNDEFINED;
    const auto has_one = [&] {
        return combiner == MPI_COMBINER_DUP || combiner == MPI_COMBINER_CONTIGUOUS;
    };
    if (mpi.Type_get_envelope_c && mpi.Type_get_contents_c) {
        MPI_Count integers = 0, addresses = 0, counts = 0, types = 0, count = 0;
        mpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
        int integer = 0;
        MPI_Aint address = 0;
        if (inner && has_one()) {
            mpi.Type_get_contents_c(type, integers, addresses, counts, types, &integer, &address,
                                    &count, inner);
        }
        return combiner;
    }
    int integers = 0, addresses = 0, types = 0, integer = 0;
    MPI_Aint address = 0;
    mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (inner && has_one()) {
        mpi.Type_get_contents(type, integers, addresses, types, &integer, &address, inner);
    }
    return combiner;
}

// Whether a type consists of contiguous predefined elements, so that its order need not be tested.
bool is_contiguous(MPI_Datatype type) {
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    if (combiner_of(type, &inner) == MPI_COMBINER_NAMED) return true;
    if (inner == MPI_DATATYPE_NULL) return false;
    const bool is_so = is_contiguous(inner);
    if (combiner_of(inner, nullptr) != MPI_COMBINER_NAMED) mpi.Type_free(&inner);  // ours
    return is_so;
}

TypeFacts* add(MPI_Datatype type, std::unique_ptr<TypeFacts> facts) {
    const Exclusive exclusive;
    if (TypeFacts* found = known.find(type)) return found;
    known.add(type, facts.get());
    return facts.release();
}

std::unique_ptr<TypeFacts> look_at(MPI_Datatype type) {
    auto facts = std::make_unique<TypeFacts>();
    facts->handle = type;
    MPI_Aint lb = 0, extent = 0;
    if (mpi.Type_size_x(type, &facts->size) != MPI_SUCCESS ||
        mpi.Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        mpi.Type_get_true_extent_x(type, &facts->true_lb, &facts->span) != MPI_SUCCESS) {
        return nullptr;
    }
    facts->extent = extent;
    facts->is_plain = facts->size == facts->span && facts->size == facts->extent && facts->size > 0;
    return facts;
}

}  // namespace

TypeFacts* facts_of(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return nullptr;
    {
        const Exclusive exclusive;
        if (TypeFacts* found = known.find(type)) return found;
    }
    std::unique_ptr<TypeFacts> facts = look_at(type);
    if (!facts || !is_committed(type)) return nullptr;
    if (facts->is_plain && !is_contiguous(type)) {
        const std::optional<bool> kept = keeps_order(*facts);
        if (!kept) return nullptr;
        facts->is_plain = *kept;
    }
    if (!facts->is_plain && facts->size > bytes_at_once && !mpi.Pack_c) return nullptr;
    return add(type, std::move(facts));
}

WrongArguments refusal_of(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL || !is_committed(type))
        return {MPI_ERR_TYPE, "a datatype that is null or not committed"};
    WrongArguments left{MPI_ERR_TYPE, "a datatype that the MPI cannot pack"};
    left.is_left = true;
    return left;
}

void keep(TypeFacts& facts) {
    const Exclusive exclusive;
    ++facts.users;
}

void release(TypeFacts& facts) {
    MPI_Datatype freed = MPI_DATATYPE_NULL;
    {
        const Exclusive exclusive;
        if (--facts.users > 0 || !facts.is_freed) return;
        freed = facts.handle;
        known.remove(freed);
    }
    delete &facts;
    mpi.Type_free(&freed);
}

int free_type(MPI_Datatype* type) {
    TypeFacts* forgotten = nullptr;
    {
        const Exclusive exclusive;
        TypeFacts* facts = known.find(*type);
        if (facts && !facts->element) {
            if (facts->users > 0) {
                facts->is_freed = true;
                *type = MPI_DATATYPE_NULL;
                return MPI_SUCCESS;
            }
            known.remove(*type);
            forgotten = facts;
        }
    }
    delete forgotten;
    return mpi.Type_free(type);
}

namespace {

void learn(const Predefined& type) {
    if (type.handle == MPI_DATATYPE_NULL) return;
    std::unique_ptr<TypeFacts> facts = look_at(type.handle);
    if (!facts || facts->size <= 0) return;
    facts->element = element_of(type, *facts);
    if (type.kind == ElementKind::pair &&
        static_cast<std::size_t>(facts->extent) != weft_type_size(*facts->element)) {
        facts->element.reset();
    }
    if (facts->element) add(type.handle, std::move(facts));
}

void learn(const OwnType& type) {
    if (type.handle == MPI_DATATYPE_NULL) return;
    std::unique_ptr<TypeFacts> facts = look_at(type.handle);
    if (!facts || facts->size != type.size) return;
    facts->own_element = type.element;
    add(type.handle, std::move(facts));
}

}  // namespace

MPI_Comm comm_alone() { return packing; }

int learn_predefined_types() {
    if (const int error = mpi.Comm_dup(MPI_COMM_SELF, &packing)) return error;
    mpi.Comm_set_errhandler(packing, MPI_ERRORS_RETURN);
    const Predefined types[] = {
        {MPI_BYTE, ElementKind::character},
        {MPI_PACKED, ElementKind::bytes},
        // Not for reductions in the standard, but in MPIs.
        {MPI_CHAR, ElementKind::character},
        {MPI_CHARACTER, ElementKind::character},
        {MPI_SIGNED_CHAR, ElementKind::signed_integer},
        {MPI_SHORT, ElementKind::signed_integer},
        {MPI_INT, ElementKind::signed_integer},
        {MPI_LONG, ElementKind::signed_integer},
        {MPI_LONG_LONG, ElementKind::signed_integer},
        {MPI_INT8_T, ElementKind::signed_integer},
        {MPI_INT16_T, ElementKind::signed_integer},
        {MPI_INT32_T, ElementKind::signed_integer},
        {MPI_INT64_T, ElementKind::signed_integer},
        {MPI_AINT, ElementKind::signed_integer},
        {MPI_COUNT, ElementKind::signed_integer},
        {MPI_OFFSET, ElementKind::signed_integer},
        {MPI_UNSIGNED_CHAR, ElementKind::unsigned_integer},
        {MPI_UNSIGNED_SHORT, ElementKind::unsigned_integer},
        {MPI_UNSIGNED, ElementKind::unsigned_integer},
        {MPI_UNSIGNED_LONG, ElementKind::unsigned_integer},
        {MPI_UNSIGNED_LONG_LONG, ElementKind::unsigned_integer},
        {MPI_UINT8_T, ElementKind::unsigned_integer},
        {MPI_UINT16_T, ElementKind::unsigned_integer},
        {MPI_UINT32_T, ElementKind::unsigned_integer},
        {MPI_UINT64_T, ElementKind::unsigned_integer},
        {MPI_C_BOOL, ElementKind::unsigned_integer},
        {MPI_CXX_BOOL, ElementKind::unsigned_integer},
        {MPI_FLOAT, ElementKind::floating},
        {MPI_DOUBLE, ElementKind::floating},
        {MPI_C_FLOAT_COMPLEX, ElementKind::complex_number},
        {MPI_C_DOUBLE_COMPLEX, ElementKind::complex_number},
        {MPI_CXX_FLOAT_COMPLEX, ElementKind::complex_number},
        {MPI_CXX_DOUBLE_COMPLEX, ElementKind::complex_number},
        {MPI_FLOAT_INT, ElementKind::pair, WEFT_FLOAT32_INT32},
        {MPI_DOUBLE_INT, ElementKind::pair, WEFT_FLOAT64_INT32},
        {MPI_LONG_INT, ElementKind::pair, WEFT_INT64_INT32},
        {MPI_2INT, ElementKind::pair, WEFT_INT32_INT32},
        // Fortran's, where the MPI was built with it.
        {MPI_INTEGER, ElementKind::signed_integer},
        {MPI_INTEGER1, ElementKind::signed_integer},
        {MPI_INTEGER2, ElementKind::signed_integer},
        {MPI_INTEGER4, ElementKind::signed_integer},
        {MPI_INTEGER8, ElementKind::signed_integer},
        {MPI_REAL, ElementKind::floating},
        {MPI_REAL4, ElementKind::floating},
        {MPI_REAL8, ElementKind::floating},
        {MPI_DOUBLE_PRECISION, ElementKind::floating},
        {MPI_COMPLEX, ElementKind::complex_number},
        {MPI_DOUBLE_COMPLEX, ElementKind::complex_number},
        {MPI_2INTEGER, ElementKind::pair, WEFT_INT32_INT32},
    };
    for (const Predefined& type : types) learn(type);
    constexpr MPI_Count long_double = sizeof(long double);
    const OwnType own_types[] = {
        {MPI_LONG_DOUBLE, OwnElement::long_double, long_double},
        {MPI_C_LONG_DOUBLE_COMPLEX, OwnElement::long_double_complex, 2 * long_double},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, OwnElement::long_double_complex, 2 * long_double},
        {MPI_SHORT_INT, OwnElement::short_int, sizeof(short) + sizeof(int)},
        {MPI_LONG_DOUBLE_INT, OwnElement::long_double_int, long_double + sizeof(int)},
    };
    for (const OwnType& type : own_types) learn(type);
    return MPI_SUCCESS;
}

void forget_types() {
    if (packing != MPI_COMM_NULL) mpi.Comm_disconnect(&packing);
    std::vector<TypeFacts*> all;
    known.for_each([&](TypeFacts& facts) { all.push_back(&facts); });
    for (TypeFacts* facts : all) {
        known.remove(facts->handle);
        delete facts;
    }
}

// `type` at a base address that is not null: MPICH refuses to pack from, and to unpack to,
// MPI_BOTTOM.
class Moved {
  public:
    Moved(void* at, MPI_Count count, const TypeFacts& type)
        : at_(at), count_(static_cast<int>(count)), type_(type.handle) {
        if (at != MPI_BOTTOM) return;
        at_ = this;
        const MPI_Aint back = -reinterpret_cast<MPI_Aint>(at_);
        mpi.Type_create_hindexed(1, &count_, &back, type.handle, &type_);
        mpi.Type_commit(&type_);
        count_ = 1;
        is_own_ = true;
    }
    ~Moved() {
        if (is_own_) mpi.Type_free(&type_);
    }
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;

    void* at() const { return at_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    void* at_;
    int count_;
    MPI_Datatype type_;
    bool is_own_ = false;
};

// Calls `copy(there, packed, bytes)` for parts of `count` elements that the MPI's functions can
// count: their place in the program's memory, and in the buffer without gaps. The first error.
template <typename Byte, typename Copy>
static int for_parts(void* at, Byte* packed, MPI_Count count, const TypeFacts& type, Copy copy) {
    const MPI_Count at_once = elements_at_once(type);
    while (count > 0) {
        const MPI_Count now = std::min(count, at_once), bytes = now * type.size;
        const int error = copy(Moved(at, now, type), packed, bytes);
        if (error != MPI_SUCCESS) return error;
        at = moved(at, now * type.extent);
        packed += bytes;
        count -= now;
    }
    return MPI_SUCCESS;
}

int pack(const void* from, MPI_Count count, const TypeFacts& type, std::byte* into) {
    return for_parts(const_cast<void*>(from), into, count, type,
                     [](const Moved& there, std::byte* packed, MPI_Count bytes) {
                         MPI_Count wide_position = 0;
                         int position = 0;
                         return bytes <= bytes_at_once
                                    ? mpi.Pack(there.at(), there.count(), there.type(), packed,
                                               static_cast<int>(bytes), &position, packing)
                                    : mpi.Pack_c(there.at(), there.count(), there.type(), packed,
                                                 bytes, &wide_position, packing);
                     });
}

int unpack(const std::byte* from, void* into, MPI_Count count, const TypeFacts& type) {
    return for_parts(into, from, count, type,
                     [](const Moved& there, const std::byte* packed, MPI_Count bytes) {
                         MPI_Count wide_position = 0;
                         int position = 0;
                         return bytes <= bytes_at_once
                                    ? mpi.Unpack(packed, static_cast<int>(bytes), &position,
                                                 there.at(), there.count(), there.type(), packing)
                                    : mpi.Unpack_c(packed, bytes, &wide_position, there.at(),
                                                   there.count(), there.type(), packing);
                     });
}

struct CombiningByMpi {
    MPI_Op op = MPI_OP_NULL;
    TypeFacts* type = nullptr;
    weft_op weft = WEFT_OP_NULL;
    std::atomic<int> error{MPI_SUCCESS};  // the first one that the MPI returned
};

namespace {

struct OpUse {
    int users = 0;
    bool is_freed = false;  // by the program
};
auto& used = lasting<HandleMap<MPI_Op, OpUse>>();

void keep_first(CombiningByMpi& combining, int error) {
    int none = MPI_SUCCESS;
    if (error != MPI_SUCCESS) combining.error.compare_exchange_strong(none, error);
}

// inout = in (op) inout; `count` fits into an int.
void combine_some(CombiningByMpi& combining, const void* in, void* inout, std::size_t count) {
    const TypeFacts& type = *combining.type;
    const auto elements = static_cast<int>(count);
    if (type.is_plain) {
        keep_first(combining,
                   mpi.Reduce_local(moved(in, -type.true_lb), moved(inout, -type.true_lb), elements,
                                    type.handle, combining.op));
        return;
    }
    // The operation expects elements with their gaps.
    const auto stride = static_cast<std::size_t>(type.extent < 0 ? -type.extent : type.extent);
    const std::size_t bytes = stride * (count + 1) + static_cast<std::size_t>(type.span);
    const std::unique_ptr<std::byte[]> left(new (std::nothrow) std::byte[2 * bytes]);
    if (!left) return keep_first(combining, MPI_ERR_NO_MEM);
    std::byte* const from =
        moved(left.get() + (type.extent < 0 ? stride * count : 0), -type.true_lb);
    std::byte* const into = moved(from, static_cast<MPI_Count>(bytes));
    const auto number = static_cast<MPI_Count>(count);
    keep_first(combining, unpack(static_cast<const std::byte*>(in), from, number, type));
    keep_first(combining, unpack(static_cast<const std::byte*>(inout), into, number, type));
    keep_first(combining, mpi.Reduce_local(from, into, elements, type.handle, combining.op));
    keep_first(combining, pack(into, number, type, static_cast<std::byte*>(inout)));
}

// Weft calls it.
void combine(const void* in, void* inout, std::size_t count, weft_type, void* context) {
    constexpr std::size_t at_once = std::size_t{1} << 20;
    CombiningByMpi& combining = *static_cast<CombiningByMpi*>(context);
    for (std::size_t from = 0; from < count; from += at_once) {
        const auto bytes = static_cast<MPI_Count>(from) * combining.type->size;
        combine_some(combining, moved(in, bytes), moved(inout, bytes),
                     std::min(at_once, count - from));
    }
}

}  // namespace

namespace {

const struct {
    MPI_Op mpi;
    weft_op weft;
} predefined[] = {{MPI_SUM, WEFT_SUM},   {MPI_MAX, WEFT_MAX},       {MPI_MIN, WEFT_MIN},
                  {MPI_PROD, WEFT_PROD}, {MPI_LAND, WEFT_LAND},     {MPI_LOR, WEFT_LOR},
                  {MPI_LXOR, WEFT_LXOR}, {MPI_BAND, WEFT_BAND},     {MPI_BOR, WEFT_BOR},
                  {MPI_BXOR, WEFT_BXOR}, {MPI_MINLOC, WEFT_MINLOC}, {MPI_MAXLOC, WEFT_MAXLOC}};

int bit_of(weft_op op) { return 1 << reinterpret_cast<std::uintptr_t>(op); }

// Tries which of these the MPI combines a type by: a bit for each. Some MPIs go beyond the
// standard.
int ops_of_mpi(const TypeFacts& type) {
    alignas(std::max_align_t) std::byte in[64] = {}, out[64];
    constexpr MPI_Count most = sizeof in;
    if (type.size > most || type.extent > most || type.extent < 0 || type.true_lb != 0) return 0;
    static std::mutex one_at_a_time;  // on one communicator
    const std::lock_guard lock(one_at_a_time);
    int ops = 0;
    for (const auto& known : predefined) {
        // MPICH's MPI_Reduce_local does not check its arguments.
        if (mpi.Allreduce(in, out, 1, type.handle, known.mpi, comm_alone()) == MPI_SUCCESS)
            ops |= bit_of(known.weft);
    }
    return ops;
}

}  // namespace

weft_op predefined_op(MPI_Op op) {
    for (const auto& known : predefined) {
        if (known.mpi == op) return known.weft;
    }
    return WEFT_OP_NULL;
}

bool has_loop(weft_op op, weft_type type) {
    const bool is_bitwise = op == WEFT_BAND || op == WEFT_BOR || op == WEFT_BXOR;
    const bool is_location = op == WEFT_MINLOC || op == WEFT_MAXLOC;
    const bool is_arithmetic =
        op == WEFT_SUM || op == WEFT_PROD || op == WEFT_MIN || op == WEFT_MAX;
    if (type == WEFT_BYTE) return is_bitwise;
    // An MPI's products follow C's, which has special cases for infinities.
    if (type == WEFT_COMPLEX64 || type == WEFT_COMPLEX128) return op == WEFT_SUM;
    if (type >= WEFT_FLOAT32_INT32) return is_location;
    if (type >= WEFT_FLOAT32) return is_arithmetic;
    return !is_location;
}

bool has_own_loop(MPI_Op op, const TypeFacts& type) {
    return own_loop(predefined_op(op), type.own_element) != nullptr;
}

CombiningByMpi* combining(MPI_Op op, TypeFacts& type) {
    int commutes = 0;
    if (mpi.Op_commutative(op, &commutes) != MPI_SUCCESS) return nullptr;
    auto combining = std::make_unique<CombiningByMpi>();
    combining->op = op;
    combining->type = &type;
    const weft_op_function own = own_loop(predefined_op(op), type.own_element);
    const auto create =
        own || Exclusive::has_several_threads ? weft_op_create : weft_op_create_confined;
    if (create(own ? own : combine, commutes, combining.get(), &combining->weft) != WEFT_OK)
        throw std::bad_alloc();
    keep(type);
    const Exclusive exclusive;
    OpUse* use = used.find(op);
    if (!use) used.add(op, use = new OpUse);
    ++use->users;
    return combining.release();
}

weft_op op_of(const CombiningByMpi& combining) { return combining.weft; }

int error_of(const CombiningByMpi& combining) { return combining.error.load(); }

bool is_defined(MPI_Op op, TypeFacts& type) {
    const weft_op known = predefined_op(op);
    if (!known) return op != MPI_REPLACE && op != MPI_NO_OP;
    if (type.ops < 0) type.ops = ops_of_mpi(type);
    return (type.ops & bit_of(known)) != 0;
}

void forget(CombiningByMpi* combining) {
    if (!combining) return;
    const std::unique_ptr<CombiningByMpi> owner(combining);
    weft_op_free(&combining->weft);
    release(*combining->type);
    {
        const Exclusive exclusive;
        OpUse* const use = used.find(combining->op);
        if (--use->users > 0) return;
        used.remove(combining->op);
        const bool is_freed = use->is_freed;
        delete use;
        if (!is_freed) return;
    }
    mpi.Op_free(&combining->op);
}

int free_op(MPI_Op* op) {
    {
        const Exclusive exclusive;
        if (OpUse* const use = used.find(*op)) {
            use->is_freed = true;
            *op = MPI_OP_NULL;
            return MPI_SUCCESS;
        }
    }
    return mpi.Op_free(op);
}

}  // namespace weft::dropin
