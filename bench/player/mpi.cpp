#include "bench/player/mpi.h"

#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "bench/engines.h"
#include "bench/player/players.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

// The handle is never closed: MPIs leave threads and handlers behind.
const weft_rival_part* load(const std::string& library, int scope) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | scope);
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

weft_rival_data data_of(const Collective& collective, Case& c) {
    if (c.bytes > INT_MAX)  // MPI counts are int
        fail("%s of %zu bytes; expected at most %d with an MPI", collective.name, c.bytes, INT_MAX);
    return {c.send.data(), c.recv.data(), c.bytes, c.recv.size() / sizeof(double)};
}

}  // namespace

int launched_rank() {
    for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return -1;
}

const Mpi* Mpi::of_this_job() {
    static const std::unique_ptr<const Mpi> mpi = [] {
        const char* const name = std::getenv(mpi_name_setting);
        const char* const part = std::getenv(mpi_part_setting);
        return std::unique_ptr<const Mpi>(name && part ? new Mpi(name, part) : nullptr);
    }();
    return mpi.get();
}

Mpi::Mpi(const std::string& name, const std::string& library)
    : name_(name),
      ns_per_iteration_(calibrate_ns_per_iteration()),
      // Global: some MPIs load parts that look for symbols of the others.
      part_(load(library, RTLD_GLOBAL)) {
    std::array<char, 256> version{};
    const bool has_threads = is_async() || std::getenv(mpi_threads_setting) != nullptr;
    init_us_ = part_->open(has_threads, version.data(), version.size());
    version_ = shortened(version.data());
    prefer_no_engine();  // not a library that is preloaded, which has joined by now
    weft_comm comm = WEFT_COMM_NULL;
    must(part_->join(weft_comm_from_oob, &comm), "weft_comm_from_mpi");
    must(weft_comm_free(&comm), "weft_comm_free");  // it has the ranks of weft_comm_world
}

std::string MpiCalls::absence(const Collective& collective, const Job&) const {
    if (part_.find(collective.name) != nullptr) return "";
    return std::string("it has no ") + collective.name;
}

const weft_rival_collective& MpiCalls::functions_of(const Collective& collective) {
    for (const Known& one : known_) {
        if (one.collective == &collective) return *one.functions;
    }
    known_.push_back({&collective, part_.find(collective.name)});
    return *known_.back().functions;
}

void MpiCalls::start(const Collective& collective, Case& c) {
    part_.use(whose_);
    const weft_rival_data data = data_of(collective, c);
    functions_of(collective).start(&data);
}

void MpiCalls::call(const Collective& collective, Case& c) {
    part_.use(whose_);
    const weft_rival_data data = data_of(collective, c);
    functions_of(collective).call(&data);
}

void MpiCalls::barrier() {
    part_.use(whose_);
    part_.barrier();
}

std::string MpiByHand::absence(const Collective& collective, const Job&) const {
    if (std::strcmp(collective.name, "ibcast") == 0) return "";
    return std::string(collective.name) + " is not pipelined by hand; ibcast is";
}

void MpiByHand::start(const Collective& collective, Case& c) {
    const weft_rival_data data = data_of(collective, c);
    part_.start_pipeline(&data, segment_bytes_, in_thread_);
    is_pending_ = true;
}

bool MpiByHand::test() {
    if (is_pending_) is_pending_ = part_.query_pipeline() == 0;
    return !is_pending_;
}

void MpiByHand::wait() {
    while (!test()) {
        if (in_thread_) sched_yield();
    }
}

std::unique_ptr<Player> make_mpi(const Cell& cell, const Job&, std::string& why) {
    const Mpi* const mpi = Mpi::of_this_job();
    if (mpi == nullptr) {
        why = "--against MPI names the MPIs; it is not given";
        return nullptr;
    }
    const std::string& way = cell.implementation;
    using Whose = MpiCalls::Whose;
    if (way == "mpi:hand" || way == "mpi:thread")
        return std::make_unique<MpiByHand>(*mpi, static_cast<std::size_t>(cell.segment),
                                           way == "mpi:thread");
    if (way == "libnbc" || way == "nbc:weft") {
        const char* const part =
            std::getenv(way == "libnbc" ? libnbc_part_setting : nbc_part_setting);
        why = part == nullptr ? "its part is not compiled" : *part == '/' ? "" : part;
        if (!why.empty()) return nullptr;
        // Open MPI has functions of LibNBC's names; and under the preload, LibNBC calls the MPI.
        return std::make_unique<MpiCalls>(*load(part, RTLD_LOCAL | RTLD_DEEPBIND), Whose::linked);
    }
    if (way == "thread:mpi")
        return in_thread(std::make_unique<MpiCalls>(mpi->part(), Whose::own_again));
    return std::make_unique<MpiCalls>(mpi->part(), way == "mpi" ? Whose::own : Whose::linked);
}

}  // namespace weft::bench
