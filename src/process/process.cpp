#include "process/process.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/random.h"
#include "transport/dedicated.h"
#include "transport/link_limit.h"

namespace weft {
namespace {

// Context 0 belongs to the executors.
constexpr std::uint64_t world_context = 1;
constexpr std::uint64_t self_context = 2;  // on all ranks: it sends nothing
constexpr std::uint64_t first_made_context = 3;

std::vector<Transport*> plain(const std::vector<std::unique_ptr<Transport>>& owned) {
    std::vector<Transport*> transports;
    for (const auto& transport : owned) transports.push_back(transport.get());
    return transports;
}

Group everybody(Rank ranks, std::uint32_t dedicated) {
    Group group;
    group.context = world_context;
    group.dedicated = dedicated;
    group.members.resize(static_cast<std::size_t>(ranks));
    std::iota(group.members.begin(), group.members.end(), 0);
    return group;
}

Group only(Rank rank) {
    Group group;
    group.context = self_context;
    group.members = {rank};
    return group;
}

}  // namespace

Process::Process(Parts parts)
    : rank_(parts.rank),
      ranks_(parts.ranks),
      job_(std::move(parts.job)),
      startup_(std::move(parts.startup)),
      topology_(
          parts.nodes.empty() ? std::vector<Rank>(static_cast<std::size_t>(ranks_)) : parts.nodes,
          parts.cores),
      torus_(std::move(parts.torus)),
      transports_(std::move(parts.transports)),
      outside_(
          executor_, engine_, topology_,
          parts.nodes.empty() ? std::vector<Rank>(static_cast<std::size_t>(ranks_)) : parts.nodes,
          std::move(parts.node_names), std::move(parts.cores), parts.process),
      offload_(std::move(parts.offload)),
      dedicated_(parts.dedicated),
      job_dedicated_(parts.job_dedicated.value_or(0)),
      has_several_interfaces_(parts.has_several_interfaces),
      executor_(rank_, plain(transports_), std::move(parts.routes), offload_.get()),
      host_{.executor = executor_,
            .engine = engine_,
            .requests = requests_,
            .topology = topology_,
            .torus = torus_ ? &*torus_ : nullptr,
            .checks_calls = parts.checks_calls,
            .devices = DeviceMemoryFinder(parts.device_memory),
            .end = [this](Communicator& communicator) { end(communicator); }},
      world_(host_, everybody(ranks_, parts.world_dedicated), rank_, "world", parts.settings),
      self_(host_, only(rank_), 0, "self", std::move(parts.settings)),
      engine_(executor_, parts.engine) {
    world_.place_in_table_ = communicators_.add(&world_);
    self_.place_in_table_ = communicators_.add(&self_);
    dedicated_.streams_left -= parts.world_dedicated;
    // Otherwise other ranks may use the communicator of all ranks before this one has it.
    if (!parts.job_dedicated) executor_.group_decided();
}

Process::~Process() {
    if (made_queues_.empty()) return;
    engine_.call([this] { made_queues_.clear(); });
}

std::uint64_t Process::take_first_context() {
    const std::uint32_t links = world_.settings().links;
    return rank_ == 0 ? take_context(links) : LinkLimit::context_of(links, first_made_context);
}

std::uint64_t Process::take_context(std::uint32_t links) {
    std::uint64_t& taken = links == 0 ? contexts_taken_ : limited_contexts_taken_;
    const std::uint64_t number = std::uint64_t{first_made_context} +
                                 static_cast<std::uint64_t>(rank_) +
                                 taken * static_cast<std::uint64_t>(ranks_);
    const std::uint64_t context = LinkLimit::context_of(links, number);
    if (context != 0) ++taken;
    return context;
}

std::uint64_t Process::random_context() {
    std::uint64_t number = 0;
    if (!random_bytes(std::as_writable_bytes(std::span(&number, 1))).is_ok()) return 0;
    return LinkLimit::hashed_context(number);
}

Communicator* Process::find_context(std::uint64_t context) const {
    const auto found = std::ranges::find_if(
        made_, [&](const auto& made) { return made->group_.context == context; });
    return found == made_.end() ? nullptr : found->get();
}

void Process::expect_comm() {
    executor_.expect_group();
    ++comms_expected_;
}

Status Process::expect_comm_less() {
    if (comms_expected_ == 0) {
        return failure(WEFT_REFUSED_STATE,
                       "more = 0, but no communicator is expected; expected a call with 1 before");
    }
    --comms_expected_;
    executor_.group_decided();
    return ok;
}

DedicatedShare Process::offer_dedicated() {
    DedicatedShare share = dedicated_;
    share.streams_left = std::min(share.streams_left, DedicatedConnections::streams_max);
    dedicated_.streams_left -= share.streams_left;
    if (wants_dedicated(engine_.kind(), has_several_interfaces_)) share.is_wanted = 1;
    return share;
}

Communicator& Process::add(Group group, Rank rank, std::string name,
                           CommunicatorSettings settings) {
    made_.reserve(made_.size() + 1);
    communicators_.reserve();
    auto made = std::make_unique<Communicator>(host_, std::move(group), rank, std::move(name),
                                               std::move(settings));
    made->place_in_table_ = communicators_.add(made.get());
    if (made->group_.bridge != 0) outside_.begin_use(made->group_.bridge);
    return *made_.emplace_back(std::move(made));
}

void Process::free(Communicator& communicator) {
    WEFT_ASSERT(&communicator != &world_ && &communicator != &self_ && !communicator.freed_);
    communicators_.remove(communicator.place_in_table_);
    communicator.freed_ = true;
    if (communicator.keepers_ == 0) end(communicator);
}

std::uintptr_t Process::make_schedule(Communicator& communicator) {
    if (own_schedules_.size() == own_schedules_.capacity()) {
        own_schedules_.reserve(2 * own_schedules_.size() + 1);
    }
    auto made = std::make_unique<OwnSchedule>(communicator, ++schedules_made_);
    made->place_in_table_ = schedules_.add(made.get());
    communicator.keep();
    std::uintptr_t handle = schedules_.handle(made->place_in_table_);
    own_schedules_.push_back(std::move(made));
    return handle;
}

void Process::free(OwnSchedule& schedule) {
    schedules_.remove(schedule.place_in_table_);
    schedule.free();
    std::erase_if(own_schedules_, [&](const auto& own) { return own.get() == &schedule; });
}

std::uintptr_t Process::make_queue() {
    if (made_queues_.size() == made_queues_.capacity())
        made_queues_.reserve(2 * made_queues_.size() + 1);
    auto made = std::make_unique<CompletionQueue>(engine_);
    made->place_in_table_ = queues_.add(made.get());
    const std::uintptr_t handle = queues_.handle(made->place_in_table_);
    made_queues_.push_back(std::move(made));
    return handle;
}

void Process::free(CompletionQueue& queue) {
    queues_.remove(queue.place_in_table_);
    std::erase_if(made_queues_, [&](const auto& made) { return made.get() == &queue; });
    engine_.wake_waiters();
}

void Process::end(Communicator& communicator) {
    executor_.remove_group(communicator.group());
    give_back(communicator.group().dedicated);
    if (communicator.group().bridge != 0) outside_.end_use(communicator.group().bridge);
    std::erase_if(made_, [&](const auto& made) { return made.get() == &communicator; });
}

Status Process::check_engine(EngineKind kind) const {
    for (const auto& transport : transports_) {
        if (!traits(kind).has_thread() || transport->abilities().any_thread) continue;
        return failure(
            WEFT_REFUSED_UNSUPPORTED,
            "the progress thread cannot call this MPI: it was started with a thread level "
            "below MPI_THREAD_MULTIPLE; expected that, or engine manual");
    }
    return ok;
}

Status Process::refuse_outstanding() {
    std::uint32_t pending = 0;
    std::uint32_t ended = 0;
    std::string list;
    const auto add = [&](const Request& request) {
        const std::uint32_t before = pending + ended;
        if (before < listed_max) list += (before > 0 ? ", " : "") + description_of(request);
        ++(request.is_done() ? ended : pending);
    };
    for (Run* run = executor_.first_active(); run; run = Executor::next_active(*run))
        add(Request::of(*run));
    // Whether an operation still runs is a matter of time, whether the program has completed it is
    // not. After a failure, programs often leave before they have completed everything.
    requests_.for_each([&](const Request& request) {
        const bool is_whole = request.active && request.failure().code == WEFT_OK;
        if (is_whole && request.is_done()) add(request);
    });
    if (pending + ended == 0) return ok;
    if (pending + ended > listed_max) list += ", ...";
    if (ended == 0)
        return failure(WEFT_REFUSED_OUTSTANDING, "%u operations are pending: %s", pending,
                       list.c_str());
    return failure(WEFT_REFUSED_OUTSTANDING,
                   "%u operations are pending, %u have ended but were not completed by a test or a "
                   "wait: %s",
                   pending, ended, list.c_str());
}

}  // namespace weft
