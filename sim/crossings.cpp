#include "sim/crossings.h"

namespace weft::simulate {

Status Crossings::prepare() {
    if (m_.torus) return lay_links();
    if (m_.nodes) node_links_.resize(static_cast<std::size_t>(m_.nodes->nodes));
    return ok;
}

Status Crossings::lay_links() {
    const Torus& torus = m_.torus->torus;
    const std::size_t ranks = m_.ranks.size();
    const auto nodes = static_cast<std::size_t>(torus.ranks());
    WEFT_ASSERT(m_.nodes ? m_.nodes->nodes == torus.ranks() : nodes == ranks);
    // The links of a node's dimensions, then the ways out of and into its interface.
    const std::size_t dimensions = torus.sizes().size();
    std::vector<std::int64_t> byte_ps(nodes * dimensions, m_.torus->link_byte_ps);
    byte_ps.resize(nodes * (dimensions + 2), m_.p.byte_gap_ps);
    WEFT_RETURN_IF_NOT_OK(MachineState::check_time(
        static_cast<double>(m_.ranks.bytes_max()) * static_cast<double>(ranks),
        std::ranges::max(byte_ps)));
    links_.emplace(byte_ps);
    waiting_.resize(ranks);
    is_sending_.resize(ranks);
    return ok;
}

void Crossings::enter(std::uint32_t number) {
    if (!m_.torus) return go_through_link(number);
    const std::uint32_t sender = crossings_[number].sender;
    if (is_sending_[sender])
        waiting_[sender].push_back(number);
    else
        begin_flow(number);
}

void Crossings::enter_next(std::uint32_t sender) {
    is_sending_[sender] = false;
    if (waiting_[sender].empty()) return;
    const std::uint32_t next = waiting_[sender].front();
    waiting_[sender].pop_front();
    begin_flow(next);
}

// The message is at the link out of the sender's node, then at that into the receiver's.
void Crossings::go_through_link(std::uint32_t number) {
    Crossing& crossing = crossings_[number];
    const std::uint32_t rank = crossing.has_left ? crossing.receiver : crossing.sender;
    NodeLinks& links = node_links_[m_.nodes->node_of(rank)];
    const std::int64_t comes_ps = crossing.has_left
                                      ? crossing.last_ps
                                      : m_.now_ps + after_first(crossing.bytes) * m_.p.byte_gap_ps;
    const Passage passed = (crossing.has_left ? links.in : links.out)
                               .pass({m_.now_ps, comes_ps}, crossing.bytes, m_.nodes->link_byte_ps,
                                     m_.nodes->burst_bytes);
    if (crossing.has_left) {
        m_.queue.push({passed.last_ps, crossing.receiver, crossing.arrival});
        return crossings_.drop(number);
    }
    if (crossing.send != no_instance)
        m_.push(passed.last_ps, crossing.sender, EventKind::complete, crossing.send);
    crossing.has_left = true;
    crossing.last_ps = m_.later(passed.last_ps, m_.p.latency_ps);
    m_.push(m_.later(passed.first_ps, m_.p.latency_ps), crossing.receiver, EventKind::enter,
            number);
}

void Crossings::begin_flow(std::uint32_t number) {
    Crossing& crossing = crossings_[number];
    const Torus& torus = m_.torus->torus;
    const auto nodes = static_cast<std::uint32_t>(torus.ranks());
    const auto dimensions = static_cast<std::uint32_t>(torus.sizes().size());
    const Rank from = place_of(crossing.sender);
    const Rank to = place_of(crossing.receiver);
    std::vector<std::uint32_t> way;
    torus.for_each_link(from, to, [&](Rank node, std::size_t d) {
        way.push_back(static_cast<std::uint32_t>(node) * dimensions +
                      static_cast<std::uint32_t>(d));
    });
    way.push_back(nodes * dimensions + static_cast<std::uint32_t>(from));
    way.push_back(nodes * (dimensions + 1) + static_cast<std::uint32_t>(to));
    crossing.begin_ps = m_.now_ps;
    is_sending_[crossing.sender] = true;
    links_->start(m_.now_ps, std::move(way), after_first(crossing.bytes), number);
    have_changed_ = true;
}

void Crossings::expect_end() {
    have_changed_ = false;
    version_ = (version_ + 1) & event_argument_mask;
    if (const auto end_ps = links_->next_end_ps()) m_.push(*end_ps, 0, EventKind::flows, version_);
}

void Crossings::end_flows(std::uint32_t version) {
    if (version != version_) return;
    for (const std::uint32_t number : links_->ended(m_.now_ps)) {
        const Crossing& crossing = crossings_[number];
        std::int64_t hops = 0;
        m_.torus->torus.for_each_link(place_of(crossing.sender), place_of(crossing.receiver),
                                      [&](Rank, std::size_t) { ++hops; });
        const std::int64_t free_ps = m_.later(m_.now_ps, m_.p.gap_ps);
        m_.record(crossing.sender, Unit::sending, crossing.work, crossing.begin_ps, free_ps);
        m_.push(free_ps, crossing.sender, EventKind::left, 0);
        m_.queue.push({m_.now_ps + m_.p.latency_ps + hops * m_.torus->hop_ps, crossing.receiver,
                       crossing.arrival});
        if (m_.ends.cpu_sends) stall(crossing.sender);
        if (crossing.send != no_instance)
            m_.push(m_.now_ps, crossing.sender, EventKind::complete, crossing.send);
        crossings_.drop(number);
    }
    have_changed_ = true;
}

// The CPU that stores bytes into the network has waited for it until now, unless it has had other
// work since.
void Crossings::stall(std::uint32_t sender) {
    SimulatedRank& rank = m_.ranks[sender];
    if (rank.cpu_free_ps >= m_.now_ps) return;
    m_.record(sender, Unit::cpu, Work::send, rank.cpu_free_ps, m_.now_ps);
    rank.cpu_ps = std::min(rank.cpu_ps + m_.now_ps - rank.cpu_free_ps, time_max_ps);
    rank.cpu_free_ps = m_.now_ps;
}

}  // namespace weft::simulate
