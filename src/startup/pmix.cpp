// Startup under a launcher with PMIx: Open MPI's mpirun, prterun, Slurm's `--mpi=pmix`.
//
// The library libpmix is not linked but opened while the process joins; such a launcher's
// installation has it. Its sleeping thread stays until the process ends.
//
// Open MPI 5.0 does not start in a process that has called PMIx_Init already (MPI_Init: "local rank
// ... Not found"), and crashes in MPI_Finalize after PMIx_Finalize. A program that uses both calls
// MPI_Init first.
#include "startup/kinds.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "startup/key_value.h"

// The part of libpmix's ABI that Weft uses: PMIx Standard 4.1, chapters 3 to 7 and appendix;
// unchanged since version 2.
namespace weft::pmix {

using Code = int;
constexpr Code success = 0;

// pmix_proc_t
struct ProcessId {
    char space[256];
    std::uint32_t rank;
};
constexpr std::uint32_t every_rank = 0xfffffffe;  // PMIX_RANK_WILDCARD

// pmix_value_t
struct Value {
    static constexpr std::uint16_t boolean = 1;  // PMIX_BOOL
    static constexpr std::uint16_t text = 3;     // PMIX_STRING
    static constexpr std::uint16_t number = 14;  // PMIX_UINT32

    std::uint16_t type;
    union {
        bool flag;
        char* string;
        std::uint32_t uint32;
        void* room[3];
    } data;
};

// pmix_info_t
struct Info {
    char key[512];
    std::uint32_t flags;
    Value value;
};

constexpr std::uint8_t everywhere = 3;  // PMIX_GLOBAL
constexpr const char* job_size = "pmix.job.size";
constexpr const char* collect = "pmix.collect";

using Finished = void (*)(Code, void*);

// The functions PMIx_<name>.
struct Functions {
    Code (*Init)(ProcessId*, Info*, std::size_t);
    Code (*Finalize)(const Info*, std::size_t);
    Code (*Put)(std::uint8_t, const char*, Value*);
    Code (*Commit)();
    Code (*Fence_nb)(const ProcessId*, std::size_t, const Info*, std::size_t, Finished, void*);
    Code (*Get)(const ProcessId*, const char*, const Info*, std::size_t, Value**);
    const char* (*Error_string)(Code);
};

}  // namespace weft::pmix

namespace weft {
namespace {

// Where installations have the library (the last is Open MPI's Python package), unless the system
// finds it, or the process has it already.
std::vector<std::string> candidates() {
    const std::string name = "libpmix.so.2";
    std::vector<std::string> paths = {name};
    for (const char* variable : {"PMIX_PREFIX", "PMIX_INSTALL_PREFIX", "OPAL_PREFIX"}) {
        const char* prefix = std::getenv(variable);
        if (prefix == nullptr || *prefix != '/') continue;
        for (const char* folder : {"/lib/", "/lib64/", "/lib/openmpi/"}) {
            paths.push_back(std::string(prefix) + folder + name);
        }
    }
    return paths;
}

// The library stays open: it has threads and handlers.
Result<pmix::Functions> open_library() {
    void* library = nullptr;
    std::string looked;
    for (const std::string& path : candidates()) {
        library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) break;
        looked += (looked.empty() ? "" : ", ") + path;
    }
    if (library == nullptr) {
        return failure(
            WEFT_REFUSED_UNSUPPORTED,
            "the launcher speaks PMIx (PMIX_RANK is set), but its library was not found: "
            "%s; LD_LIBRARY_PATH can name its folder",
            looked.c_str());
    }
    pmix::Functions functions{};
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (function == nullptr) missing = name;
    };
    find(functions.Init, "PMIx_Init");
    find(functions.Finalize, "PMIx_Finalize");
    find(functions.Put, "PMIx_Put");
    find(functions.Commit, "PMIx_Commit");
    find(functions.Fence_nb, "PMIx_Fence_nb");
    find(functions.Get, "PMIx_Get");
    find(functions.Error_string, "PMIx_Error_string");
    if (missing.empty()) return functions;
    return failure(WEFT_REFUSED_UNSUPPORTED, "libpmix.so.2 has no %s", missing.c_str());
}

// One Finalize for each Init; an MPI in this process counts separately.
pmix::Functions entered{};
pid_t entered_pid = 0;  // a forked child does not call Finalize for its parent

void leave() {
    if (::getpid() == entered_pid) entered.Finalize(nullptr, 0);
}

// The outcome of a fence, from PMIx's thread; it may come after the deadline.
struct Fence {
    std::mutex mutex;
    std::condition_variable ended;
    bool is_over = false;
    pmix::Code code = pmix::success;
};

class PmixSpace final : public KeyValueStartup {
  public:
    PmixSpace(const pmix::Functions& functions, const pmix::ProcessId& self, std::uint32_t ranks,
              std::int64_t timeout_ns)
        : KeyValueStartup(static_cast<Rank>(self.rank), static_cast<Rank>(ranks), timeout_ns,
                          value_bytes),
          functions_(functions),
          self_(self) {}

  private:
    // Shorter than values that PMIx compresses: it does not always decompress them for the reader.
    static constexpr std::size_t value_bytes = 2048;

    Status put(const std::string& key, const std::string& value) override {
        std::string text = value;
        pmix::Value given{.type = pmix::Value::text, .data = {.string = text.data()}};
        return check("PMIx_Put", functions_.Put(pmix::everywhere, key.c_str(), &given));
    }

    Status fence() override {
        WEFT_RETURN_IF_NOT_OK(check("PMIx_Commit", functions_.Commit()));
        pmix::Info collects{.key = {}, .flags = 0, .value = {}};
        std::strcpy(collects.key, pmix::collect);
        collects.value.type = pmix::Value::boolean;
        collects.value.data.flag = true;
        pmix::ProcessId all = self_;
        all.rank = pmix::every_rank;

        auto fence = std::make_shared<Fence>();
        auto told = std::make_unique<std::shared_ptr<Fence>>(fence);
        const auto tell = [](pmix::Code code, void* context) {
            std::unique_ptr<std::shared_ptr<Fence>> own(
                static_cast<std::shared_ptr<Fence>*>(context));
            std::lock_guard<std::mutex> lock((*own)->mutex);
            (*own)->code = code;
            (*own)->is_over = true;
            (*own)->ended.notify_all();
        };
        WEFT_RETURN_IF_NOT_OK(
            check("PMIx_Fence_nb", functions_.Fence_nb(&all, 1, &collects, 1, tell, told.get())));
        told.release();  // to the callback

        std::unique_lock<std::mutex> lock(fence->mutex);
        const std::chrono::steady_clock::time_point until{
            std::chrono::nanoseconds(deadline().at_ns)};
        if (!fence->ended.wait_until(lock, until, [&] { return fence->is_over; })) {
            return deadline().passed();
        }
        return check("PMIx_Fence_nb", fence->code);
    }

    Result<std::string> get(Rank owner, const std::string& key) override {
        pmix::ProcessId process = self_;
        process.rank = static_cast<std::uint32_t>(owner);
        pmix::Value* value = nullptr;
        WEFT_RETURN_IF_NOT_OK(
            check("PMIx_Get", functions_.Get(&process, key.c_str(), nullptr, 0, &value)));
        std::string text;
        if (value->type == pmix::Value::text) {
            text = value->data.string;
            std::free(value->data.string);
        }
        std::free(value);
        return text;
    }

    Status check(const char* function, pmix::Code code) const {
        if (code == pmix::success) return ok;
        return failure(WEFT_REFUSED_STATE, "%s: %s (%d)", function, functions_.Error_string(code),
                       code);
    }

    pmix::Functions functions_;
    pmix::ProcessId self_;
};

}  // namespace

Result<std::unique_ptr<Startup>> startup_by_pmix(std::int64_t timeout_ns) {
    Result<pmix::Functions> functions = open_library();
    if (!functions.is_ok()) return functions.status();
    pmix::ProcessId self{};
    pmix::Code code = functions->Init(&self, nullptr, 0);
    if (code != pmix::success) {
        return failure(WEFT_REFUSED_STATE, "PMIx_Init: %s (%d)", functions->Error_string(code),
                       code);
    }
    if (entered_pid == 0) {
        entered = *functions;
        entered_pid = ::getpid();
        std::atexit(leave);
    } else {
        functions->Finalize(nullptr, 0);
    }
    pmix::ProcessId all = self;
    all.rank = pmix::every_rank;
    pmix::Value* size = nullptr;
    code = functions->Get(&all, pmix::job_size, nullptr, 0, &size);
    const bool is_number = code == pmix::success && size->type == pmix::Value::number;
    const std::uint32_t ranks = is_number ? size->data.uint32 : 0;
    if (code == pmix::success) std::free(size);
    if (ranks == 0 || ranks > wire_ranks_max || self.rank >= ranks) {
        return failure(WEFT_REFUSED_STATE, "PMIx reports %u ranks, of which this is rank %u (%s)",
                       ranks, self.rank, functions->Error_string(code));
    }
    return std::unique_ptr<Startup>(
        std::make_unique<PmixSpace>(*functions, self, ranks, timeout_ns));
}

}  // namespace weft
