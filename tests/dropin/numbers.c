/* Types and operations of reductions, and their expected results: small integers, which every type holds exactly. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

enum {
    SIGNED,
    UNSIGNED,
    REAL,
    COMPLEX,
    TRUTH,
    FORTRAN_TRUTH,
    OCTETS,
    PAIR_OF_REAL,
    PAIR_OF_WHOLE,
    AFFINE_KIND
};

const char* const operation_names[OPERATIONS] = {
    "sum", "prod", "max",    "min",    "land",     "lor",        "lxor",       "band",
    "bor", "bxor", "maxloc", "minloc", "user sum", "user first", "user affine"};

#define PAIR(NAME, FIRST) \
    typedef struct {      \
        FIRST value;      \
        int at;           \
    } NAME
PAIR(FloatInt, float);
PAIR(DoubleInt, double);
PAIR(LongInt, long);
PAIR(ShortInt, short);
PAIR(TwoInt, int);
PAIR(LongDoubleInt, long double);

static Number table[64];
static int entries = -1;

static void add(const char* name, MPI_Datatype type, int kind, long extent) {
    int bytes = 0;
    if (type == MPI_DATATYPE_NULL) return;
    MPI_Type_size(type, &bytes);
    if (bytes == 0) return; /* Fortran's, of an MPI without Fortran */
    table[entries].name = name;
    table[entries].type = type;
    table[entries].kind = kind;
    table[entries].extent = extent ? extent : bytes;
    ++entries;
}

/* A pair of 32-bit numbers that stands for a map x -> a x + b, in three layouts. Nobody frees their types before MPI is
   finalized, as in many programs. */
static void add_affine(void) {
    static const long places[3][3] = {{0, 4, 8}, {0, 8, 16}, {-4, 4, 12}};
    static const char* const names[] = {"affine contiguous", "affine with gaps",
                                        "affine with a negative bound"};
    int i;
    for (i = 0; i < 3; ++i) {
        MPI_Datatype bare, type;
        int lengths[2] = {1, 1};
        MPI_Aint at[2];
        at[0] = places[i][0];
        at[1] = places[i][1];
        MPI_Type_create_hindexed(2, lengths, at, MPI_UINT32_T, &bare);
        MPI_Type_create_resized(bare, places[i][0], places[i][2], &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&bare);
        add(names[i], type, AFFINE_KIND, places[i][2]);
        table[entries - 1].part[0] = places[i][0];
        table[entries - 1].part[1] = places[i][1];
    }
}

static void fill_table(void) {
    entries = 0;
    add("int", MPI_INT, SIGNED, 0);
    add("double", MPI_DOUBLE, REAL, 0);
    add("float", MPI_FLOAT, REAL, 0);
    add("signed char", MPI_SIGNED_CHAR, SIGNED, 0);
    add("unsigned char", MPI_UNSIGNED_CHAR, UNSIGNED, 0);
    add("short", MPI_SHORT, SIGNED, 0);
    add("unsigned short", MPI_UNSIGNED_SHORT, UNSIGNED, 0);
    add("unsigned", MPI_UNSIGNED, UNSIGNED, 0);
    add("long", MPI_LONG, SIGNED, 0);
    add("unsigned long", MPI_UNSIGNED_LONG, UNSIGNED, 0);
    add("long long", MPI_LONG_LONG, SIGNED, 0);
    add("unsigned long long", MPI_UNSIGNED_LONG_LONG, UNSIGNED, 0);
    add("int8_t", MPI_INT8_T, SIGNED, 0);
    add("int16_t", MPI_INT16_T, SIGNED, 0);
    add("int32_t", MPI_INT32_T, SIGNED, 0);
    add("int64_t", MPI_INT64_T, SIGNED, 0);
    add("uint8_t", MPI_UINT8_T, UNSIGNED, 0);
    add("uint16_t", MPI_UINT16_T, UNSIGNED, 0);
    add("uint32_t", MPI_UINT32_T, UNSIGNED, 0);
    add("uint64_t", MPI_UINT64_T, UNSIGNED, 0);
    add("aint", MPI_AINT, SIGNED, 0);
    add("offset", MPI_OFFSET, SIGNED, 0);
    add("count", MPI_COUNT, SIGNED, 0);
    add("long double", MPI_LONG_DOUBLE, REAL, 0);
    add("float complex", MPI_C_FLOAT_COMPLEX, COMPLEX, 0);
    add("double complex", MPI_C_DOUBLE_COMPLEX, COMPLEX, 0);
    add("long double complex", MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, 0);
    add("bool", MPI_C_BOOL, TRUTH, 0);
    add("byte", MPI_BYTE, OCTETS, 0);
    add("integer", MPI_INTEGER, SIGNED, 0);
    add("real", MPI_REAL, REAL, 0);
    add("double precision", MPI_DOUBLE_PRECISION, REAL, 0);
    add("complex", MPI_COMPLEX, COMPLEX, 0);
    add("logical", MPI_LOGICAL, FORTRAN_TRUTH, 0);
    add("float int", MPI_FLOAT_INT, PAIR_OF_REAL, sizeof(FloatInt));
    add("double int", MPI_DOUBLE_INT, PAIR_OF_REAL, sizeof(DoubleInt));
    add("long double int", MPI_LONG_DOUBLE_INT, PAIR_OF_REAL, sizeof(LongDoubleInt));
    add("long int", MPI_LONG_INT, PAIR_OF_WHOLE, sizeof(LongInt));
    add("short int", MPI_SHORT_INT, PAIR_OF_WHOLE, sizeof(ShortInt));
    add("2int", MPI_2INT, PAIR_OF_WHOLE, sizeof(TwoInt));
    add_affine();
}

int numbers(void) {
    if (entries < 0) fill_table();
    return entries;
}

const Number* number_at(int index) { return index < numbers() ? &table[index] : NULL; }

int suits(const Number* number, Operation operation) {
    const int kind = number->kind;
    switch (operation) {
        case SUM:
        case PROD: return kind == SIGNED || kind == UNSIGNED || kind == REAL || kind == COMPLEX;
        case MAX:
        case MIN: return kind == SIGNED || kind == UNSIGNED || kind == REAL;
        case LAND:
        case LOR:
        case LXOR:
            return (kind == SIGNED || kind == UNSIGNED || kind == TRUTH || kind == FORTRAN_TRUTH) &&
                   strcmp(number->name, "integer") && strcmp(number->name, "aint") &&
                   strcmp(number->name, "offset") && strcmp(number->name, "count");
        case BAND:
        case BOR:
        case BXOR: return kind == SIGNED || kind == UNSIGNED || kind == OCTETS;
        case MAXLOC:
        case MINLOC: return kind == PAIR_OF_REAL || kind == PAIR_OF_WHOLE;
        case USER_SUM:
        case USER_FIRST: return !strcmp(number->name, "int");
        case USER_AFFINE: return kind == AFFINE_KIND;
        default: return 0;
    }
}

/* --- The program's own operations --------------------------------------------------------------- */

static void user_sum(void* in, void* inout, int* count, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void user_first(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    memcpy(inout, in, (size_t)*count * sizeof(int));
}

static uint32_t* part_of(const Number* number, void* buffer, long element, int which) {
    return (uint32_t*)(void*)((char*)buffer + element * number->extent + number->part[which]);
}

static void compose(const Number* number, void* in, void* inout, long count) {
    long i;
    for (i = 0; i < count; ++i) {
        const uint32_t left_a = *part_of(number, in, i, 0), left_b = *part_of(number, in, i, 1);
        uint32_t *a = part_of(number, inout, i, 0), *b = part_of(number, inout, i, 1);
        *b = left_a * *b + left_b;
        *a *= left_a;
    }
}

#define COMPOSE(WHICH, COUNT, SUFFIX)                                                              \
    static void compose_##WHICH##SUFFIX(void* in, void* inout, COUNT* count, MPI_Datatype* type) { \
        (void)type;                                                                                \
        compose(&table[entries - 3 + WHICH], in, inout, (long)*count);                             \
    }
COMPOSE(0, int, )
COMPOSE(1, int, )
COMPOSE(2, int, )
#if HAS_LARGE
COMPOSE(0, MPI_Count, _large)
COMPOSE(1, MPI_Count, _large)
COMPOSE(2, MPI_Count, _large)
#endif

static MPI_Op predefined(Operation operation) {
    switch (operation) {
        case SUM: return MPI_SUM;
        case PROD: return MPI_PROD;
        case MAX: return MPI_MAX;
        case MIN: return MPI_MIN;
        case LAND: return MPI_LAND;
        case LOR: return MPI_LOR;
        case LXOR: return MPI_LXOR;
        case BAND: return MPI_BAND;
        case BOR: return MPI_BOR;
        case BXOR: return MPI_BXOR;
        case MAXLOC: return MPI_MAXLOC;
        default: return MPI_MINLOC;
    }
}

MPI_Op make_operation(const Number* number, Operation operation, int large) {
    MPI_Op made = MPI_OP_NULL;
    const int layout = number ? (int)(number - table) - (entries - 3) : 0;
    if (operation < USER_SUM) return predefined(operation);
    if (operation == USER_SUM) MPI_Op_create(user_sum, 1, &made);
    if (operation == USER_FIRST) MPI_Op_create(user_first, 0, &made);
    if (operation != USER_AFFINE) return made;
#if HAS_LARGE
    if (large) {
        MPI_Op_create_c(layout == 0   ? compose_0_large
                        : layout == 1 ? compose_1_large
                                      : compose_2_large,
                        0, &made);
        return made;
    }
#endif
    (void)large;
    MPI_Op_create(layout == 0 ? compose_0 : layout == 1 ? compose_1 : compose_2, 0, &made);
    return made;
}

/* --- Expectations ------------------------------------------------------------------------------- */

Value contribution(const Number* number, Operation operation, Word key, int rank, long element) {
    const Word word = mixed(mixed(key, (Word)rank), (Word)element);
    Value value = {0, 0};
    const int is_pair = number->kind == PAIR_OF_REAL || number->kind == PAIR_OF_WHOLE;
    if (number->kind == AFFINE_KIND) {
        value.a = (uint32_t)word;
        value.b = (uint32_t)(word >> 32);
    } else if (is_pair) {
        value.a = (long long)(word % 5) - 2;
        value.b = (long long)((word >> 20) % 7);
    } else if (number->kind == TRUTH || number->kind == FORTRAN_TRUTH) {
        value.a = (word >> 20) % 3 != 0;
    } else if (operation == PROD) {
        /* Products of eight ranks still fit a byte. */
        value.a = (word >> 20) % 8 == 0 ? 2 : 1;
        if ((number->kind == SIGNED || number->kind == REAL) && (word >> 30) % 2)
            value.a = -value.a;
        if (rank >= 6) value.a = 1;
        if (number->kind == COMPLEX) {
            value.a = (long long)((word >> 20) % 3) - 1;
            value.b = (long long)((word >> 30) % 3) - 1;
        }
    } else if (operation == LAND || operation == LOR || operation == LXOR) {
        value.a = (word >> 20) % 3;
    } else if (operation == BAND || operation == BOR || operation == BXOR) {
        value.a = (long long)(word >> 20) & (number->kind == SIGNED ? 127 : 255);
    } else {
        value.a = (long long)((word >> 20) % 16) - (number->kind == UNSIGNED ? 0 : 8);
        if (number->kind == COMPLEX) value.b = (long long)((word >> 30) % 16) - 8;
    }
    return value;
}

Value combined(const Number* number, Operation operation, Value left, Value right) {
    Value value = {0, 0};
    switch (operation) {
        case SUM:
        case USER_SUM:
            value.a = left.a + right.a;
            value.b = left.b + right.b;
            break;
        case PROD:
            value.a = left.a * right.a - left.b * right.b;
            value.b = left.a * right.b + left.b * right.a;
            break;
        case MAX: value.a = left.a > right.a ? left.a : right.a; break;
        case MIN: value.a = left.a < right.a ? left.a : right.a; break;
        case LAND: value.a = left.a && right.a; break;
        case LOR: value.a = left.a || right.a; break;
        case LXOR: value.a = !left.a != !right.a; break;
        case BAND: value.a = left.a & right.a; break;
        case BOR: value.a = left.a | right.a; break;
        case BXOR: value.a = left.a ^ right.a; break;
        case MAXLOC:
        case MINLOC:
            if (left.a == right.a) {
                value.a = left.a;
                value.b = left.b < right.b ? left.b : right.b;
            } else {
                value = (left.a > right.a) == (operation == MAXLOC) ? left : right;
            }
            break;
        case USER_FIRST: value = left; break;
        case USER_AFFINE:
            value.a = (uint32_t)((uint32_t)left.a * (uint32_t)right.a);
            value.b = (uint32_t)((uint32_t)left.a * (uint32_t)right.b + (uint32_t)left.b);
            break;
        default: break;
    }
    (void)number;
    return value;
}

static void store_real(char* at, long bytes, long long value) {
    const float narrow = (float)value;
    const double usual = (double)value;
    const long double wide = (long double)value;
    if (bytes == sizeof narrow)
        memcpy(at, &narrow, sizeof narrow);
    else if (bytes == sizeof usual)
        memcpy(at, &usual, sizeof usual);
    else
        memcpy(at, &wide, sizeof wide);
}

static int is_real(const char* at, long bytes, long long value) {
    float narrow;
    double usual;
    long double wide;
    if (bytes == sizeof narrow) return memcpy(&narrow, at, sizeof narrow), narrow == (float)value;
    if (bytes == sizeof usual) return memcpy(&usual, at, sizeof usual), usual == (double)value;
    return memcpy(&wide, at, sizeof wide), wide == (long double)value;
}

/* Where a pair's location is. */
static long location(const Number* number) {
    const char* name = number->name;
    if (!strcmp(name, "long double int")) return (long)offsetof(LongDoubleInt, at);
    if (!strcmp(name, "double int")) return (long)offsetof(DoubleInt, at);
    if (!strcmp(name, "float int")) return (long)offsetof(FloatInt, at);
    if (!strcmp(name, "long int")) return (long)offsetof(LongInt, at);
    if (!strcmp(name, "short int")) return (long)offsetof(ShortInt, at);
    return (long)offsetof(TwoInt, at);
}

static long whole_bytes(const Number* number) {
    if (number->kind != PAIR_OF_WHOLE) return number->extent;
    if (!strcmp(number->name, "long int")) return (long)sizeof(long);
    if (!strcmp(number->name, "short int")) return (long)sizeof(short);
    return (long)sizeof(int);
}

void store(const Number* number, char* at, Value value) {
    const uint32_t a = (uint32_t)value.a, b = (uint32_t)value.b;
    const int place = (int)value.b;
    switch (number->kind) {
        case REAL: store_real(at, number->extent, value.a); break;
        case COMPLEX:
            store_real(at, number->extent / 2, value.a);
            store_real(at + number->extent / 2, number->extent / 2, value.b);
            break;
        case PAIR_OF_REAL:
            store_real(at, location(number), value.a);
            memcpy(at + location(number), &place, sizeof place);
            break;
        case AFFINE_KIND:
            memcpy(at + number->part[0], &a, sizeof a);
            memcpy(at + number->part[1], &b, sizeof b);
            break;
        default: /* whole numbers, little endian */
            memcpy(at, &value.a, (size_t)whole_bytes(number));
            if (number->kind == PAIR_OF_WHOLE) memcpy(at + location(number), &place, sizeof place);
    }
}

int holds(const Number* number, const char* at, Value value) {
    const uint32_t a = (uint32_t)value.a, b = (uint32_t)value.b;
    const int place = (int)value.b;
    switch (number->kind) {
        case REAL: return is_real(at, number->extent, value.a);
        case COMPLEX:
            return is_real(at, number->extent / 2, value.a) &&
                   is_real(at + number->extent / 2, number->extent / 2, value.b);
        case PAIR_OF_REAL:
            return is_real(at, location(number), value.a) &&
                   !memcmp(at + location(number), &place, sizeof place);
        case AFFINE_KIND:
            return !memcmp(at + number->part[0], &a, sizeof a) &&
                   !memcmp(at + number->part[1], &b, sizeof b);
        case FORTRAN_TRUTH: { /* true is what the compiler of Fortran says */
            int is = 0;
            memcpy(&is, at,
                   (size_t)number->extent < sizeof is ? (size_t)number->extent : sizeof is);
            return !is == !value.a;
        }
        default:
            return !memcmp(at, &value.a, (size_t)whole_bytes(number)) &&
                   (number->kind != PAIR_OF_WHOLE ||
                    !memcmp(at + location(number), &place, sizeof place));
    }
}
