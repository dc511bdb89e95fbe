#include "mpi_dropin/part/settings.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace weft::dropin {
namespace {

constexpr double patience_max_s = 1'000'000;  // as weft_init's

constexpr const char* names[] = {
#define COLLECTIVE(Name, name, parameters, arguments, call_) \
    "MPI_I" #name, "MPI_" #Name "_init", "MPI_" #Name,
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
};

// Open MPI's Fortran bindings store into the requests that these functions return, as if they were
// Open MPI's own; a wrapper cannot see that Fortran called it.
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

std::string_view environment(const char* name) {
    const char* text = std::getenv(name);
    return text ? text : "";
}

// Nothing unless it is the whole text, as in src/base/setting.h.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
    return value;
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
            settings.refusal = "WEFT_DISABLE names " + std::string(word) +
                               "; expected functions that Weft takes, such as ibcast, or all";
        }
    }
}

}  // namespace

const char* name_of(int function) { return names[function]; }

DropInSettings read_settings() {
    DropInSettings settings;
    const bool takes_blocking = environment("WEFT_BLOCKING") == "1";
    for (int function = 0; function < functions; ++function) {
        const bool blocks = function % forms == static_cast<int>(Form::blocking);
        settings.takes[function] = (!blocks || takes_blocking) && !is_left(names[function]);
    }
    disable(settings, environment("WEFT_DISABLE"));
    settings.min_bytes = number_of<std::int64_t>(environment("WEFT_MIN_BYTES")).value_or(0);
    settings.tries_all_pairs = environment("WEFT_PRELOAD_CHECK") == "1";
    const std::string_view statistics = environment("WEFT_STATS");
    settings.prints_all_ranks = statistics == "all";
    settings.prints_statistics = settings.prints_all_ranks || statistics == "1";
    const std::optional<double> patience = number_of<double>(environment("WEFT_STARTUP_TIMEOUT"));
    if (patience && *patience > 0 && *patience <= patience_max_s) {
        settings.patience_ns = static_cast<std::int64_t>(*patience * 1e9);
    }
    std::uint64_t hash = 0xcbf29ce484222325u;
    auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
    for (bool takes : settings.takes) add(takes);
    add(static_cast<std::uint64_t>(settings.min_bytes));
    settings.agreed = hash;
    return settings;
}

}  // namespace weft::dropin
