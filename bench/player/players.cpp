// The table of implementations.
#include <string_view>

#include "bench/player/players.h"
#include "bench/player/weft.h"

namespace weft::bench {
namespace {

std::unique_ptr<Player> of_weft(const Cell& cell, const Job& world, std::string&) {
    return std::make_unique<WeftPlayer>(own_api, world.comm, cell, world);
}

std::unique_ptr<Player> of_weft_in_thread(const Cell& cell, const Job& world, std::string& why) {
    Cell blocking = cell;
    blocking.call = CallForm::blocking;
    return in_thread(of_weft(blocking, world, why));
}

std::unique_ptr<Player> of_build(const Cell& cell, const Job& world, std::string& why) {
    const std::string path = cell.implementation.substr(std::string_view("build:").size());
    const OtherBuild* build = other_build(path, world, why);
    if (build == nullptr) return nullptr;
    return std::make_unique<WeftPlayer>(build->api, build->comm, cell, world);
}

struct Implementation {
    std::string_view name;  // with ":" at the end: what follows is its own
    MakePlayer* make;
};

constexpr Implementation implementations[] = {
    {"weft", of_weft},
    {"thread:weft", of_weft_in_thread},
    {"build:", of_build},
    {"hand", make_by_hand},
    {"timer", make_timer},
    {"timer:wrong", make_timer},
    {"sockets", make_sockets},
    {"sockets:blocking", make_sockets},
    {"sockets:spinning", make_sockets},
    {"copy thread:", make_copy_thread},
    {"mpi", make_mpi},
    {"mpi:hand", make_mpi},
    {"mpi:thread", make_mpi},
    {"thread:mpi", make_mpi},
    {"libnbc", make_mpi},
    {"nbc:weft", make_mpi},
    {"preload", make_mpi},
    {"stub", make_mpi},
};

}  // namespace

std::unique_ptr<Player> make_player(const Cell& cell, const Job& world, std::string& why) {
    std::string known;
    for (const Implementation& one : implementations) {
        const bool is_start = one.name.ends_with(':');
        if (is_start ? cell.implementation.starts_with(one.name)
                     : cell.implementation == one.name) {
            std::unique_ptr<Player> made = one.make(cell, world, why);
            if (!made) return nullptr;
            for (const std::string& name : cell.collectives) {
                if (why.empty()) why = made->absence(**find_collective(name), world);
            }
            if (why.empty() && cell.collectives.size() > 1 && !made->takes_several())
                why = "it carries out one operation at a time";
            return why.empty() ? std::move(made) : nullptr;
        }
        known += (known.empty() ? "" : ", ") + std::string(one.name);
    }
    why = "implementation = \"" + cell.implementation + "\"; expected one of " + known;
    return nullptr;
}

}  // namespace weft::bench
