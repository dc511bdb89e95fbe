// The library to preload. It exports MPI_X and PMPI_X of every wrapped function, each as one
// indirect jump, and depends on the C library alone: it is loaded into every process of a job
// script, even those without an MPI.
//
// The first call of a function looks for the MPI that the process has loaded, and opens the part
// that was compiled for its binary interface (src/mpi_dropin/part), which is beside this library.
// Where there is no such part, or it does not wrap a function, the call goes to the MPI; if the MPI
// lacks it, to a stand-in.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "stub.h"

// How a stub jumps to its slot's target, and how it hands its slot to weft_first_call, which binds
// the slot and jumps to its target. MPI's functions have no floating-point arguments. clang-format
// off
#if defined(__x86_64__)
#define JUMP_TO(slot) "\tjmp *" slot "(%rip)\n"
#define BIND(slot) "\tlea " slot "(%rip), %r11\n\tjmp weft_first_call\n"
__asm__(
    ".text\n"
    "weft_first_call:\n"
    "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tpush %rax\n"
    "\tmov %r11, %rdi\n"
    "\tcall weft_bind_slot\n"
    "\tmov %rax, %r11\n"
    "\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
    "\tjmp *%r11\n");
#elif defined(__aarch64__)
#define JUMP_TO(slot) "\tadrp x16, " slot "\n\tldr x16, [x16, :lo12:" slot "]\n\tbr x16\n"
#define BIND(slot) "\tadrp x16, " slot "\n\tadd x16, x16, :lo12:" slot "\n\tb weft_first_call\n"
__asm__(
    ".text\n.balign 4\n"
    "weft_first_call:\n"
    "\tstp x29, x30, [sp, #-80]!\n\tmov x29, sp\n"
    "\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n"
    "\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n"
    "\tmov x0, x16\n"
    "\tbl weft_bind_slot\n"
    "\tmov x16, x0\n"
    "\tldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n"
    "\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n"
    "\tldp x29, x30, [sp], #80\n"
    "\tbr x16\n");
#else
#error "libweft_mpi.so is written for x86-64 and aarch64"
#endif

#define STUB(name)                                                            \
    __asm__(                                                                  \
        ".text\n.balign 4\n"                                                  \
        ".globl " name "\n.type " name                                        \
        ",%function\n"                                                        \
        ".globl P" name "\n.type P" name ",%function\n" name ":\nP" name      \
        ":\n" JUMP_TO("weft_slot_" name) "weft_first_" name ":\n" BIND(       \
            "weft_slot_" name) ".size " name ", .-" name                      \
                               "\n"                                           \
                               ".section .rodata\n"                           \
                               "weft_name_" name ":\n\t.string \"" name       \
                               "\"\n"                                         \
                               ".data\n.balign 8\n"                           \
                               "weft_slot_" name                              \
                               ":\n"                                          \
                               "\t.quad weft_first_" name ", weft_name_" name \
                               "\n"                                           \
                               ".text\n");
// clang-format on

#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    STUB("MPI_I" #name)                                                     \
    STUB("MPI_" #Name "_init")                                              \
    STUB("MPI_" #Name)
#define COLLECTIVE(Name, name, parameters, arguments, call_)            \
    COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    STUB("MPI_I" #name "_c")                                            \
    STUB("MPI_" #Name "_init_c")                                        \
    STUB("MPI_" #Name "_c")
#define CONSTRUCTOR(name, parameters, arguments) STUB("MPI_" #name)
#define FUNCTION(name) STUB("MPI_" #name)
#define EXTENSION(name) STUB("MPIX_" #name)
#include "collectives.def"
#include "functions.def"

static void* the_mpi;                            // as dlopen returns it; null: none that is known
static void* (*find_wrapper)(const char* name);  // of the part; null: there is none
static int is_open;

static const struct values of_mpich = {
    .in_place = (void*)-1,
    .status_ignore = (void*)1,
    .status_bytes = 20,
    .status_error = 16,
    .request_bytes = 4,
    .null_request = 0x2c000000,
    .root = -3,
    .cart = 2,
    .graph = 1,
    .no_memory = 34,
    .unsupported = 44,
};
static const struct values of_openmpi = {
    .in_place = (void*)1,
    .status_ignore = NULL,
    .status_bytes = 24,
    .status_error = 8,
    .request_bytes = sizeof(void*),
    .null_request_name = "ompi_request_null",
    .root = -4,
    .cart = 1,
    .graph = 2,
    .no_memory = 39,
    .unsupported = 52,
    .persistent_prefix = "PMPIX_",
};

struct interface {
    const char* library;  // how the file's name begins, as SONAME says it
    const char* part;
    const struct values* values;
};
static const struct interface interfaces[] = {
    {"libmpi_abi.so.", "abi", NULL},       // newer than all that is wrapped: it lacks nothing
    {"libmpi.so.12", "mpich", &of_mpich},  // also Intel MPI, and others with that binary interface
    {"libmpich.so.12", "mpich", &of_mpich},
    {"libmpi.so.40", "openmpi", &of_openmpi},
};
static const struct values* values;

struct found {
    const struct interface* interface;
    char path[4096];
};

// The SONAME of a loaded library; null: it has none.
static const char* soname_of(const struct dl_phdr_info* info) {
    const ElfW(Dyn)* entry = NULL;
    const char* strings = NULL;
    ElfW(Xword) name = 0;
    int i, has_name = 0;
    for (i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    for (; entry && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) strings = (const char*)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val, has_name = 1;
    }
    // The C library has made the address absolute, except in the kernel's own object.
    if (!has_name || !strings || (ElfW(Addr))strings < info->dlpi_addr) return NULL;
    return strings + name;
}

static int look_at(struct dl_phdr_info* info, size_t size, void* data) {
    struct found* found = data;
    const char* name = soname_of(info);
    size_t i;
    (void)size;
    if (!name || !*info->dlpi_name) return 0;
    for (i = 0; i < sizeof interfaces / sizeof *interfaces; ++i) {
        if (strncmp(name, interfaces[i].library, strlen(interfaces[i].library)) != 0) continue;
        found->interface = &interfaces[i];
        snprintf(found->path, sizeof found->path, "%s", info->dlpi_name);
        return 1;
    }
    return 0;
}

// The absolute path of this library, if its name was relative: found before the program changes its
// directory.
static char* own_path;

__attribute__((constructor)) static void find_own_path(void) {
    Dl_info here;
    if (dladdr((void*)find_own_path, &here) && *here.dli_fname != '/')
        own_path = realpath(here.dli_fname, NULL);
}

// Opens the part beside this library.
static void open_part(const struct interface* interface) {
    Dl_info here;
    char path[4096];
    const char *file = own_path, *end;
    void* part;
    int (*start)(void* mpi);
    if (!file && dladdr((void*)open_part, &here)) file = here.dli_fname;
    if (!file || !(end = strrchr(file, '/'))) {
        fprintf(stderr, "weft: libweft_mpi.so cannot find its own path; the MPI is left alone\n");
        return;
    }
    snprintf(path, sizeof path, "%.*s/weft_mpi_%s.so", (int)(end - file), file, interface->part);
    part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!part) {
        fprintf(stderr,
                "weft: the MPI is left alone, because its part of Weft cannot be opened: %s\n",
                dlerror());
        return;
    }
    *(void**)&start = dlsym(part, "weft_mpi_part_start");
    if (start && start(the_mpi) == 0) *(void**)&find_wrapper = dlsym(part, "weft_mpi_part_find");
}

static void open_all(void) {
    static struct found found;
    dl_iterate_phdr(look_at, &found);
    if (!found.interface) {
        fprintf(
            stderr,
            "weft: a program calls MPI functions, but has loaded no MPI for which Weft has a part; "
            "they are left alone\n");
        return;
    }
    the_mpi = dlopen(found.path, RTLD_NOLOAD | RTLD_NOW);
    values = found.interface->values;
    if (the_mpi) {
        open_part(found.interface);
    } else {
        fprintf(stderr, "weft: the MPI is left alone: %s\n", dlerror());
    }
}

void* weft_find_underneath(const char* symbol) {
    return dlsym(the_mpi ? the_mpi : RTLD_NEXT, symbol);
}

// Says that Weft had nothing to take, in the program that `weft preload` has started, unless that
// started others: a script, or a launcher.
__attribute__((destructor)) static void tell_of_no_mpi(void) {
    const char* told = getenv("WEFT_PRELOAD_PID");
    struct found found;
    struct rusage children;
    if (!told || atol(told) != (long)getpid()) return;
    found.interface = NULL;
    dl_iterate_phdr(look_at, &found);
    if (found.interface || getrusage(RUSAGE_CHILDREN, &children) != 0 || children.ru_maxrss > 0)
        return;
    fprintf(stderr,
            "weft: %s has loaded no MPI for which Weft has a part: nothing was taken; is it linked "
            "dynamically to an MPI?\n",
            program_invocation_name);
}

void* weft_bind_slot(struct slot* slot) {
    static int turn;  // 0: nobody opens, 1: a thread does
    void* target = NULL;
    char name[64];
    if (!__atomic_load_n(&is_open, __ATOMIC_ACQUIRE)) {
        while (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE)) sched_yield();
        if (!is_open) open_all();
        __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
        __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
    }
    if (find_wrapper) target = find_wrapper(slot->name);
    if (!target) {
        snprintf(name, sizeof name, "P%s", slot->name);
        target = weft_find_underneath(name);
        if (!target) target = weft_find_underneath(slot->name);
    }
    if (!target) target = weft_find_stand_in(slot->name, values);
    if (!target) {
        fprintf(stderr, "weft: the MPI of this process does not have %s\n", slot->name);
        abort();
    }
    __atomic_store_n(&slot->target, target, __ATOMIC_RELEASE);
    return target;
}
