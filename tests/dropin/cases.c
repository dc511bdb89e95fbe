/* Buffers of a call in which every byte is known beforehand, including those between the elements. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define GAP_SENT 0x3C
#define GAP_RECEIVED 0xD7
#define MARGIN 64

Word mixed(Word a, Word b) {
    Word z = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

long drawn(Word* state, long limit) {
    *state = mixed(*state, 1);
    return (long)((*state >> 11) % (Word)limit);
}

/* --- Bases and layouts -------------------------------------------------------------------------- */

typedef struct {
    const char* name;
    MPI_Datatype type;
    long extent;
    int segments;
    int at[2], bytes[2];
} Base;

static Base base_at(int index) {
    typedef struct {
        short value;
        int at;
    } ShortInt;
    typedef struct {
        double value;
        int at;
    } DoubleInt;
    typedef struct {
        long value;
        int at;
    } LongInt;
    const Base all[BASES] = {
        {"int", MPI_INT, sizeof(int), 1, {0, 0}, {sizeof(int), 0}},
        {"double", MPI_DOUBLE, sizeof(double), 1, {0, 0}, {sizeof(double), 0}},
        {"char", MPI_CHAR, 1, 1, {0, 0}, {1, 0}},
        {"short int",
         MPI_SHORT_INT,
         sizeof(ShortInt),
         2,
         {0, offsetof(ShortInt, at)},
         {sizeof(short), sizeof(int)}},
        {"byte", MPI_BYTE, 1, 1, {0, 0}, {1, 0}},
        {"double int",
         MPI_DOUBLE_INT,
         sizeof(DoubleInt),
         2,
         {0, offsetof(DoubleInt, at)},
         {sizeof(double), sizeof(int)}},
        {"short", MPI_SHORT, sizeof(short), 1, {0, 0}, {sizeof(short), 0}},
        {"long int",
         MPI_LONG_INT,
         sizeof(LongInt),
         2,
         {0, offsetof(LongInt, at)},
         {sizeof(long), sizeof(int)}},
        {"double complex",
         MPI_C_DOUBLE_COMPLEX,
         2 * sizeof(double),
         1,
         {0, 0},
         {2 * sizeof(double), 0}},
        {"wchar", MPI_WCHAR, sizeof(wchar_t), 1, {0, 0}, {sizeof(wchar_t), 0}},
    };
    return all[index];
}

const char* const layout_names[] = {"plain",   "contiguous", "vector",    "negative",
                                    "resized", "shuffled",   "transposed"};

typedef struct {
    MPI_Datatype type;
    int per; /* units */
    long offset[4], extent;
} Layout;

static MPI_Datatype kept(Case* of, MPI_Datatype type) {
    CALL(MPI_Type_commit(&type));
    of->created[of->types++] = type;
    return type;
}

static int units_per(int layout) {
    static const int per[] = {1, 3, 4, 3, 2, 3, 3};
    return per[layout];
}

/* `total`: in a transposed layout, how many of them are in a row. */
static Layout make_layout(Case* of, int kind, const Base* base, long total) {
    Layout made = {MPI_DATATYPE_NULL, 0, {0, 0, 0, 0}, 0};
    const long e = base->extent;
    int lengths[2] = {2, 1};
    MPI_Aint at[2];
    MPI_Datatype bare, types[2];
    made.per = units_per(kind);
    types[0] = types[1] = base->type;
    switch (kind) {
        case PLAIN:
            made.type = base->type;
            made.extent = e;
            return made;
        case CONTIGUOUS:
            MPI_Type_contiguous(3, base->type, &made.type);
            made.offset[1] = e, made.offset[2] = 2 * e;
            made.extent = 3 * e;
            break;
        case VECTOR:
            MPI_Type_vector(2, 2, 3, base->type, &made.type);
            made.offset[1] = e, made.offset[2] = 3 * e, made.offset[3] = 4 * e;
            made.extent = 5 * e;
            break;
        case NEGATIVE:
            lengths[0] = 1, lengths[1] = 2;
            at[0] = -2 * e, at[1] = e;
            MPI_Type_create_hindexed(2, lengths, at, base->type, &made.type);
            made.offset[0] = -2 * e, made.offset[1] = e, made.offset[2] = 2 * e;
            made.extent = 5 * e;
            break;
        case RESIZED:
            MPI_Type_contiguous(2, base->type, &bare);
            MPI_Type_create_resized(bare, -e, 6 * e, &made.type);
            MPI_Type_free(&bare);
            made.offset[1] = e;
            made.extent = 6 * e;
            break;
        case SHUFFLED: /* the first element is behind the last */
            at[0] = 4 * e, at[1] = 0;
            MPI_Type_create_struct(2, lengths, at, types, &bare);
            MPI_Type_create_resized(bare, 0, 6 * e, &made.type);
            MPI_Type_free(&bare);
            made.offset[0] = 4 * e, made.offset[1] = 5 * e;
            made.extent = 6 * e;
            break;
        default: /* a column of three rows */
            MPI_Type_create_hvector(3, 1, total * e, base->type, &bare);
            MPI_Type_create_resized(bare, 0, e, &made.type);
            MPI_Type_free(&bare);
            made.offset[1] = total * e, made.offset[2] = 2 * total * e;
            made.extent = e;
    }
    made.type = kept(of, made.type);
    return made;
}

/* --- Which blocks a call has -------------------------------------------------------------------- */

static int is_v(Function f) {
    return f == GATHERV || f == SCATTERV || f == ALLGATHERV || f == ALLTOALLV ||
           f == NEIGHBOR_ALLGATHERV || f == NEIGHBOR_ALLTOALLV;
}
static int is_w(Function f) { return f == ALLTOALLW || f == NEIGHBOR_ALLTOALLW; }
static int goes_to_each(Function f) {
    return f == SCATTER || f == SCATTERV || (f >= ALLTOALL && f <= ALLTOALLW) ||
           f >= NEIGHBOR_ALLTOALL;
}

/* How many units go from `source` as its block `index`. */
static long units_of(const Spec* spec, int source, int index) {
    const int least = 12; /* what all layouts divide */
    const int plain = spec->send_layout == PLAIN && spec->recv_layout == PLAIN;
    long elements = spec->size;
    Word word;
    if (is_v(spec->function) || is_w(spec->function)) {
        if (spec->in_place && source > index && goes_to_each(spec->function)) {
            const int other = source; /* in place, pairs of ranks exchange as much */
            source = index;
            index = other;
        }
        word = mixed(mixed(spec->key, (Word)source), (Word)index);
        elements =
            word % 4 == 0 ? 0 : spec->size - (long)((word >> 8) % (Word)(spec->size / 2 + 1));
    }
    return plain ? elements : elements * least;
}

/* A side's blocks: who sent each (`source`), as which of its blocks (`index`). */
typedef struct {
    int blocks;
    int source[MAX_BLOCKS], index[MAX_BLOCKS];
} Blocks;

static Blocks sent_blocks(const Spec* spec) {
    const Group* group = spec->group;
    const int me = group->rank, is_root = me == spec->root;
    const Function f = spec->function;
    Blocks blocks = {0, {0}, {0}};
    int i;
    if (f == BARRIER || ((f == BCAST || f == SCATTER || f == SCATTERV) && !is_root)) return blocks;
    if (f >= NEIGHBOR_ALLTOALL)
        blocks.blocks = group->outs[me];
    else if (goes_to_each(f))
        blocks.blocks = group->ranks;
    else
        blocks.blocks = 1;
    for (i = 0; i < blocks.blocks; ++i) {
        blocks.source[i] = me;
        blocks.index[i] = i;
    }
    return blocks;
}

static Blocks received_blocks(const Spec* spec) {
    const Group* group = spec->group;
    const int me = group->rank, is_root = me == spec->root;
    const Function f = spec->function;
    Blocks blocks = {0, {0}, {0}};
    int i;
    if (f == BARRIER || (f == BCAST && is_root) || ((f == GATHER || f == GATHERV) && !is_root))
        return blocks;
    if (is_neighbor(f)) {
        blocks.blocks = group->ins[me];
        for (i = 0; i < blocks.blocks; ++i) {
            blocks.source[i] = group->in[me][i];
            if (goes_to_each(f) && blocks.source[i] != MPI_PROC_NULL)
                blocks.index[i] = slot_at_source(group, i);
        }
        return blocks;
    }
    if (f == BCAST || f == SCATTER || f == SCATTERV) {
        blocks.blocks = 1;
        blocks.source[0] = spec->root;
        blocks.index[0] = f == BCAST ? 0 : me;
        return blocks;
    }
    blocks.blocks = group->ranks;
    for (i = 0; i < group->ranks; ++i) {
        blocks.source[i] = i;
        blocks.index[i] = goes_to_each(f) ? me : 0;
    }
    return blocks;
}

/* --- Sides -------------------------------------------------------------------------------------- */

static void allocate(Side* side, long low, long high) {
    const long before = MARGIN + (low < 0 ? (-low + 15) / 16 * 16 : 0);
    side->bytes = before + (high > 0 ? high : 0) + MARGIN;
    side->memory = malloc((size_t)side->bytes);
    side->wanted = malloc((size_t)side->bytes);
    side->origin = side->memory + before;
}

static void widen(const Side* side, int block, long unit_bytes, long* low, long* high) {
    long i, first, last;
    if (side->units[block] == 0) return;
    for (i = 0; i < side->per[block]; ++i) {
        first = side->at[block] + side->offset[block][i];
        last =
            first + (side->units[block] / side->per[block] - 1) * side->extent[block] + unit_bytes;
        if (first < *low) *low = first;
        if (last > *high) *high = last;
    }
}

/* Types that contain absolute addresses: one element per block. */
static void make_absolute(Case* of, Side* side) {
    MPI_Aint address;
    MPI_Datatype bare, type;
    int i, length;
    MPI_Get_address(side->origin, &address);
    for (i = 0; i < (is_w(of->spec.function) ? side->blocks : 1); ++i) {
        const MPI_Aint at = MPI_Aint_add(address, is_w(of->spec.function) ? side->at[i] : 0);
        length = (int)side->counts[i];
        MPI_Type_create_hindexed(1, &length, &at, side->types[i], &bare);
        type = bare;
        if (side->blocks > 1 && !is_w(of->spec.function)) {
            MPI_Type_create_resized(bare, 0, side->at[1], &type);
            MPI_Type_free(&bare);
        }
        side->types[i] = kept(of, type);
    }
    for (i = 0; i < side->blocks; ++i) {
        if (!is_w(of->spec.function)) side->types[i] = side->types[0];
        side->counts[i] = side->units[i] > 0;
        side->displs[i] = 0;
    }
    side->buffer = MPI_BOTTOM;
}

static void open_side(Case* of, Side* side, const Blocks* blocks, int is_send) {
    const Spec* spec = &of->spec;
    const Base base = base_at(spec->base);
    const int alike = is_send ? spec->send_layout : spec->recv_layout;
    const int v = is_v(spec->function) && blocks->blocks != 1, w = is_w(spec->function);
    long low = 0, high = 0, total = 0, place = 0;
    int i;
    Word own;
    Layout layout = {MPI_DATATYPE_NULL, 0, {0, 0, 0, 0}, 0};
    side->blocks = blocks->blocks;
    side->types[0] = MPI_DATATYPE_NULL;
    if (side->blocks == 0) side->types[0] = MPI_BYTE;
    for (i = 0; i < side->blocks; ++i) {
        const int is_absent = blocks->source[i] == MPI_PROC_NULL;
        side->units[i] =
            is_absent ? units_of(spec, 0, 0) : units_of(spec, blocks->source[i], blocks->index[i]);
    }
    /* Which layout: the call's, this rank's own, or, for w, the pair's. */
    own = mixed(mixed(spec->key, 77), (Word)spec->group->rank * 2 + (Word)is_send);
    for (i = 0; i < side->blocks; ++i) {
        int kind = alike;
        if (kind == EACH_ITS_OWN) {
            if (w && spec->in_place) {
                const int a = blocks->source[i], b = blocks->index[i];
                own = mixed(spec->key, (Word)((a < b ? a : b) * MAX_RANKS + (a < b ? b : a)));
            } else if (w) {
                own = mixed(own, (Word)i);
            }
            kind = (int)(own % (w ? LAYOUTS : LAYOUTS + 1));
        }
        if (kind == TRANSPOSED && w) kind = RESIZED;
        if (i == 0 && !w) {
            long k;
            for (k = 0; k < side->blocks; ++k)
                total += side->units[k] / units_per(kind) + (v ? 1 : 0);
        }
        if (i == 0 || w) layout = make_layout(of, kind, &base, total);
        side->types[i] = layout.type;
        side->per[i] = layout.per;
        side->extent[i] = layout.extent;
        memcpy(side->offset[i], layout.offset, sizeof layout.offset);
        side->counts[i] = side->units[i] / layout.per;
    }
    /* Where: contiguous; for v from the last to the first with gaps; for w with room for all. */
    for (i = 0; i < side->blocks; ++i) {
        const int block = v ? side->blocks - 1 - i : i;
        side->displs[block] = place;
        side->at[block] = v ? place * side->extent[block] : place;
        if (v) {
            place += side->counts[block] + 1;
        } else if (w) {
            side->at[block] += 2 * base.extent;
            side->displs[block] = side->at[block];
            place +=
                ((side->counts[block] + 1) * side->extent[block] + 3 * base.extent + 15) / 16 * 16;
        } else {
            place += side->counts[block] * side->extent[block];
        }
        widen(side, block, base.extent, &low, &high);
    }
    allocate(side, low, high);
    side->buffer = side->origin;
    if (spec->absolute && side->blocks > 0 && !v) make_absolute(of, side);
}

static void write_blocks(const Case* of, const Side* side, char* memory, const Blocks* blocks,
                         int only) {
    const Base base = base_at(of->spec.base);
    char* origin = memory + (side->origin - side->memory);
    int block, s, b;
    long unit;
    for (block = 0; block < side->blocks; ++block) {
        const Word label =
            mixed(mixed(of->spec.key, of->round),
                  (Word)(blocks->source[block] * 64 +
                         (goes_to_each(of->spec.function) ? blocks->index[block] : 0)));
        long element = 0;
        int part = 0;
        if (blocks->source[block] == MPI_PROC_NULL || (only >= 0 && block != only)) continue;
        for (unit = 0; unit < side->units[block]; ++unit) {
            const Word word = mixed(label, (Word)unit);
            char* at = origin + side->at[block] + element * side->extent[block] +
                       side->offset[block][part];
            for (s = 0; s < base.segments; ++s) {
                for (b = 0; b < base.bytes[s]; ++b)
                    at[base.at[s] + b] = (char)(word >> (8 * ((b + 5 * s) % 8)));
            }
            if (++part == side->per[block]) part = 0, ++element;
        }
    }
}

/* --- Reductions --------------------------------------------------------------------------------- */

static long scattered(const Spec* spec, int rank) {
    if (spec->function != REDUCE_SCATTER) return spec->size;
    return mixed(spec->key, (Word)rank) % 4 == 0 ? 0 : spec->size + rank;
}

static void open_numbers(Case* of, Side* side, long elements) {
    const Number* number = of->spec.number;
    side->blocks = 1;
    side->units[0] = elements;
    side->extent[0] = number->extent;
    side->types[0] = number->type;
    allocate(side, -16, elements * number->extent);
    side->buffer = side->origin;
}

static void open_reduction(Case* of) {
    const Spec* spec = &of->spec;
    const int me = spec->group->rank,
              scatters = spec->function == REDUCE_SCATTER || spec->function == REDUCE_SCATTER_BLOCK;
    long elements = spec->size, sum = 0;
    int i;
    for (i = 0; i < spec->group->ranks; ++i) sum += scattered(spec, i);
    if (scatters) elements = sum;
    open_numbers(of, &of->send, elements);
    open_numbers(of, &of->recv, scatters && !spec->in_place ? scattered(spec, me) : elements);
    for (i = 0; i < spec->group->ranks; ++i) of->recv.counts[i] = scattered(spec, i);
    of->send.counts[0] = spec->size;
    if (spec->function == REDUCE && me != spec->root) of->recv.buffer = NULL;
    if (spec->in_place && (spec->function != REDUCE || me == spec->root))
        of->send.buffer = MPI_IN_PLACE;
    of->op = make_operation(spec->number, spec->operation, spec->large);
}

static void fill_numbers(Case* of) {
    const Spec* spec = &of->spec;
    const Word key = mixed(spec->key, of->round);
    long i;
    memset(of->send.memory, GAP_SENT, (size_t)of->send.bytes);
    memset(of->recv.memory, GAP_RECEIVED, (size_t)of->recv.bytes);
    for (i = 0; i < of->send.units[0]; ++i) {
        const Value value = contribution(spec->number, spec->operation, key, spec->group->rank, i);
        store(spec->number, of->send.origin + i * spec->number->extent, value);
        if (of->send.buffer == MPI_IN_PLACE) {
            store(spec->number, of->recv.origin + i * spec->number->extent, value);
        }
    }
    memcpy(of->send.wanted, of->send.memory, (size_t)of->send.bytes);
    memcpy(of->recv.wanted, of->recv.memory, (size_t)of->recv.bytes);
}

static void check_numbers(const Case* of) {
    const Spec* spec = &of->spec;
    const Number* number = spec->number;
    const int me = spec->group->rank;
    const Word key = mixed(spec->key, of->round);
    int first = 0, last = spec->group->ranks - 1, r;
    long i, elements = of->recv.units[0], from = 0;
    char* wanted = of->recv.wanted + (of->recv.origin - of->recv.memory);
    if (spec->function == REDUCE && me != spec->root) elements = 0;
    if (spec->function == SCAN) last = me;
    if (spec->function == EXSCAN) last = me - 1;
    if (spec->function == REDUCE_SCATTER || spec->function == REDUCE_SCATTER_BLOCK) {
        for (r = 0; r < me; ++r) from += scattered(spec, r);
        elements = scattered(spec, me);
    }
    for (i = 0; i < elements && last >= first; ++i) {
        Value value = contribution(number, spec->operation, key, 0, from + i);
        for (r = 1; r <= last; ++r) {
            value = combined(number, spec->operation, value,
                             contribution(number, spec->operation, key, r, from + i));
        }
        if (!holds(number, of->recv.origin + i * number->extent, value)) {
            tell_case(of);
            fail(__FILE__, __LINE__, "element %ld of %ld of %s is not the %s of all", i, elements,
                 number->name, operation_names[spec->operation]);
        }
        store(number, wanted + i * number->extent, value);
    }
    ++checks;
}

/* Nothing has changed outside the elements. */
static void check_around(const Case* of) {
    const Side* side = &of->recv;
    const long before = side->origin - side->memory, all = side->units[0] * side->extent[0];
    const long low = of->spec.number->extent == 12 ? 4 : 0; /* of a negative bound */
    if (memcmp(side->memory, side->wanted, (size_t)(before - low)) ||
        memcmp(side->memory + before + all, side->wanted + before + all,
               (size_t)(side->bytes - before - all))) {
        tell_case(of);
        fail(__FILE__, __LINE__, "wrote outside of the buffer");
    }
    /* Nor between the parts of an element. */
    if (of->spec.operation == USER_AFFINE && of->spec.function != EXSCAN &&
        of->spec.function != REDUCE_SCATTER && of->spec.function != REDUCE_SCATTER_BLOCK &&
        memcmp(side->memory, side->wanted, (size_t)side->bytes)) {
        tell_case(of);
        fail(__FILE__, __LINE__, "wrote between the parts of an element");
    }
    ++checks;
}

/* --- Cases -------------------------------------------------------------------------------------- */

void open_case(Case* of, Spec spec) {
    Blocks sent, received;
    memset(of, 0, sizeof *of);
    of->spec = spec;
    of->op = MPI_OP_NULL;
    of->request = MPI_REQUEST_NULL;
    of->send.types[0] = of->recv.types[0] = MPI_DATATYPE_NULL;
    tell_case(of);
    if (is_reduction(spec.function)) {
        open_reduction(of);
        return;
    }
    sent = sent_blocks(&spec);
    received = received_blocks(&spec);
    open_side(of, &of->send, &sent, 1);
    open_side(of, &of->recv, &received, 0);
    if (!spec.in_place) return;
    if ((spec.function == SCATTER || spec.function == SCATTERV) && spec.group->rank == spec.root) {
        of->recv.buffer = MPI_IN_PLACE;
    } else if (spec.function != SCATTER && spec.function != SCATTERV &&
               (spec.function >= ALLGATHER || spec.group->rank == spec.root)) {
        of->send.buffer = MPI_IN_PLACE;
    }
}

void fill_case(Case* of) {
    const Spec* spec = &of->spec;
    Blocks sent, received;
    int i;
    ++of->round;
    if (is_reduction(spec->function)) {
        fill_numbers(of);
        return;
    }
    sent = sent_blocks(spec);
    received = received_blocks(spec);
    memset(of->send.memory, GAP_SENT, (size_t)of->send.bytes);
    memset(of->recv.memory, GAP_RECEIVED, (size_t)of->recv.bytes);
    write_blocks(of, &of->send, of->send.memory, &sent, -1);
    memcpy(of->send.wanted, of->send.memory, (size_t)of->send.bytes);
    memcpy(of->recv.wanted, of->recv.memory, (size_t)of->recv.bytes);
    if (of->recv.buffer == MPI_IN_PLACE) return;
    write_blocks(of, &of->recv, of->recv.wanted, &received, -1);
    if (of->send.buffer != MPI_IN_PLACE) return;
    /* The rank's own part is already there; in an exchange in place, so is everything that it sends: all blocks. */
    if (goes_to_each(spec->function)) {
        for (i = 0; i < received.blocks; ++i) {
            received.index[i] = received.source[i];
            received.source[i] = spec->group->rank;
        }
        write_blocks(of, &of->recv, of->recv.memory, &received, -1);
    } else {
        write_blocks(of, &of->recv, of->recv.memory, &received, spec->group->rank);
    }
}

static void free_operation(Case* of) {
    if (is_reduction(of->spec.function) && of->spec.operation >= USER_SUM &&
        of->op != MPI_OP_NULL) {
        CALL(MPI_Op_free(&of->op));
    }
}

void forget_arguments(Case* of) {
    int i;
    if (of->spec.form == PERSISTENT && !options.forget) return;
    while (of->types > 0) CALL(MPI_Type_free(&of->created[--of->types]));
    if (options.forget) free_operation(of);
    if (!options.forget && of->spec.form != BLOCKING) return;
    for (i = 0; i < of->arrays_count; ++i) memset(of->arrays[i], 0x5A, of->array_bytes[i]);
}

static void check_side(const Case* of, const Side* side, const char* name) {
    long i;
    ++checks;
    if (side->bytes == 0 || !memcmp(side->memory, side->wanted, (size_t)side->bytes)) return;
    for (i = 0; side->memory[i] == side->wanted[i]; ++i) {
    }
    tell_case(of);
    fail(__FILE__, __LINE__, "byte %ld of the %s buffer is %02x, not %02x",
         i - (long)(side->origin - side->memory), name, side->memory[i] & 255,
         side->wanted[i] & 255);
}

void check_case(Case* of) {
    check_side(of, &of->send, "send");
    if (is_reduction(of->spec.function)) {
        check_numbers(of);
        check_around(of);
    } else {
        check_side(of, &of->recv, "receive");
    }
}

void close_case(Case* of) {
    Side* sides[2];
    int i;
    sides[0] = &of->send;
    sides[1] = &of->recv;
    while (of->types > 0) CALL(MPI_Type_free(&of->created[--of->types]));
    free_operation(of);
    for (i = 0; i < 2; ++i) {
        free(sides[i]->memory);
        free(sides[i]->wanted);
    }
    for (i = 0; i < of->arrays_count; ++i) free(of->arrays[i]);
}

static void describe(const Spec* s, char* text, size_t bytes) {
    char data[160];
    if (is_reduction(s->function)) {
        snprintf(data, sizeof data, "%s of %s", operation_names[s->operation], s->number->name);
    } else {
        snprintf(data, sizeof data, "%s, %s to %s%s", base_at(s->base).name,
                 s->send_layout < 0 ? "any" : layout_names[s->send_layout],
                 s->recv_layout < 0 ? "any" : layout_names[s->recv_layout],
                 s->absolute ? ", absolute" : "");
    }
    snprintf(text, bytes, "%s %s%s on %s of %d, size %ld, root %d%s, %s", form_names[s->form],
             function_names[s->function], s->large ? "_c" : "", s->group->name, s->group->ranks,
             s->size, s->root, s->in_place ? ", in place" : "", data);
}

void tell_case(const Case* of) {
    char text[320];
    describe(&of->spec, text, sizeof text);
    doing("%s, key %llx, round %llu", text, of->spec.key, of->round);
}

int is_left_out(const Spec* spec) {
    char text[320];
    describe(spec, text, sizeof text);
    return is_skipped(text);
}

void run_case(Spec spec) {
    Case of;
    if (is_left_out(&spec)) return;
    open_case(&of, spec);
    fill_case(&of);
    CALL(call_case(&of));
    if (spec.form == PERSISTENT) {
        int round;
        forget_arguments(&of);
        for (round = 0; round < 2; ++round) {
            if (round > 0) fill_case(&of);
            CALL(MPI_Start(&of.request));
            complete(&of.request, 1, BY_WAIT, 0);
            check_case(&of);
        }
        CALL(MPI_Request_free(&of.request));
    } else {
        forget_arguments(&of);
        if (spec.form == NONBLOCKING) complete(&of.request, 1, BY_WAIT, 0);
        CHECK(of.request == MPI_REQUEST_NULL);
        check_case(&of);
    }
    close_case(&of);
}

Spec drawn_spec(Word* shared, const Group* group, Form form) {
    static const long sizes[] = {1, 7, 7, 64, 64, 300, 1000, 5000};
    Spec spec;
    memset(&spec, 0, sizeof spec);
    do {
        spec.function = (Function)drawn(shared, FUNCTIONS);
    } while (is_neighbor(spec.function) && !group->has_topology);
    spec.form = form;
    spec.large = has_large() ? (int)drawn(shared, 2) : 0;
    spec.group = group;
    spec.size = drawn(shared, 10) == 0 ? 0 : drawn(shared, sizes[drawn(shared, 8)]) + 1;
    spec.root = (int)drawn(shared, group->ranks);
    spec.in_place = has_in_place(spec.function) && drawn(shared, 4) == 0;
    spec.base = (int)drawn(shared, BASES);
    spec.send_layout = (int)drawn(shared, LAYOUTS + 2) - 1;
    spec.recv_layout = (int)drawn(shared, LAYOUTS + 2) - 1;
    spec.absolute = drawn(shared, 8) == 0;
    do {
        spec.number = number_at((int)drawn(shared, numbers()));
        spec.operation = (Operation)drawn(shared, OPERATIONS);
    } while (!suits(spec.number, spec.operation));
    spec.key = mixed(*shared, 9);
    return spec;
}
