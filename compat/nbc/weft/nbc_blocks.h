/* What a call sends and receives, as Weft takes it: a part of weft/nbc.h, which programs
   include. */
#ifndef WEFT_NBC_BLOCKS_H
#define WEFT_NBC_BLOCKS_H

#ifndef WEFT_NBC_H
#error "include nbc.h"
#endif

/* Whether elements lie in memory as MPI_Pack would write them: predefined types without gaps,
   and what MPI_Type_contiguous and MPI_Type_dup make of them. */
static WEFT_INLINE int weft_nbc_is_plain(MPI_Datatype type) {
    int integers, addresses, types, combiner, inner, size, number, is_plain;
    MPI_Aint low, extent, address;
    MPI_Datatype old;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) {
        MPI_Type_size(type, &size);
        MPI_Type_get_extent(type, &low, &extent);
        return types == 0 && low == 0 && size == extent;
    }
    MPI_Type_get_contents(type, integers, addresses, types, &number, &address, &old);
    is_plain = weft_nbc_is_plain(old);
    MPI_Type_get_envelope(old, &integers, &addresses, &types, &inner);
    if (types > 0) MPI_Type_free(&old); /* predefined ones are made of no others */
    return is_plain;
}

/* The bytes of a type that most programs send, which has no gaps; 0: of another one. Five questions
   to the MPI would take as long as a small message. */
static WEFT_INLINE int weft_nbc_known_bytes(MPI_Datatype type) {
    if (type == MPI_BYTE || type == MPI_CHAR) return 1;
    if (type == MPI_INT) return (int)sizeof(int);
    if (type == MPI_DOUBLE) return (int)sizeof(double);
    if (type == MPI_FLOAT) return (int)sizeof(float);
    return 0;
}

/* One side of a call, as the program gave it: contiguous blocks of `count` elements, or, if
   is_v, blocks of `counts` elements at `displs`; if `types` is given, of these types, at
   `displs` or `at` in bytes. */
typedef struct weft_nbc_side {
    char* buf;
    int is_v;
    int count;
    const int* counts;
    const int* displs;
    MPI_Datatype type;
    const MPI_Datatype* types;
    const MPI_Aint* at;
    int blocks;

    /* For Weft: bytes from `data` on. */
    char* data;
    size_t bytes;       /* of a block, if they are equal */
    size_t* sizes;      /* otherwise, of each */
    ptrdiff_t* offsets; /* and where it begins */

    ptrdiff_t extent; /* of an element */
    int is_packed;    /* `data` is not the program's */
} weft_nbc_side;

/* The state of a call until it is done. */
struct weft_nbc_call {
    weft_request request;
    int is_schedule;       /* the request is persistent: freed when done */
    weft_nbc_side unpacks; /* if it has blocks: what arrives packed */
    MPI_Datatype* types;   /* owned, for its blocks, if each has its own */
    weft_op op;            /* owned, of a reduction by the program's operation `combines`, */
    MPI_Op combines;       /* whose elements are of the type `combined` */
    MPI_Datatype combined;
    int owned;
    void* own[10];
};

static WEFT_INLINE void* weft_nbc_own(struct weft_nbc_call* call, size_t bytes) {
    return call->own[call->owned++] = malloc(bytes ? bytes : 1);
}

static WEFT_INLINE void* weft_nbc_own_copy(struct weft_nbc_call* call, const void* from,
                                           size_t bytes) {
    void* copy = weft_nbc_own(call, bytes);
    return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

static WEFT_INLINE weft_nbc_side weft_nbc_blocks(const void* buf, int count, MPI_Datatype type,
                                                 int blocks) {
    weft_nbc_side side;
    memset(&side, 0, sizeof side);
    side.buf = (char*)(uintptr_t)buf;
    side.count = count;
    side.type = type;
    side.blocks = blocks;
    return side;
}

static WEFT_INLINE weft_nbc_side weft_nbc_blocks_v(const void* buf, const int* counts,
                                                   const int* displs, MPI_Datatype type,
                                                   int blocks) {
    weft_nbc_side side = weft_nbc_blocks(buf, 0, type, blocks);
    side.is_v = 1;
    side.counts = counts;
    side.displs = displs;
    return side;
}

/* `displs` or `at` is null. */
static WEFT_INLINE weft_nbc_side weft_nbc_blocks_w(const void* buf, const int* counts,
                                                   const int* displs, const MPI_Aint* at,
                                                   const MPI_Datatype* types, int blocks) {
    weft_nbc_side side = weft_nbc_blocks_v(buf, counts, displs, MPI_DATATYPE_NULL, blocks);
    side.at = at;
    side.types = types;
    return side;
}

/* Where the block begins in the program's memory. */
static WEFT_INLINE char* weft_nbc_place(const weft_nbc_side* side, int block) {
    ptrdiff_t at;
    if (side->types)
        return side->buf + (side->at ? (ptrdiff_t)side->at[block] : (ptrdiff_t)side->displs[block]);
    at = side->is_v ? side->displs[block] : (ptrdiff_t)block * side->count;
    return side->buf + at * side->extent;
}

static WEFT_INLINE int weft_nbc_count(const weft_nbc_side* side, int block) {
    return side->is_v ? side->counts[block] : side->count;
}

/* Packs a block, or unpacks it. The MPIs that Weft meets pack elements without anything between
   them; the position reveals one that does not. */
static WEFT_INLINE int weft_nbc_convert(weft_nbc_side* side, int block, int is_in) {
    const int count = weft_nbc_count(side, block);
    const size_t bytes = side->is_v ? side->sizes[block] : side->bytes;
    const MPI_Datatype type = side->types ? side->types[block] : side->type;
    char* place = weft_nbc_place(side, block);
    char* packed =
        side->data + (side->is_v ? (size_t)side->offsets[block] : (size_t)block * side->bytes);
    int at = 0, error;
    if (bytes == 0) return NBC_OK;
    error = is_in ? MPI_Pack(place, count, type, packed, (int)bytes, &at, MPI_COMM_SELF)
                  : MPI_Unpack(packed, (int)bytes, &at, place, count, type, MPI_COMM_SELF);
    return error == MPI_SUCCESS && (size_t)at == bytes ? NBC_OK : NBC_DATATYPE_NOT_SUPPORTED;
}

/* Fills in what is for Weft. Types with gaps get extra memory to pack into or unpack from; if
   any of several types has gaps, all blocks are packed. */
static WEFT_INLINE int weft_nbc_lay_out(struct weft_nbc_call* call, weft_nbc_side* side) {
    MPI_Datatype type = side->type;
    MPI_Aint low = 0, extent = 0;
    int size = 0, block;
    size_t bytes, all = 0;
    if (!side->types) {
        size = weft_nbc_known_bytes(type);
        extent = size;
        if (size == 0) {
            if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS)
                return NBC_INVALID_PARAM;
            MPI_Type_get_extent(type, &low, &extent);
            side->is_packed = !weft_nbc_is_plain(type);
        }
        side->extent = (ptrdiff_t)extent;
        side->bytes = (size_t)side->count * (size_t)size;
    }
    if (side->is_v) {
        if (!side->counts || (!side->displs && !side->at))
            return side->blocks ? NBC_INVALID_PARAM : NBC_OK;
        side->sizes = (size_t*)weft_nbc_own(call, (size_t)side->blocks * sizeof *side->sizes);
        side->offsets =
            (ptrdiff_t*)weft_nbc_own(call, (size_t)side->blocks * sizeof *side->offsets);
        if (!side->sizes || !side->offsets) return NBC_OOR;
    }
    for (block = 0; block < side->blocks; ++block) {
        const int count = weft_nbc_count(side, block);
        if (count < 0) return NBC_INVALID_PARAM;
        if (side->types && count > 0) { /* an empty block needs no type */
            type = side->types[block];
            size = weft_nbc_known_bytes(type);
            if (size == 0) {
                if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size) != MPI_SUCCESS)
                    return NBC_INVALID_PARAM;
                if (!weft_nbc_is_plain(type)) side->is_packed = 1;
            }
        }
        if (side->is_v) side->sizes[block] = (size_t)count * (size_t)size;
    }
    side->data = side->buf;
    for (block = 0; block < side->blocks; ++block) {
        bytes = side->is_v ? side->sizes[block] : side->bytes;
        if (side->is_packed && bytes > INT32_MAX) return NBC_DATATYPE_NOT_SUPPORTED;
        if (side->is_v) {
            /* (MPI_BOTTOM is no address.) */
            if (!side->data && bytes > 0) side->data = weft_nbc_place(side, block);
            side->offsets[block] =
                side->is_packed ? (ptrdiff_t)all : weft_nbc_place(side, block) - side->data;
        }
        all += bytes;
    }
    if (side->is_packed) side->data = (char*)weft_nbc_own(call, all);
    return side->data || !side->is_packed ? NBC_OK : NBC_OOR;
}

/* Lays out what is sent, and packs it if need be. */
static WEFT_INLINE int weft_nbc_lay_out_send(struct weft_nbc_call* call, weft_nbc_side* side) {
    int block, code = weft_nbc_lay_out(call, side);
    for (block = 0; block < side->blocks && side->is_packed && code == NBC_OK; ++block)
        code = weft_nbc_convert(side, block, 1);
    return code;
}

/* Lays out what is received, and notes what must be unpacked: programs may free types and arrays
   after the start. In place, blocks [first, last) are already there. */
static WEFT_INLINE int weft_nbc_lay_out_recv(struct weft_nbc_call* call, weft_nbc_side* side,
                                             int first, int last) {
    const size_t blocks = (size_t)side->blocks;
    weft_nbc_side* kept = &call->unpacks;
    MPI_Datatype* types;
    int block, code = weft_nbc_lay_out(call, side);
    if (code != NBC_OK || !side->is_packed) return code;
    for (block = first; block < last && code == NBC_OK; ++block)
        code = weft_nbc_convert(side, block, 1);
    if (code != NBC_OK) return code;
    *kept = *side;
    kept->type = MPI_DATATYPE_NULL;
    if (side->counts)
        kept->counts = (int*)weft_nbc_own_copy(call, side->counts, blocks * sizeof(int));
    if (side->displs)
        kept->displs = (int*)weft_nbc_own_copy(call, side->displs, blocks * sizeof(int));
    if (side->at)
        kept->at = (MPI_Aint*)weft_nbc_own_copy(call, side->at, blocks * sizeof(MPI_Aint));
    if (!kept->counts != !side->counts || !kept->displs != !side->displs || !kept->at != !side->at)
        return NBC_OOR;
    if (!side->types)
        return MPI_Type_dup(side->type, &kept->type) == MPI_SUCCESS ? NBC_OK : NBC_OOR;
    types = (MPI_Datatype*)weft_nbc_own(call, blocks * sizeof *types);
    if (!types) return NBC_OOR;
    for (block = 0; block < side->blocks; ++block) types[block] = MPI_DATATYPE_NULL;
    kept->types = call->types = types;
    for (block = 0; block < side->blocks; ++block)
        if (side->counts[block] > 0 &&
            MPI_Type_dup(side->types[block], &types[block]) != MPI_SUCCESS)
            return NBC_OOR;
    return NBC_OK;
}

#endif
