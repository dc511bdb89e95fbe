#include "mpi_dropin/part/settings.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::dropin {
namespace {

constexpr const char* names[] = {
#define COLLECTIVE(Name, name, parameters, arguments) \
    "MPI_I" #name, "MPI_" #Name "_init", "MPI_" #Name,
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
};

// Open MPI's Fortran bindings store into the requests that these functions return, as if they were Open MPI's own; a
// wrapper cannot see that Fortran called it.
[[maybe_unused]] constexpr std::string_view left_to_open_mpi[] = {"MPI_Ialltoallw",
                                                                  "MPI_Ineighbor_alltoallw",
                                                                  "MPI_Gatherv_init",
                                                                  "MPI_Scatterv_init",
                                                                  "MPI_Allgatherv_init",
                                                                  "MPI_Alltoallv_init",
                                                                  "MPI_Alltoallw_init",
                                                                  "MPI_Reduce_scatter_init",
                                                                  "MPI_Neighbor_allgatherv_init",
                                                                  "MPI_Neighbor_alltoallv_init",
                                                                  "MPI_Neighbor_alltoallw_init"};

bool is_left(std::string_view name) {
#ifdef OPEN_MPI
    for (std::string_view left : left_to_open_mpi) {
        if (left == name) return true;
    }
#endif
    (void)name;
    return false;
}

bool is_set(const char* setting) {
    const char* value = std::getenv(setting);
    if (!value || !*value || std::strcmp(value, "0") == 0) return false;
    if (std::strcmp(value, "1") != 0) {
        std::fprintf(stderr, "weft: %s=%s; expected 0 or 1: ignored\n", setting, value);
        return false;
    }
    return true;
}

// "ibcast", "MPI_Ibcast" and "bcast_init" name functions; "all" names all.
void disable(DropInSettings& settings, std::string_view list) {
    while (!list.empty()) {
        const std::size_t end = list.find(',');
        std::string_view word = list.substr(0, end);
        list = end == std::string_view::npos ? "" : list.substr(end + 1);
        if (word.empty()) continue;
        if (word.starts_with("MPI_")) word.remove_prefix(4);
        bool is_known = word == "all";
        for (int function = 0; function < functions; ++function) {
            std::string name = names[function] + 4;
            name[0] = static_cast<char>(std::tolower(name[0]));
            std::string given(word);
            given[0] = static_cast<char>(std::tolower(given[0]));
            if (word != "all" && given != name) continue;
            settings.takes[function] = false;
            is_known = true;
        }
        if (!is_known) {
            std::fprintf(
                stderr,
                "weft: WEFT_DISABLE names %.*s, which is not a function that Weft takes: ignored\n",
                static_cast<int>(word.size()), word.data());
        }
    }
}

}  // namespace

const char* name_of(int function) { return names[function]; }

DropInSettings read_settings() {
    DropInSettings settings;
    const bool takes_blocking = is_set("WEFT_BLOCKING");
    for (int function = 0; function < functions; ++function) {
        const bool blocks = function % forms == static_cast<int>(Form::blocking);
        settings.takes[function] = (!blocks || takes_blocking) && !is_left(names[function]);
    }
    if (const char* list = std::getenv("WEFT_DISABLE")) disable(settings, list);
    if (const char* text = std::getenv("WEFT_MIN_BYTES"); text && *text) {
        char* end = nullptr;
        const long long bytes = std::strtoll(text, &end, 10);
        if (*end != '\0' || bytes < 0) {
            std::fprintf(stderr, "weft: WEFT_MIN_BYTES=%s; expected a number of bytes: ignored\n",
                         text);
        } else {
            settings.min_bytes = bytes;
        }
    }
    const char* statistics = std::getenv("WEFT_STATS");
    settings.prints_statistics = statistics && *statistics && std::strcmp(statistics, "0") != 0;
    settings.prints_all_ranks = statistics && std::strcmp(statistics, "all") == 0;
    std::uint64_t hash = 0xcbf29ce484222325u;
    auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
    for (bool takes : settings.takes) add(takes);
    add(static_cast<std::uint64_t>(settings.min_bytes));
    settings.agreed = hash;
    return settings;
}

}  // namespace weft::dropin
