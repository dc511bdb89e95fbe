#include "sim/loggp.h"

#include <unordered_map>

#include "sim/cpus.h"
#include "sim/crossings.h"

namespace weft::simulate {
namespace {

constexpr std::size_t fetched_ahead = 8;  // events

// A message of more than S bytes whose receive is posted. A card's answer may come before the send.
struct LargeMessage {
    enum class Stage : std::uint32_t { answer_comes, answer_came, data_comes, data_came };
    Stage stage = Stage::answer_comes;
    std::uint32_t sender = 0;
    std::uint32_t receiver = 0;
    Instance send = 0;
    Instance recv = 0;
    std::int64_t bytes = 0;
    bool is_unasked = false;
};

constexpr std::uint32_t no_message = 0xffffffffu;

// The interface of a rank for messages within its node.
struct InsideInterface {
    std::int64_t send_free_ps = 0;
    std::int64_t recv_free_ps = 0;
};

}  // namespace

// What happens to messages; Cpus and Crossings say when.
class LogGpMachine::Inside {
  public:
    Inside(const LogGpParameters& parameters, const Disturbance& disturbance,
           const TorusParameters* torus)
        : m_(parameters, disturbance, torus), cpus_(m_), crossings_(m_) {}

    MachineState& state() { return m_; }

    Result<LogGpOutcome> run(std::vector<BusySpan>* spans) {
        m_.spans = spans;
        WEFT_RETURN_IF_NOT_OK(m_.ranks.connect());
        WEFT_RETURN_IF_NOT_OK(prepare());
        while (m_.now_ps < time_max_ps) {
            const bool is_empty = m_.queue.is_empty();
            // All that starts at one time changes the rates at once.
            if (crossings_.have_changed() && (is_empty || m_.queue.next_time_ps() > m_.now_ps)) {
                crossings_.expect_end();
                continue;
            }
            if (is_empty) break;
            const SimEvent event = m_.queue.pop();
            fetch_ahead();
            m_.now_ps = event.time_ps;
            happen(event);
        }
        if (std::max(m_.latest_ps, m_.now_ps) >= time_max_ps) return MachineState::above_time_max();
        WEFT_RETURN_IF_NOT_OK(m_.ranks.check_end());
        LogGpOutcome outcome;
        outcome.events = events_;
        cpus_.finish(outcome);
        return outcome;
    }

  private:
    Status prepare() {
        recv_overhead_ps_ = m_.ends.recv_overhead_ps.value_or(m_.p.overhead_ps);
        recv_byte_overhead_ps_ = m_.ends.recv_byte_overhead_ps.value_or(m_.p.byte_overhead_ps);
        cpus_.prepare();
        // A message, a reduction or a copy that takes as long would overflow.
        WEFT_RETURN_IF_NOT_OK(MachineState::check_time(
            static_cast<double>(m_.ranks.op_bytes_max()),
            std::max({m_.p.byte_gap_ps, m_.p.byte_overhead_ps, recv_byte_overhead_ps_,
                      m_.p.byte_reduction_ps, m_.p.byte_copy_ps})));
        WEFT_RETURN_IF_NOT_OK(crossings_.prepare());
        if (!m_.nodes) return ok;
        WEFT_ASSERT(static_cast<std::size_t>(m_.nodes->ranks()) == m_.ranks.size());
        inside_interfaces_.resize(m_.ranks.size());
        const LogGpParameters& inside = m_.nodes->inside;
        return MachineState::check_time(
            static_cast<double>(m_.ranks.bytes_max()),
            std::max({m_.nodes->link_byte_ps, inside.byte_gap_ps, inside.byte_overhead_ps}));
    }

    // What the next events need is brought into the cache: otherwise most of the time is spent
    // waiting for memory, unless all ranks do the same at the same time.
    void fetch_ahead() {
        if (const SimEvent* const event = m_.queue.ahead(2 * fetched_ahead))
            __builtin_prefetch(&m_.ranks[event->rank]);
        const SimEvent* const event = m_.queue.ahead(fetched_ahead);
        if (!event) return;
        SimulatedRank& rank = m_.ranks[event->rank];
        const std::uint32_t argument = event->what & event_argument_mask;
        switch (static_cast<EventKind>(event->what >> event_argument_bits)) {
            case EventKind::first_byte:
            case EventKind::last_byte: __builtin_prefetch(&m_.ranks.from(rank, argument)); break;
            case EventKind::complete:
                if (rank.repeats == 0) m_.ranks.fetch_after(rank, argument, /*depth=*/2);
                break;
            default: break;
        }
    }

    void happen(const SimEvent& event) {
        SimulatedRank& rank = m_.ranks[event.rank];
        const std::uint32_t argument = event.what & event_argument_mask;
        switch (static_cast<EventKind>(event.what >> event_argument_bits)) {
            case EventKind::begin:
                if (!cpus_.begin(event.rank)) break;
                for (const OpId root : rank.structure->schedule().roots()) ready_.push_back(root);
                break;
            case EventKind::complete: m_.ranks.complete(rank, argument, m_.now_ps, ready_); break;
            case EventKind::first_byte: first_byte(event.rank, argument); break;
            case EventKind::last_byte: last_byte(event.rank, argument); break;
            case EventKind::large: go_on(argument); break;
            case EventKind::enter: crossings_.enter(argument); break;
            case EventKind::left: crossings_.enter_next(event.rank); break;
            case EventKind::flows: crossings_.end_flows(argument); break;
        }
        for (std::size_t i = 0; i < ready_.size(); ++i) start(event.rank, ready_[i]);
        ready_.clear();
    }

    void start(std::uint32_t r, Instance instance) {
        SimulatedRank& rank = m_.ranks[r];
        const OpInstance at = m_.ranks.position(rank, instance);
        const Op& op = rank.structure->schedule().ops()[at.op];
        const std::int64_t bytes = rank.structure->bytes(at);
        if (op.kind == OpKind::join) return m_.ranks.complete(rank, instance, m_.now_ps, ready_);
        ++events_;
        m_.ranks.issue(rank, instance, at, ready_);
        switch (op.kind) {
            case OpKind::send: send(r, instance, at, bytes); break;
            case OpKind::recv: {
                const std::uint32_t lane = rank.structure->lane_of(at.op);
                ArrivalLane& arrivals = m_.ranks.from(rank, lane);
                const std::uint32_t index = arrivals.posted++;
                if (index < arrivals.come || is_unasked(r, arrivals, bytes)) match(r, lane, index);
                break;
            }
            case OpKind::copy:
                complete_at(r, instance, cpus_.compute(r, Work::copy, bytes * m_.p.byte_copy_ps));
                break;
            default:
                complete_at(r, instance,
                            cpus_.compute(r, Work::reduction, bytes * m_.p.byte_reduction_ps));
                break;
        }
    }

    void complete_at(std::uint32_t r, Instance instance, std::int64_t time_ps) {
        SimulatedRank& rank = m_.ranks[r];
        if (time_ps == m_.now_ps) return m_.ranks.complete(rank, instance, time_ps, ready_);
        if (m_.ranks.is_awaited(rank, instance))
            m_.push(time_ps, r, EventKind::complete, instance);
        else
            SimulatedRanks::end(rank, time_ps);
    }

    void send(std::uint32_t r, Instance instance, OpInstance at, std::int64_t bytes) {
        SimulatedRank& rank = m_.ranks[r];
        const SimulatedLane lane = m_.ranks.to(rank, rank.structure->lane_of(at.op));
        const bool is_large = bytes > m_.p.eager_bytes_max;
        const bool inside = m_.is_inside(r, lane.peer);
        if (is_large && cpus_.has_card(inside)) return send_when_cleared(r, instance);
        if (is_large) bytes = 0;  // it asks first
        const Work work = is_large ? Work::question : Work::send;
        const std::int64_t end_ps = cpus_.compute(r, work, message_overhead(bytes, inside), inside);
        const std::uint32_t arrival = what(EventKind::first_byte, lane.lane);
        const bool ends_with_bytes = m_.torus && m_.ends.cpu_sends && !is_large && !inside;
        deliver(r, work, leaves_at(end_ps, bytes, inside), bytes, lane.peer, arrival,
                ends_with_bytes ? instance : no_instance);
        if (!is_large && !ends_with_bytes) complete_at(r, instance, end_ps);
    }

    // Whether the card answers for a message before it is asked.
    bool is_unasked(std::uint32_t r, const ArrivalLane& from, std::int64_t bytes) const {
        if (m_.progress.by != Progress::By::offload || bytes <= m_.p.eager_bytes_max) [[likely]]
            return false;
        return cpus_.has_card(m_.nodes && m_.is_inside(r, m_.ranks.source(from).peer));
    }

    // Skips the lane's messages from number `index` on that come without a question.
    void pass_unasked(std::uint32_t r, std::uint32_t lane, std::uint32_t& index) {
        if (m_.progress.by != Progress::By::offload) [[likely]]
            return;
        SimulatedRank& rank = m_.ranks[r];
        const LaneMessages& messages = rank.structure->recvs();
        const ArrivalLane& arrivals = m_.ranks.from(rank, lane);
        // (Past the lane's last receive, message() repeats itself.)
        while (index < rank.structure->instances() &&
               is_unasked(r, arrivals, rank.structure->bytes(messages.message(lane, index))))
            ++index;
    }

    void first_byte(std::uint32_t r, std::uint32_t lane) {
        SimulatedRank& rank = m_.ranks[r];
        ArrivalLane& arrivals = m_.ranks.from(rank, lane);
        pass_unasked(r, lane, arrivals.coming);
        std::int64_t bytes =
            rank.structure->bytes(rank.structure->recvs().message(lane, arrivals.coming++));
        const bool is_large = bytes > m_.p.eager_bytes_max;
        const bool inside = m_.nodes && m_.is_inside(r, m_.ranks.source(arrivals).peer);
        if (is_large) bytes = 0;
        const std::int64_t last_ps =
            arrive(r, is_large ? Work::question : Work::recv, bytes, inside);
        if (last_ps == m_.now_ps) return last_byte(r, lane);
        m_.push(last_ps, r, EventKind::last_byte, lane);
    }

    void last_byte(std::uint32_t r, std::uint32_t lane) {
        ++events_;
        ArrivalLane& arrivals = m_.ranks.from(m_.ranks[r], lane);
        pass_unasked(r, lane, arrivals.come);
        const std::uint32_t index = arrivals.come++;
        if (index < arrivals.posted) match(r, lane, index);
    }

    // A message, or if it is large, the question for it, has come or is not needed, and its receive
    // is posted.
    void match(std::uint32_t r, std::uint32_t lane, std::uint32_t index) {
        SimulatedRank& rank = m_.ranks[r];
        const OpInstance at = rank.structure->recvs().message(lane, index);
        const std::int64_t bytes = rank.structure->bytes(at);
        const ArrivalLane& arrivals = m_.ranks.from(rank, lane);
        if (bytes <= m_.p.eager_bytes_max) {
            const bool inside = m_.nodes && m_.is_inside(r, m_.ranks.source(arrivals).peer);
            return complete_at(r, m_.ranks.instance(rank, at), receive(r, bytes, inside));
        }
        const SimulatedLane sent = m_.ranks.source(arrivals);
        SimulatedRank& sender = m_.ranks[sent.peer];
        const bool inside = m_.is_inside(r, sent.peer);
        LargeMessage message;
        message.sender = sent.peer;
        message.receiver = r;
        message.send =
            m_.ranks.instance(sender, sender.structure->sends().message(sent.lane, index));
        message.recv = m_.ranks.instance(rank, at);
        message.bytes = bytes;
        message.is_unasked = cpus_.has_card(inside);
        const std::int64_t end_ps =
            cpus_.compute(r, Work::answer, message_overhead(0, inside), inside);
        deliver(r, Work::answer, end_ps, 0, sent.peer,
                what(EventKind::large, large_.keep(message)));
    }

    // The next stage of a large message whose receive is posted.
    void go_on(std::uint32_t number) {
        LargeMessage& message = large_[number];
        using Stage = LargeMessage::Stage;
        const std::uint32_t sender = message.sender;
        const std::uint32_t receiver = message.receiver;
        const bool inside = m_.is_inside(sender, receiver);
        if (message.stage == Stage::answer_comes) {
            message.stage = Stage::answer_came;
            const std::int64_t came_ps =
                occupy(sender, Unit::receiving, Work::answer, m_.now_ps, 0, inside);
            if (came_ps > m_.now_ps) return m_.push(came_ps, sender, EventKind::large, number);
        }
        if (message.stage == Stage::answer_came) {
            if (!message.is_unasked || is_second(sender, message.send, number)) send_data(number);
            return;
        }
        if (message.stage == Stage::data_comes) {
            message.stage = Stage::data_came;
            const std::int64_t last_ps = arrive(receiver, Work::recv, message.bytes, inside);
            if (last_ps > m_.now_ps) return m_.push(last_ps, receiver, EventKind::large, number);
        }
        const Instance recv = message.recv;
        const std::int64_t bytes = message.bytes;
        if (message.is_unasked) ++events_;
        large_.drop(number);
        complete_at(receiver, recv, receive(receiver, bytes, inside));
    }

    // A large message between cards.
    void send_when_cleared(std::uint32_t r, Instance instance) {
        std::uint32_t number = no_message;
        if (is_second(r, instance, number)) send_data(number);
    }

    // Whether the other one of a send and the answer to it has been here. `number`: of the message,
    // or no_message if it is the send that comes; then the message's.
    bool is_second(std::uint32_t r, Instance send, std::uint32_t& number) {
        const auto [entry, is_first] = cleared_.try_emplace(std::uint64_t{r} << 32 | send, number);
        if (is_first) return false;
        if (number == no_message) number = entry->second;
        cleared_.erase(entry);
        return true;
    }

    void send_data(std::uint32_t number) {
        LargeMessage& message = large_[number];
        message.stage = LargeMessage::Stage::data_comes;
        const bool inside = m_.is_inside(message.sender, message.receiver);
        const std::int64_t end_ps = cpus_.compute(message.sender, Work::send,
                                                  message_overhead(message.bytes, inside), inside);
        deliver(message.sender, Work::send, leaves_at(end_ps, message.bytes, inside), message.bytes,
                message.receiver, what(EventKind::large, number), message.send);
    }

    // The receiver's part of a message of which the last byte has come.
    std::int64_t receive(std::uint32_t r, std::int64_t bytes, bool inside) {
        if (inside) return cpus_.compute(r, Work::recv, message_overhead(bytes, inside), inside);
        const std::int64_t bytes_ps = after_first(bytes) * recv_byte_overhead_ps_;
        return cpus_.compute(r, Work::recv, recv_overhead_ps_ + bytes_ps, inside,
                             m_.ends.cpu_receives_along ? bytes_ps : 0);
    }

    // Hands a message to the interface at `from_ps`; `send`, if any, is over when its last byte has
    // left.
    void deliver(std::uint32_t sender, Work work, std::int64_t from_ps, std::int64_t bytes,
                 std::uint32_t receiver, std::uint32_t arrival, Instance send = no_instance) {
        const bool inside = m_.is_inside(sender, receiver);
        const bool crosses = !inside && (m_.torus || m_.nodes);
        const std::int64_t entered_ps =
            m_.torus && !inside ? from_ps
                                : occupy(sender, Unit::sending, work, from_ps, bytes, inside);
        if (crosses)
            return crossings_.add(entered_ps, {sender, receiver, arrival, send, work, bytes});
        const LogGpParameters& p = m_.network(inside);
        m_.queue.push({entered_ps + p.latency_ps, receiver, arrival});
        if (send != no_instance)
            complete_at(sender, send, entered_ps + after_first(bytes) * p.byte_gap_ps);
    }

    // The receiving side gets a message, or all its bytes at once after a crossing; when the last
    // is there.
    std::int64_t arrive(std::uint32_t r, Work work, std::int64_t bytes, bool inside) {
        if (!inside && (m_.torus || m_.nodes)) bytes = 0;
        return occupy(r, Unit::receiving, work, m_.now_ps, bytes, inside) +
               after_first(bytes) * m_.network(inside).byte_gap_ps;
    }

    // Adds a message to a side of the network interface; when its first byte goes through.
    std::int64_t occupy(std::uint32_t r, Unit side, Work work, std::int64_t from_ps,
                        std::int64_t bytes, bool inside) {
        std::int64_t& free_ps =
            inside ? free_of(inside_interfaces_[r], side) : free_of(m_.ranks[r], side);
        const LogGpParameters& p = m_.network(inside);
        const std::int64_t begin_ps = std::max(free_ps, from_ps);
        free_ps = m_.later(begin_ps, p.gap_ps + after_first(bytes) * p.byte_gap_ps);
        m_.record(r, side, work, begin_ps, free_ps);
        return begin_ps;
    }
    template <class Interface>
    static std::int64_t& free_of(Interface& interface, Unit side) {
        return side == Unit::sending ? interface.send_free_ps : interface.recv_free_ps;
    }

    std::int64_t message_overhead(std::int64_t bytes, bool inside) const {
        const LogGpParameters& p = m_.network(inside);
        return p.overhead_ps + after_first(bytes) * p.byte_overhead_ps;
    }
    // When a message gets to the interface with which the CPU is done at `end_ps`.
    std::int64_t leaves_at(std::int64_t end_ps, std::int64_t bytes, bool inside) const {
        if (!m_.ends.cpu_sends || inside) return end_ps;
        return end_ps - after_first(bytes) * m_.p.byte_overhead_ps;
    }

    MachineState m_;
    Cpus cpus_;
    Crossings crossings_;
    std::int64_t recv_overhead_ps_ = 0;
    std::int64_t recv_byte_overhead_ps_ = 0;
    std::uint64_t events_ = 0;
    std::vector<Instance> ready_;
    NumberedRecords<LargeMessage> large_;
    // By sender and send: a large message that is answered, or no_message if it is the send that
    // waits.
    std::unordered_map<std::uint64_t, std::uint32_t> cleared_;
    std::vector<InsideInterface> inside_interfaces_;  // by rank
};

LogGpMachine::LogGpMachine(const LogGpParameters& parameters, const Disturbance& disturbance,
                           const TorusParameters* torus)
    : inside_(std::make_unique<Inside>(parameters, disturbance, torus)) {}
LogGpMachine::~LogGpMachine() = default;

void LogGpMachine::set_progress(const Progress& progress) { inside_->state().progress = progress; }
void LogGpMachine::set_nodes(const NodesParameters& nodes) {
    MachineState& machine = inside_->state();
    WEFT_ASSERT(machine.ranks.size() == 0);
    machine.nodes = nodes;
    machine.ranks.know_all_sources();
}
void LogGpMachine::set_ends(const MessageEnds& ends) { inside_->state().ends = ends; }
void LogGpMachine::add(const Schedule& schedule) { inside_->state().ranks.add(schedule); }
Result<LogGpOutcome> LogGpMachine::run(std::vector<BusySpan>* spans) { return inside_->run(spans); }
std::size_t LogGpMachine::structures() const { return inside_->state().ranks.structures(); }
std::size_t LogGpMachine::rank_memory_bytes() const {
    return inside_->state().ranks.memory_bytes();
}

}  // namespace weft::simulate
