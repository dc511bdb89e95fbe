#include "apps/common/exchange.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <filesystem>

namespace apps {
namespace {

int rank_of_failure = -1;

// --- Weft ----------------------------------------------------------------------------------------

std::vector<weft_comm> groups;

void must(weft_status status) {
    if (status != WEFT_OK) fail("%s: %s", weft_status_name(status), weft_last_detail());
}

weft_comm comm_of(int group) { return groups[static_cast<std::size_t>(group)]; }

int add(weft_comm comm) {
    groups.push_back(comm);
    return static_cast<int>(groups.size()) - 1;
}

void open(int* rank, int* ranks) {
    must(weft_init());
    add(weft_comm_world());
    must(weft_comm_rank(weft_comm_world(), rank));
    must(weft_comm_size(weft_comm_world(), ranks));
}

int split(int group, int color, int* rank, int* ranks) {
    weft_comm made = WEFT_COMM_NULL;
    must(weft_comm_split(comm_of(group), color, 0, &made));
    must(weft_comm_rank(made, rank));
    must(weft_comm_size(made, ranks));
    return add(made);
}

int cart(int group, int ndims, const int* dims, const int* periods) {
    weft_comm made = WEFT_COMM_NULL;
    must(weft_comm_cart(comm_of(group), ndims, dims, periods, &made));
    return add(made);
}

void* start(const weft_call* one, int group) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_start_call(one, WEFT_NONBLOCKING, comm_of(group), &request));
    return request;
}

void call(const weft_call* one, int group) {
    must(weft_start_call(one, WEFT_BLOCKING, comm_of(group), nullptr));
}

int test(void* handle) {
    weft_request request = static_cast<weft_request>(handle);
    const weft_status status = weft_test(&request);
    if (status != WEFT_PENDING) must(status);
    return status == WEFT_OK;
}

void wait(void* handle) {
    weft_request request = static_cast<weft_request>(handle);
    must(weft_wait(&request));
}

void close() { must(weft_finalize()); }

constexpr apps_backend weft_backend = {open, split, cart, start, call, test, wait, close};

// --- An MPI --------------------------------------------------------------------------------------

const apps_backend* load_mpi(const std::string& mpi) {
    std::string path = mpi;
    if (path.find('/') == path.npos) {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        path = (here / ("mpi-" + mpi + ".so")).string();
    }
    // Global: some MPIs load parts that look for symbols of the others. Never closed: MPIs leave
    // threads behind.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        fail(
            "%s\n(the MPI's mpicc compiles it: mpicc -O2 -shared -fPIC -Iinclude "
            "apps/common/mpi_part.c -o %s)",
            dlerror(), path.c_str());
    }
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
      is_blocking_(backend.ends_with("-blocking")),
      account_(std::make_shared<Account>()) {
    backend_->open(&rank_, &ranks_);
    blocks_ = ranks_;
    rank_of_failure = rank_;
}

void Exchange::close() { backend_->close(); }

Exchange Exchange::split(int color) const {
    Exchange made = *this;
    made.group_ = backend_->split(group_, color, &made.rank_, &made.ranks_);
    made.blocks_ = made.ranks_;
    return made;
}

Exchange Exchange::grid(std::span<const int> dims, std::span<const int> periods) const {
    Exchange made = *this;
    made.group_ =
        backend_->cart(group_, static_cast<int>(dims.size()), dims.data(), periods.data());
    made.blocks_ = 2 * static_cast<int>(dims.size());
    return made;
}

Request Exchange::start(const weft_call& call) {
    const std::span<std::byte> spoiled = to_spoil(call);
    CallTimes& times = account_->times;
    const double begin = now_s();
    void* request = nullptr;
    if (is_blocking_) {
        backend_->call(&call, group_);
        times.wait += now_s() - begin;
    } else {
        request = backend_->start(&call, group_);
        times.start += now_s() - begin;
    }
    return Request(backend_, account_.get(), request, spoiled);
}

// The first bytes that one of the ranks receives, if it is this collective's turn.
std::span<std::byte> Exchange::to_spoil(const weft_call& call) {
    if (account_->spoil == 0 || call.collective == WEFT_COLLECTIVE_BARRIER) return {};
    if (--account_->spoil > 0) return {};
    const bool is_gather =
        call.collective == WEFT_COLLECTIVE_GATHER || call.collective == WEFT_COLLECTIVE_GATHERV;
    if (rank_ != (is_gather ? call.root : ranks_ - 1)) return {};
    const weft_side& recv = call.recv;
    const auto first_bytes = [&](std::size_t at, std::size_t count) {
        const std::size_t element = weft_type_size(recv.type);
        return std::span(static_cast<std::byte*>(recv.data) + at * element,
                         std::min<std::size_t>(count * element, 8));
    };
    if (recv.counts == nullptr) return first_bytes(0, recv.count);
    std::size_t at = 0;
    for (int i = 0; i < blocks_; ++i) {
        if (recv.displacements != nullptr) at = static_cast<std::size_t>(recv.displacements[i]);
        if (recv.counts[i] > 0) return first_bytes(at, recv.counts[i]);
    }
    return {};
}

void Request::complete() {
    handle_ = nullptr;
    for (std::byte& byte : spoiled_) byte = ~byte;
}

bool Request::test() {
    if (handle_ == nullptr) return true;
    const double begin = now_s();
    const bool is_complete = backend_->test(handle_) != 0;
    account_->times.test += now_s() - begin;
    if (is_complete) complete();
    return is_complete;
}

void Request::wait() {
    if (handle_ == nullptr) return;
    const double begin = now_s();
    backend_->wait(handle_);
    account_->times.wait += now_s() - begin;
    complete();
}

}  // namespace apps
