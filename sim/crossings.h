// Messages between nodes, from the sender's interface to the receiver's: over the links of a torus,
// which they share by max-min fairness, or through the links of both nodes.
// Thread safety: none.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "sim/machine_state.h"
#include "sim/shared_links.h"

namespace weft::simulate {

// When the first and the last byte of a message are at some place.
struct Passage {
    std::int64_t first_ps = 0;
    std::int64_t last_ps = 0;
};

// One direction of a link, which a token bucket limits: a byte needs a token, and waits for it. The
// bucket holds a burst of them and gets one in every `byte_ps`. As everywhere in LogGP, a message's
// first byte takes no time. Messages go one after another.
class TokenBucket {
  public:
    // REQUIRES: no message comes before those that came earlier.
    Passage pass(Passage comes, std::int64_t bytes, std::int64_t byte_ps,
                 std::int64_t burst_bytes) {
        const std::int64_t burst_ps = model::times(burst_bytes, byte_ps);
        const std::int64_t first_ps = std::max(comes.first_ps, full_ps_ - burst_ps);
        full_ps_ = model::plus(std::max(full_ps_, comes.first_ps),
                               model::times(after_first(bytes), byte_ps));
        return {first_ps, std::max(comes.last_ps, full_ps_ - burst_ps)};
    }

  private:
    std::int64_t full_ps_ = 0;  // when it is full again
};

// A message on its way, or waiting for that.
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

class Crossings {
  public:
    explicit Crossings(MachineState& machine) : m_(machine) {}

    // Once all ranks are added. Refuses links on which messages take too long.
    Status prepare();

    void add(std::int64_t from_ps, const Crossing& crossing) {
        m_.push(from_ps, crossing.sender, EventKind::enter, crossings_.keep(crossing));
    }

    // The events: the message has got through the sender's CPU, or to the receiver's node; the
    // rank's last message has left; flows may have ended.
    void enter(std::uint32_t number);
    void enter_next(std::uint32_t sender);
    void end_flows(std::uint32_t version);

    // Whether expect_end() must be called when the time moves on.
    bool have_changed() const { return have_changed_; }
    void expect_end();

  private:
    Status lay_links();
    void go_through_link(std::uint32_t number);
    void begin_flow(std::uint32_t number);
    void stall(std::uint32_t sender);

    // Of a rank: its node on the torus.
    Rank place_of(std::uint32_t r) const {
        return static_cast<Rank>(m_.nodes ? m_.nodes->node_of(r) : r);
    }

    struct NodeLinks {
        TokenBucket out;
        TokenBucket in;
    };

    MachineState& m_;
    NumberedRecords<Crossing> crossings_;
    std::vector<NodeLinks> node_links_;  // by node
    // On a torus:
    std::optional<SharedLinks> links_;
    std::vector<std::deque<std::uint32_t>> waiting_;  // by rank: crossings
    std::vector<bool> is_sending_;                    // by rank
    bool have_changed_ = false;
    std::uint32_t version_ = 0;
};

}  // namespace weft::simulate
