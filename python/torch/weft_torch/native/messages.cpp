// Sends and receives between two ranks, and the barrier that says who is missing.
#include <algorithm>
#include <cstring>

#include "backend.h"
#include "starting.h"

namespace weft_torch {

using c10d::OpType;

namespace {

// Of the monitored barrier. The program has the other tags.
constexpr int barrier_tag = WEFT_TAG_MAX;

void check_tag(int tag, const char* call) {
    TORCH_CHECK_VALUE(tag >= 0 && tag < barrier_tag, "weft ", call, ": tag = ", tag,
                      "; expected 0..", barrier_tag - 1);
}

}  // namespace

WorkPtr WeftBackend::message(const Starting& work, const at::Tensor& tensor, int peer, int tag,
                             bool sends) {
    check_tag(tag, work->call().name());
    Operation& operation = work->operation();
    const at::Tensor plain = sends ? operation.input(tensor) : operation.output_only(tensor);
    start(work, [&](weft_comm comm, weft_request* request) {
        return sends ? weft_isend(plain.const_data_ptr(), plain.nbytes(), WEFT_BYTE, peer, tag,
                                  comm, request)
                     : weft_irecv(plain.data_ptr(), plain.nbytes(), WEFT_BYTE, peer, tag, comm,
                                  request);
    });
    return started(work);
}

WorkPtr WeftBackend::send(Tensors& tensors, int to, int tag) {
    const at::Tensor& tensor = only_tensor(tensors, "send");
    const Starting work = begin(OpType::SEND, "weft:send", c10d::kUnsetTimeout, {}, tensors);
    return message(work, tensor, to, tag, true);
}

WorkPtr WeftBackend::recv(Tensors& tensors, int from, int tag) {
    const at::Tensor& tensor = only_tensor(tensors, "recv");
    const Starting work = begin(OpType::RECV, "weft:recv", c10d::kUnsetTimeout, tensors, tensors);
    return message(work, tensor, from, tag, false);
}

WorkPtr WeftBackend::recvAnysource(Tensors& tensors, int tag) {
    const at::Tensor& tensor = only_tensor(tensors, "recv");
    check_tag(tag, "recv");
    const Starting work =
        begin(OpType::RECVANYSOURCE, "weft:recv", c10d::kUnsetTimeout, tensors, tensors);
    Operation& operation = work->operation();
    const at::Tensor plain = operation.output_only(tensor);
    operation.source = std::make_unique<int>(-1);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_irecv_any(plain.data_ptr(), plain.nbytes(), WEFT_BYTE, tag,
                              operation.source.get(), comm, request);
    });
    return started(work);
}

// --- The monitored barrier -----------------------------------------------------------------------

namespace {

// One number to or from rank 0, which may go on after a timeout.
class Note {
  public:
    Note() : number_(std::make_unique<std::int64_t>(0)) {}
    ~Note() {
        if (operation_.requests.empty() || operation_.test() != WEFT_PENDING) return;
        operation_.finishing.push_back(
            [number = std::shared_ptr<std::int64_t>(std::move(number_))] {});  // keeps it
        Orphans().add(std::move(operation_));
    }
    Note(const Note&) = delete;
    Note& operator=(const Note&) = delete;

    std::int64_t& number() { return *number_; }
    weft_request* request() {
        operation_.requests.push_back(WEFT_REQUEST_NULL);
        return &operation_.requests.back();
    }
    weft_status wait_until(std::int64_t deadline_ns) { return operation_.wait_until(deadline_ns); }

  private:
    std::unique_ptr<std::int64_t> number_;
    Operation operation_;
};

std::string listed(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    return text;
}

}  // namespace

// Rank 0 hears of every other rank, and answers all: 0, or 1 if some have not come in time.
void WeftBackend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
    const Milliseconds timeout = timeout_of(options.timeout);
    const std::string where = "weft monitored_barrier (" + *name_ + ")";
    const std::int64_t deadline_ns = timeout.count() <= 0 ? now_ns() : deadline_after(timeout);
    const auto exchange = [&](Note& note, int peer, bool sends) {
        const std::lock_guard lock(starts_);
        TORCH_CHECK(comm_ != WEFT_COMM_NULL, where, ": the group was shut down");
        constexpr std::size_t bytes = sizeof(std::int64_t);
        check(sends ? weft_isend(&note.number(), bytes, WEFT_BYTE, peer, barrier_tag, comm_,
                                 note.request())
                    : weft_irecv(&note.number(), bytes, WEFT_BYTE, peer, barrier_tag, comm_,
                                 note.request()),
              where);
    };
    if (rank_ != 0) {
        Note arrival;
        Note answer;
        exchange(arrival, 0, true);
        exchange(answer, 0, false);
        const weft_status status = answer.wait_until(deadline_ns);
        const std::string cause = status == WEFT_OK ? "" : weft_last_detail();
        TORCH_CHECK_WITH(DistBackendError, status == WEFT_OK && answer.number() == 0, where,
                         ": Rank ", rank_,
                         " successfully reached monitoredBarrier, but received errors while "
                         "waiting for send/recv from rank 0. Please check rank 0 logs for faulty "
                         "rank. ",
                         cause);
        return;
    }
    TORCH_CHECK_WITH(DistBackendError, size_ == 1 || timeout.count() > 0, where,
                     ": Rank 0 timed out in monitoredBarrier after ", timeout.count(), " ms");
    std::vector<Note> arrivals(static_cast<std::size_t>(size_));
    std::vector<Note> answers(static_cast<std::size_t>(size_));
    for (int rank = 1; rank < size_; ++rank)
        exchange(arrivals[static_cast<std::size_t>(rank)], rank, false);
    std::vector<int> missing;
    std::string cause;
    for (int rank = 1; rank < size_; ++rank) {
        const weft_status status = arrivals[static_cast<std::size_t>(rank)].wait_until(deadline_ns);
        if (status == WEFT_OK) continue;
        if (cause.empty()) cause = weft_last_detail();
        missing.push_back(rank);
        if (!wait_all_ranks) break;
    }
    for (int rank = 1; rank < size_; ++rank) {
        Note& answer = answers[static_cast<std::size_t>(rank)];
        answer.number() = missing.empty() ? 0 : 1;
        exchange(answer, rank, true);
    }
    TORCH_CHECK_WITH(DistBackendError, missing.empty(), where, ": ",
                     missing.size() > 1 ? "Ranks " : "Rank ", listed(missing),
                     " failed to pass monitoredBarrier in ", timeout.count(), " ms. ", cause);
    for (Note& answer : answers) (void)answer.wait_until(deadline_ns);
}

}  // namespace weft_torch
