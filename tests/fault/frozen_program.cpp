// The last rank stops (SIGSTOP) while the others wait for it with WEFT_TIMEOUT set: MODE ENGINE.
// MODE says what they wait in: a wait, a blocking collective, a constructor, or weft_finalize. Each
// must end with a status that names the frozen rank. Then it is woken up, and everybody leaves.
#include <signal.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

int rank = -1;

bool fail(const std::string& why) {
    std::fprintf(stderr, "rank %d: %s; detail: %s\n", rank, why.c_str(), weft_last_detail());
    return false;
}

bool detail_has(const std::string& text) { return std::strstr(weft_last_detail(), text.c_str()); }

// The others gave this rank up. With more than two ranks another may have been late as well.
bool detail_names(int frozen) {
    const std::string rank_text = frozen == 1 ? "1 of the job (WEFT_TIMEOUT)" : "";
    return detail_has("timed out waiting for rank " + rank_text);
}

bool is_set(const char* variable, const char* value) {
    const char* text = std::getenv(variable);
    return text && std::strcmp(text, value) == 0;
}

bool is_ucx() { return is_set("WEFT_TRANSPORT", "ucx"); }

// No socket, and no thread of UCX, takes what a frozen rank does not.
bool is_shm() { return is_set("WEFT_TRANSPORT", "shm") || (is_ucx() && !is_set("UCX_TLS", "tcp")); }

// Where messages travel on connections of their own nothing bounds them but the sockets' buffers, which
// single bytes would take long to fill. Elsewhere only they fill a ring, or a credit, to the last.
std::size_t filling_bytes() {
    return is_set("WEFT_HOOK_DEDICATE", "1") ||
                   std::strcmp(std::getenv("WEFT_ENGINE"), "kernel") == 0
               ? 1000
               : 1;
}

// Until the process is stopped.
void await_stop(int pid) {
    for (std::string state; state != "T"; usleep(1000)) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string number;
        std::string name;
        stat >> number >> name >> state;
    }
}

const int ready = SIGRTMIN;  // to rank 0: another rank has seen enough

void block_ready() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, ready);
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

void await_ready() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, ready);
    int number = 0;
    sigwait(&set, &number);
}

// Others may be slow: a wait that ends early is repeated.
weft_status wait_patiently(weft_request* request) {
    weft_status status = WEFT_TIMED_OUT;
    while (status == WEFT_TIMED_OUT) status = weft_wait(request);
    return status;
}

// Blocking calls of which the first would wait for the frozen rank, until one fails.
weft_status block(const std::string& mode) {
    weft_comm world = weft_comm_world();
    weft_comm made = WEFT_COMM_NULL;
    char data[1000] = {};
    if (mode == "constructor") {
        weft_status status = weft_comm_dup(world, &made);
        return made == WEFT_COMM_NULL ? status : WEFT_OK;
    }
    // What the frozen rank does not take fills its ring to the last; only then does the root wait.
    weft_status status = mode == "collective" ? weft_barrier(world) : WEFT_OK;
    while (mode == "finalize" && status == WEFT_OK) {
        status = weft_bcast(data, filling_bytes(), WEFT_BYTE, 0, world);
    }
    return status;
}

bool survive(const std::string& mode, int frozen, const std::vector<int>& pids) {
    const int pid = pids[static_cast<std::size_t>(frozen)];
    const std::string name = "rank " + std::to_string(frozen);
    if (mode == "wait") {
        weft_request request = WEFT_REQUEST_NULL;
        if (weft_ibarrier(weft_comm_world(), &request) != WEFT_OK) return fail("ibarrier");
        for (int i = 0; i < 2; ++i) {  // nothing is lost: one may wait again
            if (weft_wait(&request) != WEFT_TIMED_OUT) return fail("the wait did not time out");
            if (!detail_has("barrier of 0 bytes on world waits for messages from " + name)) {
                return fail("the detail does not name the frozen rank");
            }
        }
        // Nobody is woken up before all others have seen it.
        if (rank != 0) kill(pids.front(), ready);
        for (std::size_t other = 2; rank == 0 && other < pids.size(); ++other) await_ready();
        if (rank == 0) kill(pid, SIGCONT);
        if (wait_patiently(&request) != WEFT_OK) return fail("the barrier was lost");
        return true;
    }
    // One who comes late may meet a frozen rank that others have lost patience with and woken: then its
    // next call tells.
    weft_status status = WEFT_OK;
    while (status == WEFT_OK) status = block(mode);
    if (status != WEFT_BROKEN_TIMEOUT) return fail("the call did not time out");
    if (!detail_names(frozen)) {
        return fail("the detail does not name the frozen rank");
    }
    if (weft_barrier(weft_comm_world()) != WEFT_BROKEN_TIMEOUT) return fail("it is not broken");
    if (mode == "finalize") {
        // The frozen rank does not even take the failure notice. Over tcp its machine does; over UCX it may, if a
        // socket has room behind the messages.
        const weft_status left = weft_finalize();
        const bool is_expected =
            left == WEFT_TIMED_OUT ? is_shm() || is_ucx() : left == WEFT_OK && !is_shm();
        if (!is_expected) return fail("weft_finalize");
        if (left == WEFT_TIMED_OUT && !detail_has(name + " of the job did not take"))
            return fail("weft_finalize does not name the frozen rank");
    }
    if (rank == 0) kill(pid, SIGCONT);
    return true;
}

bool freeze(const std::string& mode) {
    raise(SIGSTOP);
    if (mode == "wait") {
        weft_request request = WEFT_REQUEST_NULL;
        if (weft_ibarrier(weft_comm_world(), &request) != WEFT_OK) return fail("ibarrier");
        return wait_patiently(&request) == WEFT_OK || fail("the barrier was lost");
    }
    // It learns that the others have given it up, at the latest from its second call.
    weft_status status = WEFT_OK;
    while (status == WEFT_OK) status = block(mode);
    // Over tcp, what it does not take in time is lost when those that leave close their sockets.
    if (mode == "finalize" && !is_shm() && status == WEFT_BROKEN_RANK) {
        return detail_has("rank 0 of the job died or left") || fail("not told who left");
    }
    if (status != WEFT_BROKEN_TIMEOUT) return fail("not told that it was given up");
    return detail_names(rank) || fail("not told who was given up");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    const std::string mode = argv[1];
    setenv("WEFT_ENGINE", argv[2], 1);
    block_ready();
    if (weft_init() != WEFT_OK) return !fail("weft_init");
    int ranks = 0;
    weft_comm_rank(weft_comm_world(), &rank);
    weft_comm_size(weft_comm_world(), &ranks);
    const int frozen = ranks - 1;
    // Told with a request, so that a slow start is no failure.
    std::vector<int> pids(static_cast<std::size_t>(ranks));
    const int own = getpid();
    weft_request told = WEFT_REQUEST_NULL;
    weft_iallgather(&own, pids.data(), 1, WEFT_INT32, weft_comm_world(), &told);
    if (wait_patiently(&told) != WEFT_OK) return !fail("iallgather");
    if (rank != frozen) await_stop(pids[static_cast<std::size_t>(frozen)]);
    if (!(rank == frozen ? freeze(mode) : survive(mode, frozen, pids))) return 1;
    if (!weft_is_initialized()) return 0;
    weft_status left = WEFT_TIMED_OUT;
    while (left == WEFT_TIMED_OUT) left = weft_finalize();
    return left == WEFT_OK ? 0 : !fail("weft_finalize");
}
