/* Runs the sections named by its arguments, and reports failures. */
#define _POSIX_C_SOURCE 200809L
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"

int world_rank, world_ranks;
const char* program_path;
__thread unsigned long checks;
struct Options options = {1, 0, NULL, 0, 0, 0, 0};

static __thread char what[512];
static const char *skipped[64], *picked;
static unsigned long failures;
static unsigned hang_seconds = 50; /* for one step */

void doing(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    alarm(hang_seconds);
}

void fail(const char* file, int line, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "failed: rank %d of %d: %s: %s (%s:%d, seed=%lu)\n", world_rank, world_ranks,
            what, text, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, options.seed);
    fflush(stderr);
    ++failures;
    if (options.keep) return;
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

void expect_success(int code, const char* file, int line, const char* call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fail(file, line, "%s: %s", call, text);
}

/* From the beginning of a word on: "blocking" is not in "nonblocking". */
static int has(const char* description, const char* pattern) {
    char wide[256], words[512];
    snprintf(wide, sizeof wide, "* %s*", pattern);
    snprintf(words, sizeof words, " %s", description);
    return fnmatch(wide, words, 0) == 0;
}

int is_skipped(const char* description) {
    int i;
    for (i = 0; skipped[i]; ++i) {
        if (has(description, skipped[i])) return 1;
    }
    return picked && !has(description, picked);
}

int is_listed(const char* name) {
    int i;
    for (i = 0; skipped[i]; ++i) {
        if (!strcmp(skipped[i], name)) return 1;
    }
    return 0;
}

/* Reports where it hangs. */
static void too_late(int number) {
    char text[640];
    const int length = snprintf(text, sizeof text, "failed: rank %d of %d hangs: %s (seed=%lu)\n",
                                world_rank, world_ranks, what, options.seed);
    (void)number;
    if (write(2, text, (size_t)length) < 0) _exit(2);
    _exit(1);
}

static const Section* const all[] = {collective_sections,
                                     reduction_sections,
                                     completion_sections,
                                     communicator_sections,
                                     regression_sections,
                                     error_sections,
                                     random_sections,
                                     thread_sections,
                                     large_sections,
                                     absent_sections,
                                     predefined_sections,
                                     NULL};

static const Section* section_named(const char* name) {
    int i;
    const Section* section;
    for (i = 0; all[i]; ++i) {
        for (section = all[i]; section->name; ++section) {
            if (!strcmp(section->name, name)) return section;
        }
    }
    return NULL;
}

static int usage(const char* wrong) {
    int i;
    const Section* section;
    if (wrong) fprintf(stderr, "no section %s\n", wrong);
    for (i = 0; all[i]; ++i) {
        for (section = all[i]; section->name; ++section)
            printf("%-28s %s\n", section->name, section->says);
    }
    return wrong ? 2 : 0;
}

/* -1: it is another option. */
static int level_of(const char* option) {
    if (!strcmp(option, "threads=single")) return MPI_THREAD_SINGLE;
    if (!strcmp(option, "threads=funneled")) return MPI_THREAD_FUNNELED;
    if (!strcmp(option, "threads=serialized")) return MPI_THREAD_SERIALIZED;
    if (!strcmp(option, "threads=multiple")) return MPI_THREAD_MULTIPLE;
    return -1;
}

/* Whether it was one of the options. */
static int is_option(const char* text) {
    static int skips;
    const char* value = strchr(text, '=');
    if (!value) return 0;
    ++value;
    if (!strncmp(text, "seed=", 5))
        options.seed = strtoul(value, NULL, 0);
    else if (!strncmp(text, "count=", 6))
        options.count = strtol(value, NULL, 0);
    else if (!strncmp(text, "only=", 5))
        options.only = value;
    else if (!strncmp(text, "large=", 6))
        options.large = atoi(value);
    else if (!strncmp(text, "forget=", 7))
        options.forget = atoi(value);
    else if (!strncmp(text, "skip=", 5) && skips < 63)
        skipped[skips++] = value;
    else if (!strncmp(text, "pick=", 5))
        picked = value;
    else if (!strncmp(text, "keep=", 5))
        options.keep = atoi(value);
    else if (!strncmp(text, "empty=", 6))
        options.empty = atoi(value);
    else
        return level_of(text) >= 0;
    return 1;
}

int main(int argc, char** argv) {
    const char* seconds = getenv("CORPUS_SECONDS");
    int i, wanted = -1, level;
    for (i = 1; i < argc; ++i) {
        if (!is_option(argv[i]) && !section_named(argv[i])) return usage(argv[i]);
        if (level_of(argv[i]) >= 0) wanted = level_of(argv[i]);
    }
    if (argc < 2) return usage(NULL);
    program_path = argv[0];
    signal(SIGALRM, too_late);
    if (seconds) hang_seconds = (unsigned)atoi(seconds);
    alarm(hang_seconds);
    if (wanted >= 0)
        MPI_Init_thread(&argc, &argv, wanted, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    doing("MPI_Init_thread");
    if (wanted >= 0) CHECK(level >= wanted);
    if (world_ranks > MAX_RANKS) fail(__FILE__, __LINE__, "at most %d ranks", MAX_RANKS);
    for (i = 1; i < argc; ++i) {
        if (strchr(argv[i], '=')) continue;
        doing("%s", argv[i]);
        section_named(argv[i])->run();
    }
    doing("MPI_Finalize");
    i = world_rank;
    MPI_Finalize();
    if (failures) return 1;
    if (i == 0) printf("ok %lu checks (seed=%lu)\n", checks, options.seed);
    return 0;
}
