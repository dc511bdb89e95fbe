// The switch itself: takes frames from the links' TAP devices, and passes each on when it is due.
// Not thread safe. Knows addresses by the frames that came from them, as any switch.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "weft/switch/distance.h"
#include "weft/switch/frame.h"
#include "weft/switch/incoming.h"
#include "weft/switch/losses.h"
#include "weft/switch/wake_up.h"

namespace weft {

// One end of a link at the switch.
struct SwitchPort {
    Fd tap;
    int link = 0;  // frames stay on their link
};

struct SwitchCounts {
    std::int64_t late_max_ns = 0;  // how long after its time a frame was passed on
    std::uint64_t bytes = 0;       // passed on
};

class Forwarder {
  public:
    Forwarder(std::vector<SwitchPort> ports, LinkRate rate);

    // From now on; counts start again. Frames are passed on earlier by the bias, as far as the
    // delay allows, and by the time that waking up takes.
    void adopt(const Distance& distance, std::int64_t bias_ns);

    // Forwards until `control` is readable.
    void run(int control);

    const SwitchCounts& counts() const { return counts_; }

    // How much earlier a frame is passed on now, because the switch itself takes time.
    std::int64_t bias_ns() const { return bias_ns_ + 2 * wake_up_.ns(); }

  private:
    struct Port {
        SwitchPort end;
        Incoming incoming;
    };
    using Bytes = std::shared_ptr<std::byte[]>;
    // A frame on its way: `head`, then a part of `bytes`, which others may share.
    struct Flight {
        std::int64_t due_ns;
        std::uint64_t number;  // of frames that are due at once the older goes first
        std::size_t port;
        std::vector<std::byte> head;
        Bytes bytes;
        std::size_t offset;
        std::size_t count;
        std::uint64_t link_bytes;

        bool operator<(const Flight& other) const {  // a heap has its largest element on top
            return due_ns != other.due_ns ? due_ns > other.due_ns : number > other.number;
        }
    };

    bool sleep(std::vector<pollfd>& entries);
    void read_frames(std::size_t port);
    void forward(std::size_t from, const Bytes& bytes, std::size_t count, std::int64_t came_ns);
    void send_to(std::size_t port, const Bytes& bytes, std::size_t count, const FrameShape& shape,
                 std::int64_t came_ns);
    void take_off(std::size_t port, Flight flight, std::int64_t came_ns);
    void deliver_due();

    std::vector<Port> ports_;
    Distance distance_;
    std::int64_t bias_ns_ = 0;
    Losses losses_;
    std::mt19937_64 jitters_;
    std::vector<Flight> flights_;  // a heap
    std::uint64_t flights_begun_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> port_of_address_;  // with its link
    Bytes buffer_;                                                    // for the next frame
    std::int64_t asleep_since_ns_ = 0;
    WakeUp wake_up_;
    SwitchCounts counts_;
};

}  // namespace weft
