#include "sim/loggp.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "sim/event_queue.h"
#include "sim/shared_links.h"
#include "sim/simulated_ranks.h"

namespace weft::simulate {
namespace {

using model::after_first;
using Unit = BusySpan::Unit;
using Work = BusySpan::Work;

enum class EventKind : std::uint32_t {
    begin,       // the rank's first operations
    complete,    // instance
    first_byte,  // lane: of a message, at the receiver
    last_byte,   // lane
    large,       // number of the message: its next stage
    enter,       // on a torus, or at a link of a node; number of the crossing: it may begin
    // On a torus:
    left,   // the rank's last message has left its interface
    flows,  // some may have ended, if nothing has started since this was said
};

constexpr unsigned argument_bits = 29;
constexpr std::uint32_t argument_mask = (1u << argument_bits) - 1;

constexpr std::size_t fetched_ahead = 8;  // events

std::uint32_t what(EventKind kind, std::uint32_t argument) {
    WEFT_ASSERT(argument >> argument_bits == 0);
    return static_cast<std::uint32_t>(kind) << argument_bits | argument;
}

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

// What a rank has beside the CPU that advances the collective.
struct BesideRank {
    std::int64_t start_ps = 0;
    std::int64_t card_free_ps = 0;
    std::int64_t left_ps = 0;  // to compute
    // On a core that ranks share: when nothing was left, and for how long the core had nothing to do until then, and
    // until the rank's last work there.
    std::int64_t computed_ps = 0;
    std::int64_t idle_computed_ps = 0;
    std::int64_t idle_worked_ps = 0;
    bool has_begun = false;
};

constexpr Instance no_instance = 0xffffffffu;
constexpr std::uint32_t no_message = 0xffffffffu;

// A message on its way through a torus or from node to node, or waiting for that.
struct Crossing {
    std::uint32_t sender = 0;
    std::uint32_t receiver = 0;
    std::uint32_t arrival = 0;    // what happens to the receiver then
    Instance send = no_instance;  // is over when the last byte has left
    Work work = Work::send;
    std::int64_t bytes = 0;
    std::int64_t begin_ps = 0;
    // From node to node:
    bool has_left = false;     // the sender's node
    std::int64_t last_ps = 0;  // then: when the last byte comes
};

// Of a node: its link in both directions.
struct NodeLinks {
    TokenBucket out;
    TokenBucket in;
};

// The interface of a rank for messages within its node.
struct InsideInterface {
    std::int64_t send_free_ps = 0;
    std::int64_t recv_free_ps = 0;
};

constexpr std::uint32_t no_rank = 0xffffffffu;

// That ranks share.
struct SharedCore {
    std::int64_t free_ps = 0;
    std::int64_t idle_ps = 0;                   // until then, beside computations
    std::uint32_t rank = no_rank;               // for which it worked last
    std::vector<std::uint32_t> computing = {};  // ranks that have something left to compute
};

// Records that are numbered while they are kept.
template <class Record>
class NumberedRecords {
  public:
    std::uint32_t keep(const Record& record) {
        if (unused_.empty()) {
            records_.push_back(record);
            return static_cast<std::uint32_t>(records_.size()) - 1;
        }
        const std::uint32_t number = unused_.back();
        unused_.pop_back();
        records_[number] = record;
        return number;
    }
    void drop(std::uint32_t number) { unused_.push_back(number); }
    Record& operator[](std::uint32_t number) { return records_[number]; }

  private:
    std::vector<Record> records_;
    std::vector<std::uint32_t> unused_;
};

}  // namespace

class LogGpMachine::Inside {
  public:
    Inside(const LogGpParameters& parameters, const Disturbance& disturbance,
           const TorusParameters* torus)
        : p_(parameters),
          disturbance_(disturbance),
          has_noise_(disturbance.has_noise()),
          ranks_(parameters.eager_bytes_max),
          torus_(torus) {}

    std::size_t structures() const { return ranks_.structures(); }
    std::size_t rank_memory_bytes() const { return ranks_.memory_bytes(); }

    void set_progress(const Progress& progress) { progress_ = progress; }
    void set_nodes(const NodesParameters& nodes) {
        WEFT_ASSERT(ranks_.size() == 0);
        nodes_ = nodes;
        ranks_.know_all_sources();
    }
    void set_ends(const MessageEnds& ends) {
        ends_ = ends;
        recv_overhead_ps_ = ends.recv_overhead_ps.value_or(p_.overhead_ps);
        recv_byte_overhead_ps_ = ends.recv_byte_overhead_ps.value_or(p_.byte_overhead_ps);
    }
    void add(const Schedule& schedule) { ranks_.add(schedule); }

    Result<LogGpOutcome> run(std::vector<BusySpan>* spans) {
        spans_ = spans;
        WEFT_RETURN_IF_NOT_OK(ranks_.connect());
        if (disturbance_.exists())
            disturbed_ps_ = disturbance_.starts_ps(static_cast<Rank>(ranks_.size()));
        for (std::uint32_t r = 0; r < ranks_.size(); ++r)
            push(disturbed_ps_.empty() ? 0 : disturbed_ps_[r], r, EventKind::begin, 0);
        // A message, a reduction or a copy that takes as long would overflow.
        const double byte_ps = static_cast<double>(
            std::max({p_.byte_gap_ps, p_.byte_overhead_ps, recv_byte_overhead_ps_,
                      p_.byte_reduction_ps, p_.byte_copy_ps}));
        if (static_cast<double>(ranks_.op_bytes_max()) * byte_ps >
            static_cast<double>(time_max_ps) / 4)
            return above_time_max();
        WEFT_ASSERT(!ends_.cpu_sends || progress_.is_plain() ||
                    progress_.by != Progress::By::offload);
        WEFT_ASSERT(!ends_.cpu_receives_along || (progress_.is_plain() && !torus_));
        if (torus_) WEFT_RETURN_IF_NOT_OK(lay_links());
        if (nodes_) WEFT_RETURN_IF_NOT_OK(make_nodes());
        if (!progress_.is_plain()) beside_.assign(ranks_.size(), {.left_ps = progress_.compute_ps});
        while (now_ps_ < time_max_ps) {
            const bool is_empty = queue_.is_empty();
            // All that starts at one time changes the rates at once.
            if (flows_changed_ && (is_empty || queue_.next_time_ps() > now_ps_)) {
                expect_end_of_flows();
                continue;
            }
            if (is_empty) break;
            const SimEvent event = queue_.pop();
            fetch_ahead();
            now_ps_ = event.time_ps;
            happen(event);
        }
        latest_ps_ = std::max(latest_ps_, now_ps_);
        if (latest_ps_ >= time_max_ps) return above_time_max();
        WEFT_RETURN_IF_NOT_OK(ranks_.check_end());
        for (SharedCore& core : cores_) compute_until(core, time_max_ps);
        LogGpOutcome outcome;
        outcome.events = events_;
        for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
            const SimulatedRank& rank = ranks_[r];
            const std::int64_t computed_ps = end_of_computing(r);
            const std::int64_t end_ps = std::max(rank.end_ps, computed_ps);
            outcome.end_ps.push_back(end_ps);
            outcome.cpu_ps.push_back(rank.cpu_ps);
            outcome.waiting_ps.push_back(waiting_ps(r, end_ps, computed_ps));
        }
        outcome.disturbed_ps = std::move(disturbed_ps_);
        return outcome;
    }

  private:
    // What the next events need is brought into the cache: otherwise most of the time is spent waiting for
    // memory, unless all ranks do the same at the same time.
    void fetch_ahead() {
        if (const SimEvent* const event = queue_.ahead(2 * fetched_ahead))
            __builtin_prefetch(&ranks_[event->rank]);
        const SimEvent* const event = queue_.ahead(fetched_ahead);
        if (!event) return;
        SimulatedRank& rank = ranks_[event->rank];
        const std::uint32_t argument = event->what & argument_mask;
        switch (static_cast<EventKind>(event->what >> argument_bits)) {
            case EventKind::first_byte:
            case EventKind::last_byte: __builtin_prefetch(&ranks_.from(rank, argument)); break;
            case EventKind::complete:
                if (rank.repeats == 0) fetch_after(rank, argument, /*depth=*/2);
                break;
            default: break;
        }
    }

    void fetch_after(SimulatedRank& rank, OpId op, int depth) const {
        const Structure& structure = *rank.structure;
        for (const Edge edge : structure.schedule().after_completion(op)) {
            const std::uint32_t counter = structure.counter_of(edge.to);
            if (counter != Structure::no_counter)
                __builtin_prefetch(SimulatedRanks::place_of(rank, counter));
            const OpKind kind = structure.schedule().ops()[edge.to].kind;
            if (kind == OpKind::send)
                __builtin_prefetch(&ranks_.to(rank, structure.lane_of(edge.to)));
            if (depth > 0 && kind != OpKind::send) fetch_after(rank, edge.to, depth - 1);
        }
    }

    void happen(const SimEvent& event) {
        SimulatedRank& rank = ranks_[event.rank];
        const std::uint32_t argument = event.what & argument_mask;
        switch (static_cast<EventKind>(event.what >> argument_bits)) {
            case EventKind::begin:
                if (!beside_.empty() && !begin_beside_computing(event.rank)) break;
                for (const OpId root : rank.structure->schedule().roots()) ready_.push_back(root);
                break;
            case EventKind::complete: complete(rank, argument); break;
            case EventKind::first_byte: first_byte(event.rank, argument); break;
            case EventKind::last_byte: last_byte(event.rank, argument); break;
            case EventKind::large: go_on(argument); break;
            case EventKind::enter: enter(argument); break;
            case EventKind::left: enter_next(event.rank); break;
            case EventKind::flows: end_flows(argument); break;
        }
        for (std::size_t i = 0; i < ready_.size(); ++i) start(event.rank, ready_[i]);
        ready_.clear();
    }

    void start(std::uint32_t r, Instance instance) {
        SimulatedRank& rank = ranks_[r];
        const OpInstance at = ranks_.position(rank, instance);
        const Op& op = rank.structure->schedule().ops()[at.op];
        const std::int64_t bytes = rank.structure->bytes(at);
        if (op.kind == OpKind::join) return complete(rank, instance);
        ++events_;
        issue(rank, instance, at);
        switch (op.kind) {
            case OpKind::send: send(r, instance, at, bytes); break;
            case OpKind::recv: {
                const std::uint32_t lane = rank.structure->lane_of(at.op);
                ArrivalLane& arrivals = ranks_.from(rank, lane);
                const std::uint32_t index = arrivals.posted++;
                if (index < arrivals.come || is_unasked(r, arrivals, bytes)) match(r, lane, index);
                break;
            }
            case OpKind::copy:
                complete_at(r, instance, compute(r, Work::copy, bytes * p_.byte_copy_ps));
                break;
            default:
                complete_at(r, instance, compute(r, Work::reduction, bytes * p_.byte_reduction_ps));
                break;
        }
    }

    // Releases the lane's next message.
    void issue(SimulatedRank& rank, Instance instance, OpInstance at) {
        const Edge next = rank.structure->schedule().after_issue(at.op);
        if (next.to == Schedule::no_issue) return;
        if (RepeatState* const state = ranks_.state_of(rank, instance))
            state->follow(next, at.iteration, [&](Instance after) { release(rank, after); });
        else
            release(rank, next.to);
    }

    void send(std::uint32_t r, Instance instance, OpInstance at, std::int64_t bytes) {
        SimulatedRank& rank = ranks_[r];
        const SimulatedLane lane = ranks_.to(rank, rank.structure->lane_of(at.op));
        const bool is_large = bytes > p_.eager_bytes_max;
        const bool inside = is_inside(r, lane.peer);
        if (is_large && has_card(inside)) return send_when_cleared(r, instance);
        if (is_large) bytes = 0;  // it asks first
        const Work work = is_large ? Work::question : Work::send;
        const std::int64_t end = compute(r, work, message_overhead(bytes, inside), inside);
        const std::uint32_t arrival = what(EventKind::first_byte, lane.lane);
        if (torus_ && ends_.cpu_sends && !is_large && !inside)
            return deliver(r, work, leaves_at(end, bytes, inside), bytes, lane.peer, arrival,
                           instance);
        deliver(r, work, leaves_at(end, bytes, inside), bytes, lane.peer, arrival);
        if (!is_large) complete_at(r, instance, end);
    }

    // Whether the card answers for a message before it is asked.
    bool is_unasked(std::uint32_t r, const ArrivalLane& from, std::int64_t bytes) const {
        if (beside_.empty() || bytes <= p_.eager_bytes_max) [[likely]]
            return false;
        return has_card(nodes_ && is_inside(r, ranks_.source(from).peer));
    }

    // Passes over those of a lane's messages from number `index` on that nobody asks for.
    void pass_unasked(std::uint32_t r, std::uint32_t lane, std::uint32_t& index) {
        SimulatedRank& rank = ranks_[r];
        const LaneMessages& messages = rank.structure->recvs();
        const ArrivalLane& arrivals = ranks_.from(rank, lane);
        // (Of a message that nobody receives there is no end.)
        while (index < rank.structure->instances() &&
               is_unasked(r, arrivals, rank.structure->bytes(messages.message(lane, index))))
            ++index;
    }

    // A large message between cards.
    void send_when_cleared(std::uint32_t r, Instance instance) {
        const auto [entry, is_first] = cleared_.try_emplace(key_of(r, instance), no_message);
        if (is_first) return;
        const std::uint32_t number = entry->second;
        cleared_.erase(entry);
        send_data(number);
    }
    static std::uint64_t key_of(std::uint32_t r, Instance instance) {
        return std::uint64_t{r} << 32 | instance;
    }

    void send_data(std::uint32_t number) {
        LargeMessage& message = large_[number];
        message.stage = LargeMessage::Stage::data_comes;
        const bool inside = is_inside(message.sender, message.receiver);
        const std::int64_t end =
            compute(message.sender, Work::send, message_overhead(message.bytes, inside), inside);
        deliver(message.sender, Work::send, leaves_at(end, message.bytes, inside), message.bytes,
                message.receiver, what(EventKind::large, number), message.send);
    }

    void first_byte(std::uint32_t r, std::uint32_t lane) {
        SimulatedRank& rank = ranks_[r];
        ArrivalLane& arrivals = ranks_.from(rank, lane);
        if (!beside_.empty()) [[unlikely]]
            pass_unasked(r, lane, arrivals.coming);
        std::int64_t bytes =
            rank.structure->bytes(rank.structure->recvs().message(lane, arrivals.coming++));
        const bool is_large = bytes > p_.eager_bytes_max;
        const bool inside = nodes_ && is_inside(r, ranks_.source(arrivals).peer);
        if (is_large || come_together(inside)) bytes = 0;
        const std::int64_t first = occupy(
            r, Unit::receiving, is_large ? Work::question : Work::recv, now_ps_, bytes, inside);
        const std::int64_t last = first + after_first(bytes) * network(inside).byte_gap_ps;
        if (last == now_ps_) return last_byte(r, lane);
        push(last, r, EventKind::last_byte, lane);
    }

    void last_byte(std::uint32_t r, std::uint32_t lane) {
        ++events_;
        ArrivalLane& arrivals = ranks_.from(ranks_[r], lane);
        if (!beside_.empty()) [[unlikely]]
            pass_unasked(r, lane, arrivals.come);
        const std::uint32_t index = arrivals.come++;
        if (index < arrivals.posted) match(r, lane, index);
    }

    // A message, or if it is large, the question for it, has come or is not needed, and its receive is posted.
    void match(std::uint32_t r, std::uint32_t lane, std::uint32_t index) {
        SimulatedRank& rank = ranks_[r];
        const OpInstance at = rank.structure->recvs().message(lane, index);
        const std::int64_t bytes = rank.structure->bytes(at);
        if (bytes <= p_.eager_bytes_max) {
            const bool inside = nodes_ && is_inside(r, ranks_.source(ranks_.from(rank, lane)).peer);
            return complete_at(r, ranks_.instance(rank, at), receive(r, bytes, inside));
        }
        const SimulatedLane sent = ranks_.source(ranks_.from(rank, lane));
        SimulatedRank& sender = ranks_[sent.peer];
        LargeMessage message;
        message.sender = sent.peer;
        message.receiver = r;
        message.send = ranks_.instance(sender, sender.structure->sends().message(sent.lane, index));
        message.recv = ranks_.instance(rank, at);
        message.bytes = bytes;
        const bool inside = is_inside(r, sent.peer);
        message.is_unasked = has_card(inside);
        deliver(r, Work::answer, compute(r, Work::answer, message_overhead(0, inside), inside), 0,
                sent.peer, what(EventKind::large, large_.keep(message)));
    }

    // The next stage of a large message whose receive is posted.
    void go_on(std::uint32_t number) {
        LargeMessage& message = large_[number];
        using Stage = LargeMessage::Stage;
        const std::uint32_t sender = message.sender;
        const std::uint32_t receiver = message.receiver;
        const bool inside = is_inside(sender, receiver);
        if (message.stage == Stage::answer_comes) {
            message.stage = Stage::answer_came;
            const std::int64_t came =
                occupy(sender, Unit::receiving, Work::answer, now_ps_, 0, inside);
            if (came > now_ps_) return push(came, sender, EventKind::large, number);
        }
        if (message.stage == Stage::answer_came) {
            if (!message.is_unasked) return send_data(number);
            const auto [entry, is_first] =
                cleared_.try_emplace(key_of(sender, message.send), number);
            if (is_first) return;
            cleared_.erase(entry);
            return send_data(number);
        }
        if (message.stage == Stage::data_comes) {
            message.stage = Stage::data_came;
            const std::int64_t bytes = come_together(inside) ? 0 : message.bytes;
            const std::int64_t last =
                occupy(receiver, Unit::receiving, Work::recv, now_ps_, bytes, inside) +
                after_first(bytes) * network(inside).byte_gap_ps;
            if (last > now_ps_) return push(last, receiver, EventKind::large, number);
        }
        const Instance recv = message.recv;
        const std::int64_t bytes = message.bytes;
        if (message.is_unasked) ++events_;
        large_.drop(number);
        complete_at(receiver, recv, receive(receiver, bytes, inside));
    }

    // The receiver's part of a message of which the last byte has come.
    std::int64_t receive(std::uint32_t r, std::int64_t bytes, bool inside) {
        const std::int64_t cost_ps = recv_overhead(bytes, inside);
        if (!ends_.cpu_receives_along || inside) return compute(r, Work::recv, cost_ps, inside);
        return compute(r, Work::recv, cost_ps, inside, after_first(bytes) * recv_byte_overhead_ps_);
    }

    // Hands a message to the interface at `from_ps`; `send`, if any, is over when its last byte has left.
    void deliver(std::uint32_t sender, Work work, std::int64_t from_ps, std::int64_t bytes,
                 std::uint32_t receiver, std::uint32_t arrival, Instance send = no_instance) {
        const bool inside = is_inside(sender, receiver);
        if (torus_ && !inside) {
            const Crossing crossing{sender, receiver, arrival, send, work, bytes};
            return push(from_ps, sender, EventKind::enter, crossings_.keep(crossing));
        }
        const std::int64_t entered = occupy(sender, Unit::sending, work, from_ps, bytes, inside);
        if (nodes_ && !inside) {
            const Crossing crossing{sender, receiver, arrival, send, work, bytes};
            return push(entered, sender, EventKind::enter, crossings_.keep(crossing));
        }
        queue_.push({entered + network(inside).latency_ps, receiver, arrival});
        if (send != no_instance)
            complete_at(sender, send, entered + after_first(bytes) * network(inside).byte_gap_ps);
    }

    // Whether a message stays within a node.
    bool is_inside(std::uint32_t a, std::uint32_t b) const {
        return nodes_ && nodes_->node_of(a) == nodes_->node_of(b);
    }
    // Of a rank: its node on the torus.
    Rank place_of(std::uint32_t r) const {
        return static_cast<Rank>(nodes_ ? nodes_->node_of(r) : r);
    }
    const LogGpParameters& network(bool inside) const {
        if (inside) [[unlikely]]
            return nodes_->inside;
        return p_;
    }
    // Whether the receiving side gets all bytes of a message at once.
    bool come_together(bool inside) const { return !inside && (torus_ || nodes_); }

    Status make_nodes() {
        WEFT_ASSERT(static_cast<std::size_t>(nodes_->ranks()) == ranks_.size());
        const double byte_ps = static_cast<double>(std::max(
            {nodes_->link_byte_ps, nodes_->inside.byte_gap_ps, nodes_->inside.byte_overhead_ps}));
        if (static_cast<double>(ranks_.bytes_max()) * byte_ps >
            static_cast<double>(time_max_ps) / 4)
            return above_time_max();
        node_links_.resize(static_cast<std::size_t>(nodes_->nodes));
        inside_interfaces_.resize(ranks_.size());
        if (nodes_->cores > 0) {
            WEFT_ASSERT(!torus_);
            WEFT_ASSERT(progress_.is_plain() || (progress_.by == Progress::By::thread &&
                                                 progress_.shares_core && !has_noise_));
            cores_.resize(static_cast<std::size_t>(nodes_->cores));
        }
        return ok;
    }

    // The message is at the link out of the sender's node, then at that into the receiver's.
    void go_through_link(std::uint32_t number) {
        Crossing& crossing = crossings_[number];
        NodeLinks& links =
            node_links_[nodes_->node_of(crossing.has_left ? crossing.receiver : crossing.sender)];
        const std::int64_t comes_ps = crossing.has_left
                                          ? crossing.last_ps
                                          : now_ps_ + after_first(crossing.bytes) * p_.byte_gap_ps;
        const Passage passed = (crossing.has_left ? links.in : links.out)
                                   .pass({now_ps_, comes_ps}, crossing.bytes, nodes_->link_byte_ps,
                                         nodes_->burst_bytes);
        if (crossing.has_left) {
            queue_.push({passed.last_ps, crossing.receiver, crossing.arrival});
            return crossings_.drop(number);
        }
        if (crossing.send != no_instance)
            push(passed.last_ps, crossing.sender, EventKind::complete, crossing.send);
        crossing.has_left = true;
        crossing.last_ps = later(passed.last_ps, p_.latency_ps);
        push(later(passed.first_ps, p_.latency_ps), crossing.receiver, EventKind::enter, number);
    }

    Status lay_links() {
        const std::size_t ranks = ranks_.size();
        const auto nodes = static_cast<std::size_t>(torus_->torus.ranks());
        WEFT_ASSERT(nodes_ ? nodes_->nodes == torus_->torus.ranks() : nodes == ranks);
        // The links of a node's dimensions, then the ways out of and into its interface.
        const std::size_t dimensions = torus_->torus.sizes().size();
        std::vector<std::int64_t> byte_ps(nodes * dimensions, torus_->link_byte_ps);
        byte_ps.resize(nodes * (dimensions + 2), p_.byte_gap_ps);
        const double longest_ps = static_cast<double>(ranks_.bytes_max()) *
                                  static_cast<double>(ranks) *
                                  static_cast<double>(std::ranges::max(byte_ps));
        if (longest_ps > static_cast<double>(time_max_ps) / 4) return above_time_max();
        links_.emplace(byte_ps);
        waiting_.resize(ranks);
        is_sending_.resize(ranks);
        return ok;
    }

    // The message has got through the sender's CPU.
    void enter(std::uint32_t number) {
        if (!torus_) return go_through_link(number);
        const std::uint32_t sender = crossings_[number].sender;
        if (is_sending_[sender])
            waiting_[sender].push_back(number);
        else
            begin_flow(number);
    }

    void enter_next(std::uint32_t sender) {
        is_sending_[sender] = false;
        if (waiting_[sender].empty()) return;
        const std::uint32_t next = waiting_[sender].front();
        waiting_[sender].pop_front();
        begin_flow(next);
    }

    void begin_flow(std::uint32_t number) {
        Crossing& crossing = crossings_[number];
        const auto nodes = static_cast<std::uint32_t>(torus_->torus.ranks());
        const auto dimensions = static_cast<std::uint32_t>(torus_->torus.sizes().size());
        const Rank from = place_of(crossing.sender);
        const Rank to = place_of(crossing.receiver);
        std::vector<std::uint32_t> way;
        torus_->torus.for_each_link(from, to, [&](Rank node, std::size_t d) {
            way.push_back(static_cast<std::uint32_t>(node) * dimensions +
                          static_cast<std::uint32_t>(d));
        });
        way.push_back(nodes * dimensions + static_cast<std::uint32_t>(from));
        way.push_back(nodes * (dimensions + 1) + static_cast<std::uint32_t>(to));
        crossing.begin_ps = now_ps_;
        is_sending_[crossing.sender] = true;
        links_->start(now_ps_, std::move(way), after_first(crossing.bytes), number);
        flows_changed_ = true;
    }

    void expect_end_of_flows() {
        flows_changed_ = false;
        flows_version_ = (flows_version_ + 1) & argument_mask;
        if (const auto end_ps = links_->next_end_ps())
            push(*end_ps, 0, EventKind::flows, flows_version_);
    }

    void end_flows(std::uint32_t version) {
        if (version != flows_version_) return;
        for (const std::uint32_t number : links_->ended(now_ps_)) {
            const Crossing& crossing = crossings_[number];
            std::int64_t hops = 0;
            torus_->torus.for_each_link(place_of(crossing.sender), place_of(crossing.receiver),
                                        [&](Rank, std::size_t) { ++hops; });
            const std::int64_t free_ps = later(now_ps_, p_.gap_ps);
            record(crossing.sender, Unit::sending, crossing.work, crossing.begin_ps, free_ps);
            push(free_ps, crossing.sender, EventKind::left, 0);
            queue_.push({now_ps_ + p_.latency_ps + hops * torus_->hop_ps, crossing.receiver,
                         crossing.arrival});
            if (ends_.cpu_sends) stall(crossing.sender);
            if (crossing.send != no_instance)
                push(now_ps_, crossing.sender, EventKind::complete, crossing.send);
            crossings_.drop(number);
        }
        flows_changed_ = true;
    }

    // The CPU that stores bytes into the network has waited for it until now, unless it has had other work since.
    void stall(std::uint32_t sender) {
        SimulatedRank& rank = ranks_[sender];
        if (rank.cpu_free_ps >= now_ps_) return;
        record(sender, Unit::cpu, Work::send, rank.cpu_free_ps, now_ps_);
        rank.cpu_ps = std::min(rank.cpu_ps + now_ps_ - rank.cpu_free_ps, time_max_ps);
        rank.cpu_free_ps = now_ps_;
    }

    std::int64_t waiting_ps(std::uint32_t r, std::int64_t end_ps, std::int64_t computed_ps) const {
        const SimulatedRank& rank = ranks_[r];
        if (!cores_.empty() && !beside_.empty()) {
            const BesideRank& beside = beside_[r];
            const std::int64_t left_ps = std::max(rank.cpu_free_ps, computed_ps);
            return std::max<std::int64_t>(beside.idle_worked_ps - beside.idle_computed_ps, 0) +
                   std::max<std::int64_t>(end_ps - left_ps, 0);
        }
        const std::int64_t busy_ps =
            progress_.has_own_core() ? computed_ps
                                     : model::plus(rank.cpu_ps + progress_.compute_ps,
                                                   disturbed_ps_.empty() ? 0 : disturbed_ps_[r]);
        return std::max<std::int64_t>(end_ps - busy_ps, 0);
    }

    // Of what a rank computes beside the collective.
    std::int64_t end_of_computing(std::uint32_t r) {
        if (beside_.empty()) return 0;
        if (!cores_.empty()) return beside_[r].computed_ps;
        return progress_.has_own_core()
                   ? work_of_host(r, beside_[r].start_ps, progress_.compute_ps)
                   : work_of_host(r, ranks_[r].cpu_free_ps, beside_[r].left_ps);
    }

    // When work of the CPU that computes ends, noise included.
    std::int64_t host_end(std::uint32_t r, std::int64_t begin_ps, std::int64_t cost_ps) const {
        return has_noise_ ? disturbance_.end_ps(static_cast<Rank>(r), begin_ps, cost_ps)
                          : begin_ps + cost_ps;
    }
    std::int64_t work_of_host(std::uint32_t r, std::int64_t begin_ps, std::int64_t cost_ps) {
        const std::int64_t end_ps = host_end(r, begin_ps, cost_ps);
        if (has_noise_)
            disturbed_ps_[r] = model::plus(disturbed_ps_[r], end_ps - begin_ps - cost_ps);
        return later(end_ps, 0);
    }

    // The least of `most` or fewer steps of work whose end is at `until_ps` or later; `most`, if none is.
    template <class CostOf>
    std::int64_t steps_until(std::uint32_t r, std::int64_t begin_ps, std::int64_t until_ps,
                             std::int64_t most, CostOf cost_of) const {
        if (!has_noise_ || host_end(r, begin_ps, cost_of(most)) == begin_ps + cost_of(most))
            return most;
        std::int64_t least = 0;
        while (least < most) {
            const std::int64_t middle = least + (most - least) / 2;
            if (host_end(r, begin_ps, cost_of(middle)) >= until_ps)
                most = middle;
            else
                least = middle + 1;
        }
        return most;
    }

    // Adds work to the CPU, or to the card; when it ends. The CPU did `done_ps` of it before now, if it was free.
    std::int64_t compute(std::uint32_t r, Work work, std::int64_t cost_ps, bool inside = false,
                         std::int64_t done_ps = 0) {
        if (!cores_.empty() || !beside_.empty()) [[unlikely]]
            return compute_beside(r, work, cost_ps, inside, done_ps);
        const std::int64_t begin_ps = std::max(ranks_[r].cpu_free_ps, now_ps_ - done_ps);
        return work_from(r, work, begin_ps, cost_ps);
    }

    std::int64_t work_from(std::uint32_t r, Work work, std::int64_t begin_ps,
                           std::int64_t cost_ps) {
        SimulatedRank& rank = ranks_[r];
        rank.cpu_ps = std::min(rank.cpu_ps + cost_ps, time_max_ps);
        rank.cpu_free_ps = later(begin_ps, cost_ps);
        if (has_noise_) [[unlikely]]
            add_noise(r, begin_ps, cost_ps);
        record(r, Unit::cpu, work, begin_ps, rank.cpu_free_ps);
        return rank.cpu_free_ps;
    }

    [[gnu::noinline]] void add_noise(std::uint32_t r, std::int64_t begin_ps, std::int64_t cost_ps) {
        SimulatedRank& rank = ranks_[r];
        const std::int64_t end_ps = disturbance_.end_ps(core_of(r), begin_ps, cost_ps);
        disturbed_ps_[r] = model::plus(disturbed_ps_[r], end_ps - rank.cpu_free_ps);
        rank.cpu_free_ps = later(end_ps, 0);
    }

    // The same where a rank computes beside the collective, or shares its core.
    [[gnu::noinline]] std::int64_t compute_beside(std::uint32_t r, Work work, std::int64_t cost_ps,
                                                  bool inside, std::int64_t done_ps) {
        if (!cores_.empty()) return compute_on_core(r, work, cost_ps, done_ps);
        const bool is_message = work != Work::reduction && work != Work::copy;
        if (is_message && has_card(inside)) return trigger(r, work);
        return work_from(r, work, begin_beside(r), cost_ps);
    }

    std::int64_t compute_on_core(std::uint32_t r, Work work, std::int64_t cost_ps,
                                 std::int64_t done_ps) {
        SharedCore& core = cores_[r % cores_.size()];
        if (!beside_.empty()) {
            take_from_computing(r, core);
        } else if (core.rank != r) {
            core.free_ps = std::max(core.free_ps, now_ps_ - done_ps);
            // A rank keeps the core while it has work: what comes before its earlier work has ended needs no switch.
            const bool has_turn = ranks_[r].cpu_free_ps >= now_ps_ - done_ps;
            if (core.rank != no_rank && !has_turn)
                core.free_ps = later(core.free_ps, nodes_->switch_ps);
        }
        core.rank = r;
        const std::int64_t begin = std::max(core.free_ps, now_ps_ - done_ps);
        ranks_[r].cpu_ps = std::min(ranks_[r].cpu_ps + cost_ps, time_max_ps);
        core.free_ps = later(begin, cost_ps);
        if (has_noise_) {
            const auto number = static_cast<Rank>(r % cores_.size());
            const std::int64_t end = disturbance_.end_ps(number, begin, cost_ps);
            disturbed_ps_[r] = model::plus(disturbed_ps_[r], end - core.free_ps);
            core.free_ps = later(end, 0);
        }
        record(r, Unit::cpu, work, begin, core.free_ps);
        ranks_[r].cpu_free_ps = core.free_ps;
        if (!beside_.empty()) beside_[r].idle_worked_ps = core.idle_ps;
        return core.free_ps;
    }

    // A rank's thread takes the core, after it woke or another rank's had it.
    void take_from_computing(std::uint32_t r, SharedCore& core) {
        compute_until(core, now_ps_);
        const bool sleeps = ranks_[r].cpu_free_ps < now_ps_;
        if (sleeps) ranks_[r].cpu_ps = std::min(ranks_[r].cpu_ps + progress_.wake_ps, time_max_ps);
        const bool is_others = core.rank != r && core.rank != no_rank;
        core.free_ps = later(core.free_ps, sleeps      ? progress_.wake_ps
                                           : is_others ? nodes_->switch_ps
                                                       : 0);
    }

    // False: its card gets lists first, and it begins again.
    bool begin_beside_computing(std::uint32_t r) {
        BesideRank& beside = beside_[r];
        if (beside.has_begun) return true;
        beside.has_begun = true;
        beside.start_ps = now_ps_;
        ranks_[r].cpu_free_ps = now_ps_;
        if (!cores_.empty()) begin_computing(r);
        if (progress_.by != Progress::By::offload || progress_.list_ps == 0) return true;
        const std::int64_t cost_ps = model::times(lists_of(r), progress_.list_ps);
        push(work_from(r, Work::list, now_ps_, cost_ps), r, EventKind::begin, 0);
        return false;
    }

    // As compile_tasks() makes them of the lanes that the card reaches.
    std::int64_t lists_of(std::uint32_t r) {
        SimulatedRank& rank = ranks_[r];
        std::int64_t lists = 0;
        const auto count = [&](std::uint32_t peer) {
            lists += has_card(is_inside(r, peer)) ? 1 : 0;
        };
        for (std::size_t i = 0; i < rank.structure->sends().lanes(); ++i)
            count(ranks_.to(rank, i).peer);
        const std::size_t from = rank.structure->recvs().lanes();
        if (!nodes_) return lists + static_cast<std::int64_t>(from);
        for (std::size_t i = 0; i < from; ++i) count(ranks_.source(ranks_.from(rank, i)).peer);
        return lists;
    }

    bool has_card(bool inside) const {
        return progress_.by == Progress::By::offload && (!inside || nodes_->has_card_inside);
    }

    void begin_computing(std::uint32_t r) {
        SharedCore& core = cores_[r % cores_.size()];
        compute_until(core, now_ps_);
        beside_[r].computed_ps = now_ps_;
        beside_[r].idle_computed_ps = core.idle_ps;
        if (beside_[r].left_ps > 0) core.computing.push_back(r);
    }

    // While no thread has the core, its ranks get the same of it, but for parts of a ps.
    void compute_until(SharedCore& core, std::int64_t until_ps) {
        std::int64_t& time_ps = core.free_ps;
        while (!core.computing.empty()) {
            const auto sharers = static_cast<std::int64_t>(core.computing.size());
            std::int64_t each_ps = std::max<std::int64_t>(until_ps - time_ps, 0) / sharers;
            for (const std::uint32_t r : core.computing)
                each_ps = std::min(each_ps, beside_[r].left_ps);
            if (each_ps == 0) break;
            time_ps += each_ps * sharers;
            std::erase_if(core.computing, [&](std::uint32_t r) {
                beside_[r].left_ps -= each_ps;
                if (beside_[r].left_ps == 0) beside_[r].computed_ps = time_ps;
                return beside_[r].left_ps == 0;
            });
        }
        if (core.computing.empty()) core.idle_ps += std::max<std::int64_t>(until_ps - time_ps, 0);
        time_ps = std::max(time_ps, until_ps);
    }

    // The card handles a message.
    std::int64_t trigger(std::uint32_t r, Work work) {
        std::int64_t& free_ps = beside_[r].card_free_ps;
        const std::int64_t begin = std::max(free_ps, now_ps_);
        free_ps = later(begin, progress_.trigger_ps);
        record(r, Unit::card, work, begin, free_ps);
        return free_ps;
    }

    // Whose noise the CPU that advances the collective has: a core of a thread's own has its own.
    Rank core_of(std::uint32_t r) const {
        const std::size_t number = progress_.has_own_core() ? ranks_.size() + r : r;
        return static_cast<Rank>(number);
    }

    // When the CPU that advances the collective begins with what it is asked for now.
    std::int64_t begin_beside(std::uint32_t r) {
        // It has not gone back to computing, or to sleep.
        const std::int64_t idle_ps = ranks_[r].cpu_free_ps;
        if (idle_ps >= now_ps_) return idle_ps;
        if (progress_.has_own_core()) return later(now_ps_, progress_.wake_ps);
        if (progress_.by == Progress::By::thread) return wake_on_host(r, idle_ps);
        return beside_[r].left_ps == 0 ? now_ps_ : look(r, idle_ps);
    }

    // The host computes until the thread is woken.
    std::int64_t wake_on_host(std::uint32_t r, std::int64_t idle_ps) {
        std::int64_t& left_ps = beside_[r].left_ps;
        const std::int64_t computed_ps =
            steps_until(r, idle_ps, now_ps_, std::min(now_ps_ - idle_ps, left_ps),
                        [](std::int64_t done_ps) { return done_ps; });
        left_ps -= computed_ps;
        const std::int64_t from_ps = std::max(work_of_host(r, idle_ps, computed_ps), now_ps_);
        ranks_[r].cpu_ps = std::min(ranks_[r].cpu_ps + progress_.wake_ps, time_max_ps);
        return work_of_host(r, from_ps, progress_.wake_ps);
    }

    // The host computes, and looks from time to time, until it sees what has happened.
    std::int64_t look(std::uint32_t r, std::int64_t idle_ps) {
        std::int64_t& left_ps = beside_[r].left_ps;
        const std::int64_t poll_ps = progress_.poll_ps == 0 ? left_ps : progress_.poll_ps;
        const std::int64_t step_ps = poll_ps + progress_.look_ps;
        const auto computed_by = [&](std::int64_t looks) {
            return std::min(looks * poll_ps, left_ps);
        };
        // The last part may be shorter.
        const auto looking_by = [&](std::int64_t looks) {
            const std::int64_t parts = (computed_by(looks) + poll_ps - 1) / poll_ps;
            std::int64_t looking_ps = 0;
            return __builtin_mul_overflow(parts, progress_.look_ps, &looking_ps) ? time_max_ps
                                                                                 : looking_ps;
        };
        const auto cost_of = [&](std::int64_t looks) {
            return std::min(computed_by(looks) + looking_by(looks), time_max_ps);
        };
        const std::int64_t looks =
            steps_until(r, idle_ps, now_ps_, (now_ps_ - idle_ps + step_ps - 1) / step_ps, cost_of);
        const std::int64_t cost_ps = cost_of(looks);
        ranks_[r].cpu_ps = std::min(ranks_[r].cpu_ps + looking_by(looks), time_max_ps);
        left_ps -= computed_by(looks);
        return std::max(work_of_host(r, idle_ps, cost_ps), now_ps_);
    }

    // Adds a message to a side of the network interface; when its first byte goes through.
    std::int64_t occupy(std::uint32_t r, Unit side, Work work, std::int64_t from_ps,
                        std::int64_t bytes, bool inside) {
        if (inside) [[unlikely]]
            return occupy_inside(r, side, work, from_ps, bytes);
        SimulatedRank& rank = ranks_[r];
        std::int64_t& free_ps = side == Unit::sending ? rank.send_free_ps : rank.recv_free_ps;
        const std::int64_t begin = std::max(free_ps, from_ps);
        free_ps = later(begin, p_.gap_ps + after_first(bytes) * p_.byte_gap_ps);
        record(r, side, work, begin, free_ps);
        return begin;
    }

    std::int64_t occupy_inside(std::uint32_t r, Unit side, Work work, std::int64_t from_ps,
                               std::int64_t bytes) {
        InsideInterface& interface = inside_interfaces_[r];
        std::int64_t& free_ps =
            side == Unit::sending ? interface.send_free_ps : interface.recv_free_ps;
        const std::int64_t begin = std::max(free_ps, from_ps);
        free_ps =
            later(begin, nodes_->inside.gap_ps + after_first(bytes) * nodes_->inside.byte_gap_ps);
        record(r, side, work, begin, free_ps);
        return begin;
    }

    void record(std::uint32_t r, Unit unit, Work work, std::int64_t begin_ps, std::int64_t end_ps) {
        if (spans_ && end_ps > begin_ps) [[unlikely]]
            spans_->push_back({r, unit, work, begin_ps, end_ps});
    }

    std::int64_t later(std::int64_t time_ps, std::int64_t cost_ps) {
        latest_ps_ = std::max(latest_ps_, std::min(time_ps + cost_ps, time_max_ps));
        return std::min(time_ps + cost_ps, time_max_ps);
    }

    std::int64_t message_overhead(std::int64_t bytes, bool inside) const {
        const LogGpParameters& p = network(inside);
        return p.overhead_ps + after_first(bytes) * p.byte_overhead_ps;
    }

    std::int64_t recv_overhead(std::int64_t bytes, bool inside) const {
        if (inside) return message_overhead(bytes, inside);
        return recv_overhead_ps_ + after_first(bytes) * recv_byte_overhead_ps_;
    }
    // When a message gets to the interface with which the CPU is done at `end_ps`.
    std::int64_t leaves_at(std::int64_t end_ps, std::int64_t bytes, bool inside) const {
        if (!ends_.cpu_sends || inside) return end_ps;
        return end_ps - after_first(bytes) * p_.byte_overhead_ps;
    }

    void push(std::int64_t time_ps, std::uint32_t rank, EventKind kind, std::uint32_t argument) {
        queue_.push({time_ps, rank, what(kind, argument)});
    }

    void complete_at(std::uint32_t r, Instance instance, std::int64_t time_ps) {
        SimulatedRank& rank = ranks_[r];
        if (time_ps == now_ps_) return complete(rank, instance);
        const bool nobody_waits =
            rank.repeats == 0 && rank.structure->schedule().after_completion(instance).empty();
        if (nobody_waits) {
            --rank.left;
            rank.end_ps = std::max(rank.end_ps, time_ps);
        } else {
            push(time_ps, r, EventKind::complete, instance);
        }
    }

    void complete(SimulatedRank& rank, Instance instance) {
        --rank.left;
        rank.end_ps = std::max(rank.end_ps, now_ps_);
        const Schedule& schedule = rank.structure->schedule();
        auto release_one = [&](Instance after) { release(rank, after); };
        RepeatState* const state = ranks_.state_of(rank, instance);
        if (!state) {
            for (const Edge edge : schedule.after_completion(instance)) release(rank, edge.to);
            if (rank.repeats == 0) return;
            for (RepeatState& next : ranks_.repeats(rank)) {
                if (next.repeat().entry == instance) next.begin(ranks_.missing(rank), release_one);
            }
            return;
        }
        const RepeatState::Position at = state->position(instance);
        for (const Edge edge : schedule.after_completion(at.op))
            state->follow(edge, at.iteration, release_one);
        state->complete(at.iteration, ranks_.missing(rank), release_one);
    }

    // One of its predecessors is over, or posted.
    void release(SimulatedRank& rank, Instance instance) {
        if (rank.repeats == 0) {
            const std::uint32_t counter = rank.structure->counter_of(instance);
            if (counter != Structure::no_counter && !SimulatedRanks::count_down(rank, counter))
                return;
        } else if (--rank.words[instance] > 0) {
            return;
        }
        ready_.push_back(instance);
    }

    static Status above_time_max() {
        return failure(WEFT_REFUSED_ARGUMENT, "the simulated time is above 50 days");
    }

    const LogGpParameters p_;
    MessageEnds ends_;
    std::int64_t recv_overhead_ps_ = p_.overhead_ps;
    std::int64_t recv_byte_overhead_ps_ = p_.byte_overhead_ps;
    const Disturbance disturbance_;
    const bool has_noise_;
    Progress progress_;
    std::vector<BesideRank> beside_;          // by rank, unless progress_ is plain
    std::vector<std::int64_t> disturbed_ps_;  // by rank, if there is a disturbance
    SimulatedRanks ranks_;
    EventQueue queue_;
    std::int64_t now_ps_ = 0;
    std::int64_t latest_ps_ = 0;
    std::uint64_t events_ = 0;
    std::vector<Instance> ready_;
    NumberedRecords<LargeMessage> large_;
    // By sender and send: a large message that is answered, or no_message if it is the send that waits.
    std::unordered_map<std::uint64_t, std::uint32_t> cleared_;

    const TorusParameters* const torus_;
    std::optional<SharedLinks> links_;
    NumberedRecords<Crossing> crossings_;
    std::vector<std::deque<std::uint32_t>> waiting_;  // by rank: crossings
    std::vector<bool> is_sending_;                    // by rank
    bool flows_changed_ = false;
    std::uint32_t flows_version_ = 0;

    std::optional<NodesParameters> nodes_;
    std::vector<NodeLinks> node_links_;               // by node
    std::vector<InsideInterface> inside_interfaces_;  // by rank
    std::vector<SharedCore> cores_;                   // if ranks share them
    std::vector<BusySpan>* spans_ = nullptr;
};

LogGpMachine::LogGpMachine(const LogGpParameters& parameters, const Disturbance& disturbance,
                           const TorusParameters* torus)
    : inside_(std::make_unique<Inside>(parameters, disturbance, torus)) {}
LogGpMachine::~LogGpMachine() = default;
void LogGpMachine::set_progress(const Progress& progress) { inside_->set_progress(progress); }
void LogGpMachine::set_nodes(const NodesParameters& nodes) { inside_->set_nodes(nodes); }
void LogGpMachine::set_ends(const MessageEnds& ends) { inside_->set_ends(ends); }
void LogGpMachine::add(const Schedule& schedule) { inside_->add(schedule); }
Result<LogGpOutcome> LogGpMachine::run(std::vector<BusySpan>* spans) { return inside_->run(spans); }
std::size_t LogGpMachine::structures() const { return inside_->structures(); }
std::size_t LogGpMachine::rank_memory_bytes() const { return inside_->rank_memory_bytes(); }

}  // namespace weft::simulate
