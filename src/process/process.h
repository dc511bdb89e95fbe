// Everything a rank has: its transports, its executor and engine, its communicators and requests.
//
// Thread safety: any thread may call engine(); for the rest the engine must be held.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handles.h"
#include "communicator/communicator.h"
#include "communicator/own/own_schedule.h"
#include "engine/completion_queue.h"
#include "engine/engine.h"
#include "offload/offload.h"
#include "process/outside.h"
#include "run/executor.h"
#include "shape/torus.h"
#include "transport/transport.h"

namespace weft {

class Process {
  public:
    struct Parts {
        Rank rank = 0;
        Rank ranks = 1;
        std::string job;            // the same on all ranks of this job, and on no others
        std::string startup;        // what told this process its rank
        std::uint64_t process = 0;  // random, of this process
        std::vector<Rank> nodes;    // by rank of the job, equal if they share one; empty: all do
        std::vector<std::string> node_names{};  // by that number
        std::vector<Rank> cores{};   // by rank of the job, see shape/topology.h; empty: unknown
        std::optional<Torus> torus;  // of all ranks of the job, if it was declared
        std::vector<std::unique_ptr<Transport>> transports;
        std::vector<Transport*> routes;    // by rank of the job; null for this rank
        std::unique_ptr<Offload> offload;  // null: none
        CommunicatorSettings settings;     // of world and self
        bool checks_calls = false;  // WEFT_CHECK: collectives first compare the calls of all ranks
        DeviceMemory device_memory = nullptr;  // tells buffers to refuse; null: CUDA's driver does
        Engine::Options engine;
        bool has_several_interfaces = false;  // some rank of the job has
        DedicatedShare dedicated;             // of this rank, including world's share
        std::uint32_t world_dedicated = 0;    // world's streams, agreed on by all ranks
        // The program joins with a communicator of all ranks, which adopt_job() makes, with so
        // many.
        std::optional<std::uint32_t> job_dedicated;
    };

    explicit Process(Parts parts);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    Rank rank() const { return rank_; }
    Rank ranks() const { return ranks_; }
    const std::string& job() const { return job_; }
    const std::string& startup() const { return startup_; }
    Outside& outside() { return outside_; }
    Engine& engine() { return engine_; }
    Executor& executor() { return executor_; }
    // The transport that reaches rank `peer` of the job; null for this rank.
    const Transport* route(Rank peer) const { return executor_.route(peer); }
    // Takes a share of this rank's dedicated connections for a new communicator, until it is given
    // back. Communicators give theirs back when they end.
    DedicatedShare offer_dedicated();
    void give_back(std::uint32_t streams) { dedicated_.streams_left += streams; }
    HandleTable<Request>& requests() { return requests_; }
    HandleTable<Communicator>& communicators() { return communicators_; }
    HandleTable<OwnSchedule>& schedules() { return schedules_; }
    HandleTable<CompletionQueue>& queues() { return queues_; }
    Communicator& world() { return world_; }
    Communicator& self() { return self_; }
    std::uintptr_t handle_of(const Communicator& communicator) const {
        return communicators_.handle(communicator.place_in_table_);
    }
    std::uintptr_t world_handle() const { return handle_of(world_); }
    std::uintptr_t self_handle() const { return handle_of(self_); }

    // A number for a new communicator that no rank of the job has used; 0: there are none left.
    // `links`: as in its settings.
    std::uint64_t take_context(std::uint32_t links);
    // The same for a group with processes of other jobs: random. 0: there are no random numbers.
    static std::uint64_t random_context();
    // The communicator that has this context, perhaps freed with operations outstanding; null:
    // none.
    Communicator* find_context(std::uint64_t context) const;
    // The program expects one more communicator from other ranks (weft_expect_comms), or one less.
    void expect_comm();
    Status expect_comm_less();
    // The first number that rank 0 hands out. REQUIRES: it has handed out none.
    std::uint64_t take_first_context();
    std::uint32_t job_dedicated() const { return job_dedicated_; }
    // Adds the communicator of `group`; it lives until it is freed or the process ends. Its share
    // of the dedicated connections must have been taken. May throw; then nothing has happened.
    Communicator& add(Group group, Rank rank, std::string name, CommunicatorSettings settings);
    // Makes its handle invalid; the communicator ends when nobody keeps it any more.
    void free(Communicator& communicator);
    // Adds an open schedule for the program to build; returns its handle.
    std::uintptr_t make_schedule(Communicator& communicator);
    void free(OwnSchedule& schedule);
    // Adds a queue; returns its handle.
    std::uintptr_t make_queue();
    // Its marks are taken away.
    void free(CompletionQueue& queue);
    // Refuses the progress thread if only the program's own threads may call a transport.
    Status check_engine(EngineKind kind) const;
    // Fails if operations are pending, or ended but not completed, with a sentence that lists them.
    Status refuse_outstanding();
    // How many operations were offloaded, and why others were not. Empty: the engine offloads none.
    std::string offload_account() const {
        return weft::offload_account(executor_.offload(), traits(engine_.kind()),
                                     executor_.routes());
    }

    // Bytes that messages did not take, because of wire formats.
    std::int64_t saved_bytes() const { return host_.saved_bytes; }

  private:
    void end(Communicator& communicator);

    Rank rank_;
    Rank ranks_;
    std::string job_;
    std::string startup_;
    Topology topology_;
    std::optional<Torus> torus_;
    std::vector<std::unique_ptr<Transport>> transports_;
    Outside outside_;
    std::unique_ptr<Offload> offload_;  // cancels its lists before their connections are closed
    DedicatedShare dedicated_;
    const std::uint32_t job_dedicated_;
    const bool has_several_interfaces_;
    Executor executor_;
    HandleTable<Request> requests_;
    HandleTable<Communicator> communicators_;
    Host host_;
    Communicator world_;
    Communicator self_;
    std::vector<std::unique_ptr<Communicator>> made_;
    HandleTable<OwnSchedule> schedules_;
    std::vector<std::unique_ptr<OwnSchedule>> own_schedules_;
    std::uint32_t schedules_made_ = 0;
    HandleTable<CompletionQueue> queues_;
    std::vector<std::unique_ptr<CompletionQueue>> made_queues_;
    std::uint64_t contexts_taken_ = 0;
    std::uint64_t limited_contexts_taken_ = 0;  // of communicators that do not use all links
    std::uint32_t comms_expected_ = 0;          // by the program
    Engine engine_;  // last: its thread ends before what it drives is destroyed
};

// Offers a share of this rank's dedicated connections to a communicator that is being made; the
// destructor takes back what it does not keep. The engine must be held when it is made, changed and
// destroyed.
class Offer {
  public:
    explicit Offer(Process& process) : process_(process), dedicated_(process.offer_dedicated()) {}
    ~Offer() { process_.give_back(dedicated_.streams_left - kept_); }
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

    const DedicatedShare& dedicated() const { return dedicated_; }
    // This much now belongs to the communicator, which gives it back when it ends.
    void keep(std::uint32_t streams) { kept_ = streams; }

  private:
    Process& process_;
    DedicatedShare dedicated_;
    std::uint32_t kept_ = 0;
};

}  // namespace weft
