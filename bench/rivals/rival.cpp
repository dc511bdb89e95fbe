// Loads an MPI.
#include "bench/rivals/rival.h"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "bench/work.h"

namespace weft::bench {
namespace {

// The handle is never closed: MPIs leave threads and handlers behind.
const weft_rival_part* load(const std::string& library) {
    // Global: some MPIs load parts that look for symbols of the others.
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) fail("%s", dlerror());
    const void* const symbol = dlsym(handle, "weft_rival");
    if (symbol == nullptr) fail("%s", dlerror());
    return static_cast<const weft_rival_part*>(symbol);
}

// The MPI's name and version: the text up to the first comma or line end, with single blanks.
std::string shortened(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, text.find_first_of(",\r\n"))) {
        const bool is_blank = c == ' ' || c == '\t';
        if (!is_blank || (!out.empty() && out.back() != ' ')) out += is_blank ? ' ' : c;
    }
    return out;
}

}  // namespace

int launched_rank() {
    for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return -1;
}

const Rival* Rival::of_this_job() {
    static const std::unique_ptr<const Rival> rival = [] {
        const char* const name = std::getenv(rival_name_setting);
        const char* const part = std::getenv(rival_part_setting);
        return std::unique_ptr<const Rival>(name && part ? new Rival(name, part) : nullptr);
    }();
    return rival.get();
}

Rival::Rival(const std::string& name, const std::string& library)
    : name_(name),
      is_async_(name.ends_with(":async")),
      ns_per_iteration_(calibrate_ns_per_iteration()),
      part_(load(library)) {
    std::array<char, 256> version{};
    const bool has_threads = is_async_ || std::getenv(rival_threads_setting);
    part_->open(has_threads, version.data(), version.size());
    version_ = shortened(version.data());
    weft_comm comm = WEFT_COMM_NULL;
    must(part_->join(weft_comm_from_oob, &comm), "weft_comm_from_mpi");
    must(weft_comm_free(&comm), "weft_comm_free");  // it has the ranks of weft_comm_world
}

void Rival::start_pipeline(Case& c, std::size_t segment_bytes, bool in_thread) const {
    if (c.bytes > INT_MAX) fail("%zu bytes; expected at most %d beside an MPI", c.bytes, INT_MAX);
    const weft_rival_data data{c.send.data(), c.recv.data(), c.bytes, 0};
    part_->start_pipeline(&data, segment_bytes, in_thread);
}

Rival::Call::Call(const Rival& rival, const Collective& collective, Case& c)
    : functions_(rival.part_->find(collective.name)),
      data_{c.send.data(), c.recv.data(), c.bytes, c.recv.size() / sizeof(double)} {
    if (functions_ == nullptr) fail("%s has no %s here", rival.name(), collective.name);
    // MPI counts are int.
    if (c.bytes > INT_MAX) {
        fail("%s of %zu bytes; expected at most %d beside an MPI", collective.name, c.bytes,
             INT_MAX);
    }
}

}  // namespace weft::bench
