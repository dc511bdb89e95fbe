#include "bench/loggp/real_pair.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/clock.h"
#include "base/random.h"
#include "bench/collective/collective.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

using Kind = LogGpTrain::Kind;

constexpr std::int64_t head_start_ns = 20'000;  // for the rank that answers
constexpr std::int64_t sleep_ns = 3'000'000;    // until a wait has long ceased to spin
constexpr int tests = 100;
constexpr int test_repetitions = 12;

void spin(std::int64_t ns) {
    const std::int64_t end = now_ns() + ns;
    while (now_ns() < end) cpu_relax();
}

void spin_as_operation(void*, std::size_t, void* context) {
    spin(*static_cast<const std::int64_t*>(context));
}

// One rank's part of a train, as a persistent request.
class Part {
  public:
    Part(const Job& job, const LogGpTrain& train) : train_(train), rank_(job.rank) {
        must(weft_schedule_create(job.comm, &schedule_), "weft_schedule_create");
        add();
        must(weft_schedule_seal(schedule_), "weft_schedule_seal");
        buffer_ = std::make_unique<PageBuffer>(
            static_cast<std::size_t>(std::max<std::int64_t>(used_, 1)));
        std::ranges::fill(buffer_->as<std::byte>(), std::byte{0});
        const bool reduces = train.kind == Kind::reductions;
        must(weft_schedule_init(schedule_, nullptr, buffer_->data(),
                                reduces ? WEFT_FLOAT64 : WEFT_BYTE,
                                reduces ? WEFT_SUM : WEFT_OP_NULL, &request_),
             "weft_schedule_init");
    }
    ~Part() {
        weft_request_free(&request_);
        weft_schedule_free(&schedule_);
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // Nanoseconds from the start to the end here. `test_ns`: of a test that finds nothing.
    double run(double test_ns) {
        const bool asks = train_.kind == Kind::reception || train_.kind == Kind::requests;
        if (rank_ == (asks ? 1 : 0))
            spin(train_.kind == Kind::late_trip ? sleep_ns : head_start_ns);
        const std::int64_t begin = now_ns();
        must(weft_start(&request_), "weft_start");
        const std::int64_t started = now_ns();
        int tested = 0;
        if (train_.kind == Kind::test && rank_ == 0) {
            while (tested < tests && weft_test(&request_) == WEFT_PENDING) ++tested;
        }
        const std::int64_t tested_ns = now_ns() - started;
        if (train_.kind == Kind::sending_cpu || train_.kind == Kind::receiving_cpu) {
            // A wait would spin, which no clock of CPU time tells from work.
            weft_status status = WEFT_OK;
            for (; (status = weft_test(&request_)) == WEFT_PENDING; ++tested) {
            }
            must(status, "weft_test");
            return static_cast<double>(now_ns() - begin) - tested * test_ns;
        }
        must(weft_wait(&request_), "weft_wait");
        if (train_.kind == Kind::start) return static_cast<double>(started - begin);
        if (train_.kind == Kind::test) return static_cast<double>(tested_ns) / std::max(tested, 1);
        return static_cast<double>(now_ns() - begin);
    }

  private:
    weft_region region(std::int64_t bytes) {
        const weft_region taken{WEFT_RECV_BUFFER, used_, bytes};
        used_ += (bytes + 63) / 64 * 64;
        return taken;
    }
    weft_node send(int peer) { return send(peer, train_.bytes); }
    weft_node send(int peer, std::int64_t bytes) {
        weft_node node = WEFT_NODE_NONE;
        must(weft_schedule_send(schedule_, region(bytes), peer, &node), "weft_schedule_send");
        return node;
    }
    weft_node recv(int peer) { return recv(peer, train_.bytes); }
    weft_node recv(int peer, std::int64_t bytes) {
        weft_node node = WEFT_NODE_NONE;
        must(weft_schedule_recv(schedule_, region(bytes), peer, &node), "weft_schedule_recv");
        return node;
    }
    weft_node delay(const std::int64_t& ns) {
        weft_node node = WEFT_NODE_NONE;
        must(weft_schedule_call(schedule_, region(0), spin_as_operation,
                                const_cast<std::int64_t*>(&ns), &node),
             "weft_schedule_call");
        return node;
    }
    void order(weft_node node, weft_node after) {
        must(weft_schedule_after(schedule_, node, after), "weft_schedule_after");
    }

    void add() {
        weft_node last = WEFT_NODE_NONE;
        switch (train_.kind) {
            case Kind::round_trip:
            case Kind::sending_cpu:
            case Kind::receiving_cpu:
            case Kind::start:
            case Kind::late_trip: add_round_trip(); return;
            case Kind::test:
                // What rank 0 waits for comes when its tests are over.
                if (rank_ == 0) recv(1);
                if (rank_ == 1) order(send(0), delay(sleep_));
                return;
            case Kind::reception:
            case Kind::requests: add_reception(); return;
            case Kind::delays:
                for (int i = 0; i < train_.messages; ++i) {
                    const weft_node pause = delay(train_.delay_ns);
                    order(pause, last);
                    last = pause;
                }
                return;
            case Kind::reductions:
            case Kind::copies: add_local(); return;
        }
    }

    void add_round_trip() {
        weft_node last = WEFT_NODE_NONE;
        if (rank_ == 0) {
            for (int i = 0; i < train_.messages; ++i) {
                if (i > 0 && train_.delay_ns > 0) {
                    const weft_node pause = delay(train_.delay_ns);
                    order(pause, last);
                    last = pause;
                }
                order(send(1), last);
            }
            recv(1);
            return;
        }
        std::vector<weft_node> received;
        for (int i = 0; i < train_.messages; ++i) received.push_back(recv(0));
        const weft_node answer = send(0);
        for (const weft_node node : received) order(answer, node);
    }

    void add_reception() {
        const bool has_messages = train_.kind == Kind::reception;
        weft_node last = WEFT_NODE_NONE;
        for (int i = 0; i < train_.messages; ++i) {
            if (rank_ == 0) {
                const weft_node asked = recv(1, 1);
                if (has_messages) order(send(1), asked);
                continue;
            }
            const weft_node ask = send(0, 1);
            order(ask, last);
            const weft_node pause = delay(train_.delay_ns);
            order(pause, ask);
            last = pause;
            if (has_messages) order(last = recv(0), pause);
        }
    }

    void add_local() {
        const weft_region from = region(train_.bytes), into = region(train_.bytes);
        weft_node last = WEFT_NODE_NONE;
        for (int i = 0; i < train_.messages; ++i) {
            weft_node node = WEFT_NODE_NONE;
            must(train_.kind == Kind::copies ? weft_schedule_copy(schedule_, from, into, &node)
                                             : weft_schedule_reduce(schedule_, from, into, &node),
                 "weft_schedule_copy or weft_schedule_reduce");
            order(node, last);
            last = node;
        }
    }

    const LogGpTrain train_;
    const std::int64_t sleep_ = sleep_ns;
    const int rank_;
    weft_schedule schedule_ = WEFT_SCHEDULE_NULL;
    weft_request request_ = WEFT_REQUEST_NULL;
    std::int64_t used_ = 0;
    std::unique_ptr<PageBuffer> buffer_;
};

}  // namespace

RealPair::RealPair(const Job& job) : job_(job) {
    test_ns_ = median(time({{.kind = Kind::test}}, test_repetitions).front());
}

std::vector<std::vector<double>> RealPair::time(const std::vector<LogGpTrain>& trains,
                                                int repetitions) {
    std::vector<std::unique_ptr<Part>> parts;
    for (const LogGpTrain& train : trains) parts.push_back(std::make_unique<Part>(job_, train));
    std::vector<double> mine;
    Prng random(1);
    std::vector<std::size_t> order(trains.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    mine.resize(trains.size() * static_cast<std::size_t>(repetitions));
    for (int i = -1; i < repetitions; ++i) {
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[random.below(left)]);
        for (const std::size_t train : order) {
            must(weft_barrier(job_.comm), "weft_barrier");
            const double ns = parts[train]->run(test_ns_);
            if (i < 0) continue;  // connections are made, caches filled
            mine[train * static_cast<std::size_t>(repetitions) + static_cast<std::size_t>(i)] = ns;
        }
    }
    const std::vector<double> all = gather(job_, mine);
    std::vector<std::vector<double>> samples;
    for (std::size_t train = 0; train < trains.size(); ++train) {
        const Kind kind = trains[train].kind;
        const bool is_of_receiver =
            kind == Kind::reception || kind == Kind::requests || kind == Kind::receiving_cpu;
        const std::size_t rank = is_of_receiver ? 1 : 0;
        const auto begin =
            all.begin() + static_cast<std::ptrdiff_t>(
                              rank * mine.size() + train * static_cast<std::size_t>(repetitions));
        samples.emplace_back(begin, begin + repetitions);
    }
    return samples;
}

}  // namespace weft::bench
