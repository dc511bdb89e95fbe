#include "apps/common/exchange.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <filesystem>

namespace apps {
namespace {

int rank_of_failure = -1;

// --- Weft ----------------------------------------------------------------------------------------

weft_comm grid = WEFT_COMM_NULL;

void must(weft_status status) {
    if (status != WEFT_OK) fail("%s: %s", weft_status_name(status), weft_last_detail());
}

weft_comm comm_of(const weft_call& call) {
    return call.collective == WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV ? grid : weft_comm_world();
}

constexpr apps_backend weft_backend = {
    .open =
        [](int* rank, int* ranks) {
            must(weft_init());
            must(weft_comm_rank(weft_comm_world(), rank));
            must(weft_comm_size(weft_comm_world(), ranks));
        },
    .cart =
        [](int ndims, const int* dims, const int* periods) {
            if (grid != WEFT_COMM_NULL) must(weft_comm_free(&grid));
            must(weft_comm_cart(weft_comm_world(), ndims, dims, periods, &grid));
        },
    .start = [](const weft_call* call) -> void* {
        weft_request request = WEFT_REQUEST_NULL;
        must(weft_start_call(call, WEFT_NONBLOCKING, comm_of(*call), &request));
        return request;
    },
    .call =
        [](const weft_call* call) {
            must(weft_start_call(call, WEFT_BLOCKING, comm_of(*call), nullptr));
        },
    .test = [](void* handle) -> int {
        weft_request request = static_cast<weft_request>(handle);
        const weft_status status = weft_test(&request);
        if (status != WEFT_PENDING) must(status);
        return status == WEFT_OK;
    },
    .wait =
        [](void* handle) {
            weft_request request = static_cast<weft_request>(handle);
            must(weft_wait(&request));
        },
    .close = [] { must(weft_finalize()); },
};

// --- An MPI --------------------------------------------------------------------------------------

const apps_backend* load_mpi(const std::string& mpi) {
    std::string path = mpi;
    if (path.find('/') == path.npos)
        path =
            std::filesystem::read_symlink("/proc/self/exe").parent_path() / ("mpi-" + mpi + ".so");
    // Global: some MPIs load parts that look for symbols of the others. Never closed: MPIs leave threads behind.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr)
        fail(
            "%s\n(compile it with the MPI's mpicc: mpicc -O2 -shared -fPIC -Iinclude "
            "apps/common/mpi_part.c -o %s)",
            dlerror(), path.c_str());
    const void* const part = dlsym(library, "apps_mpi");
    if (part == nullptr) fail("%s", dlerror());
    return static_cast<const apps_backend*>(part);
}

}  // namespace

void fail(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::fflush(stdout);
    std::fprintf(stderr, "%s: ", program_invocation_short_name);
    if (rank_of_failure >= 0) std::fprintf(stderr, "rank %d: ", rank_of_failure);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
    _exit(1);  // no destructors: operations may be pending
}

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Exchange::Exchange(const std::string& backend, const std::string& mpi)
    : backend_(backend.starts_with("mpi") ? load_mpi(mpi) : &weft_backend),
      is_blocking_(backend.ends_with("-blocking")) {
    backend_->open(&rank_, &ranks_);
    rank_of_failure = rank_;
}

Exchange::~Exchange() { backend_->close(); }

void Exchange::make_grid(std::span<const int> dims, std::span<const int> periods) {
    backend_->cart(static_cast<int>(dims.size()), dims.data(), periods.data());
}

Request Exchange::start(const weft_call& call) {
    const double begin = now_s();
    void* request = nullptr;
    if (is_blocking_) {
        backend_->call(&call);
        times_.wait += now_s() - begin;
    } else {
        request = backend_->start(&call);
        times_.start += now_s() - begin;
    }
    return Request(this, request);
}

bool Request::test() {
    if (handle_ == nullptr) return true;
    const double begin = now_s();
    if (exchange_->backend_->test(handle_) != 0) handle_ = nullptr;
    exchange_->times_.test += now_s() - begin;
    return handle_ == nullptr;
}

void Request::wait() {
    if (handle_ == nullptr) return;
    const double begin = now_s();
    exchange_->backend_->wait(std::exchange(handle_, nullptr));
    exchange_->times_.wait += now_s() - begin;
}

}  // namespace apps
