// A job whose ranks are threads of this process, over one shared mapping, over loopback, or over the
// messages of a fake MPI. Each has its own process object and progress engine: ThreadSanitizer sees
// everything between them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/mpi_world.h"
#include "conformance/shm_world.h"
#include "process/process.h"
#if WEFT_HAS_TCP
#include "conformance/tcp_world.h"
#endif
#if WEFT_HAS_UCX
#include "conformance/ucx_world.h"
#endif
#include "support/random/process_calls.h"
#include "support/surroundings.h"
#include "weft/request.h"

namespace weft::test {

// One rank's calls. May be used by several threads.
class ThreadRank : public random::ProcessCalls {
  public:
    using ProcessCalls::init;
    using ProcessCalls::ProcessCalls;
    using ProcessCalls::start;

    // In the world.
    weft_status start(const Call& call, weft_request* request) {
        return start(call, world(), request);
    }
    weft_status init(const Call& call, weft_request* request) {
        return init(call, world(), request);
    }
    // As those of weft/collective.h.
    weft_status ibarrier(weft_request* request) {
        return start({.collective = Collective::barrier}, request);
    }
    weft_status ibcast(void* buf, size_t count, weft_type type, int root, weft_request* request) {
        return start({Collective::bcast, nullptr, buf, count, type, WEFT_OP_NULL, root}, request);
    }
    weft_status igather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        int root, weft_request* request) {
        return start({Collective::gather, send_buf, recv_buf, count, type, WEFT_OP_NULL, root},
                     request);
    }
    weft_status iscatter(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         int root, weft_request* request) {
        return start({Collective::scatter, send_buf, recv_buf, count, type, WEFT_OP_NULL, root},
                     request);
    }
    weft_status ialltoall(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                          weft_request* request) {
        return start({Collective::alltoall, send_buf, recv_buf, count, type}, request);
    }
    weft_status ireduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        weft_op op, int root, weft_request* request) {
        return start({Collective::reduce, send_buf, recv_buf, count, type, op, root}, request);
    }
    weft_status iallgather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_request* request) {
        return start({Collective::allgather, send_buf, recv_buf, count, type}, request);
    }
};

class ThreadJob {
  public:
    struct Options {
        EngineKind engine = EngineKind::thread;
        bool may_spin = true;
        bool on_demand = false;  // as on_demand in WEFT_RESOURCES
        Selector selector{};
        std::optional<Torus> torus{};  // declared to be the network
        bool checks_calls = false;
        DeviceMemory device_memory = nullptr;
        bool dedicates = false;  // connections to streams
        shm::Settings settings = shm::Settings::defaults(4);
        Over over = Over::shm;
        bool offers_all = false;  // as WEFT_HOOK_OFFER_ALL
        unsigned queue_depth = 1024;
#if WEFT_HAS_TCP
        tcp::Settings tcp{.interfaces = "127.0.0.1"};
#endif
        mpi::Settings mpi{};
#if WEFT_HAS_UCX
        // (The ranks end one after the other.)
        ucx::Settings ucx{.goodbye_ns = 50'000'000};
#endif
    };

    ThreadJob(Rank ranks, Options options);

    ThreadRank& at(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    // Connects all ranks: from then on a message is sent when it is posted, even if nobody drives its
    // rank, as over shared memory.
    void connect();

    // Runs `body` on every rank, each in its own thread, and joins them.
    void run(const std::function<void(ThreadRank&)>& body);

    // To the others it looks as if the rank's process had ended; the rank does nothing anymore.
    void kill(Rank rank);

  private:
    std::optional<ShmRanks> shm_;
    std::optional<FakeMpi> mpi_;  // destroyed after its users
#if WEFT_HAS_TCP
    std::vector<TcpTransport*> tcp_;  // by rank; empty: none
#endif
#if WEFT_HAS_UCX
    std::vector<UcxTransport*> ucx_;  // by rank; empty: none
#endif
    std::vector<std::unique_ptr<Process>> processes_;
    std::vector<ThreadRank> ranks_;
};

// The engines under which any thread of a rank may start operations.
std::vector<EngineKind> engines_for_threads();

// A suite of tests that hold over every transport between threads and with some engines.
class EveryThreadJob : public testing::TestWithParam<std::tuple<Over, EngineKind>> {
  public:
    // (Engines that offload only where there can be dedicated connections.)
    static auto with_engines(const std::vector<EngineKind>& engines) {
        std::vector<ParamType> all;
        for (Over over : ways_between_threads()) {
            for (EngineKind engine : engines) {
                if (over != Over::shm || !traits(engine).offloads) all.emplace_back(over, engine);
            }
        }
        return testing::ValuesIn(all);
    }
    static std::string name(const testing::TestParamInfo<ParamType>& test) {
        const auto [over, engine] = test.param;
        std::string engine_text = traits(engine).name;
        std::ranges::replace(engine_text, ':', '_');
        return std::string(name_of(over)) + "_" + engine_text;
    }

  protected:
    void SetUp() override {
        const std::string absence = absence_of(traits(std::get<1>(GetParam())).name);
        if (!absence.empty()) GTEST_SKIP() << absence;
    }
    // An engine that offloads is offered everything.
    static ThreadJob::Options job_options(bool may_spin = true) {
        const auto [over, engine] = GetParam();
        return {.engine = engine,
                .may_spin = may_spin,
                .dedicates = traits(engine).offloads,
                .over = over,
                .offers_all = traits(engine).offloads};
    }
};

// What the last wait has said of late ranks. (While it connects, UCX may not have sent some messages, which it then
// says, too.)
inline std::string detail_of_late_ranks(Over over) {
    const std::string detail = last_detail();
    return over == Over::ucx ? detail.substr(0, detail.find(" and has messages for ")) : detail;
}

}  // namespace weft::test
