// Opens another build's libweft.so beside this program's own functions.
#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <memory>

#include "bench/launch.h"
#include "bench/player/weft.h"

namespace weft::bench {
namespace {

std::map<std::string, std::unique_ptr<OtherBuild>>& opened() {
    static std::map<std::string, std::unique_ptr<OtherBuild>> builds;
    return builds;
}

template <class Function>
bool load(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

// The first function that it lacks; null: none.
const char* load(void* library, Api& api) {
#define LOAD(field, name) \
    if (!load(library, name, api.field)) return name
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    LOAD(name.call, "weft_" #name);                              \
    LOAD(name.start, "weft_i" #name);                            \
    LOAD(name.init, "weft_" #name "_init");
#include "algorithm/collectives.def"
#undef COLLECTIVE
    const bool has_messages = load(library, "weft_isend", api.isend) &&
                              load(library, "weft_irecv", api.irecv) &&
                              load(library, "weft_send_init", api.send_init) &&
                              load(library, "weft_recv_init", api.recv_init);
    if (!has_messages) api.isend = nullptr;
    LOAD(start, "weft_start");
    LOAD(test, "weft_test");
    LOAD(wait, "weft_wait");
    LOAD(request_free, "weft_request_free");
    LOAD(set_engine, "weft_set_engine");
    LOAD(comm_dup_with, "weft_comm_dup_with");
    LOAD(comm_free, "weft_comm_free");
    LOAD(comm_from_oob, "weft_comm_from_oob");
    LOAD(finalize, "weft_finalize");
    LOAD(status_name, "weft_status_name");
    LOAD(last_detail, "weft_last_detail");
#undef LOAD
    return nullptr;
}

int allgather(void* context, const void* mine, void* all, int bytes) {
    const Job& world = *static_cast<const Job*>(context);
    const auto count = static_cast<std::size_t>(bytes);
    return weft_allgather(mine, all, count, WEFT_BYTE, world.comm) == WEFT_OK ? 0 : 1;
}

// Of a path, a build's folder or "own": this program's, but as a library like the other one, since a
// call within the program is a little faster.
std::string library_of(const std::string& path) {
    namespace fs = std::filesystem;
    fs::path folder = path == "own" ? own_library_folder() : path;
    if (fs::is_directory(folder)) folder /= "libweft.so";
    std::error_code unknown;
    const fs::path file = fs::canonical(folder, unknown);
    return unknown ? folder.string() : file.string();
}

// The sentence of what failed here; "": the functions are loaded.
std::string open(const std::string& file, Api& api) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return dlerror();
    const char* const missing = load(library, api);
    return missing == nullptr ? "" : file + " has no function " + missing;
}

}  // namespace

std::string own_library_folder() {
    const std::filesystem::path here = std::filesystem::path(this_program()).parent_path();
    return std::filesystem::exists(here / "libweft.so") ? here : here / "../lib";
}

const OtherBuild* other_build(const std::string& path, const Job& world, std::string& why) {
    const std::string file = library_of(path);
    std::unique_ptr<OtherBuild>& build = opened()[file];
    if (build) return build.get();
    auto made = std::make_unique<OtherBuild>();
    why = first_sentence(world, open(file, made->api));
    if (!why.empty()) return nullptr;
    Job context = world;
    weft_oob oob{};
    oob.struct_bytes = sizeof oob;
    oob.context = &context;
    oob.rank = world.rank;
    oob.ranks = world.ranks;
    oob.allgather = allgather;
    must(made->api, made->api.comm_from_oob(&oob, &made->comm), "weft_comm_from_oob");
    build = std::move(made);
    return build.get();
}

void close_other_builds() {
    for (const auto& [path, build] : opened())
        if (build) must(build->api, build->api.finalize(), "weft_finalize");
    opened().clear();
}

}  // namespace weft::bench
