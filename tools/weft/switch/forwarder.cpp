#include "weft/switch/forwarder.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"

namespace weft {
namespace {

constexpr std::uint64_t seed = 47;  // the same losses in each run
constexpr int frames_in_a_row = 16;
// Shorter frames are copied out of the buffer, which stays for the next frame.
constexpr std::size_t copied_bytes_max = 2048;
constexpr std::size_t addresses_max = 100'000;
constexpr std::byte group_address{1};  // a bit of an address's first byte: broadcast, multicast

// An address of Ethernet, on one of the links.
std::uint64_t address_at(const std::byte* at, int link) {
    std::uint64_t address = 0;
    std::memcpy(&address, at, 6);
    return address | static_cast<std::uint64_t>(link) << 48;
}

}  // namespace

Forwarder::Forwarder(std::vector<SwitchPort> ports, LinkRate rate)
    : losses_(0, seed), jitters_(seed) {
    for (SwitchPort& end : ports) ports_.push_back({std::move(end), Incoming(rate)});
    buffer_ = std::make_shared_for_overwrite<std::byte[]>(frame_bytes_max);
}

void Forwarder::adopt(const Distance& distance, std::int64_t bias_ns) {
    distance_ = distance;
    bias_ns_ = bias_ns;
    losses_ = Losses(distance.loss, seed);
    counts_ = {};
}

void Forwarder::run(int control) {
    std::vector<pollfd> entries;
    for (const Port& port : ports_) entries.push_back({port.end.tap.get(), POLLIN, 0});
    entries.push_back({control, POLLIN, 0});
    while (entries.back().revents == 0) {
        const bool is_called = sleep(entries);
        for (std::size_t port = 0; port < ports_.size() && is_called; ++port) {
            if ((entries[port].revents & POLLIN) != 0) read_frames(port);
            if ((entries[port].revents & POLLERR) != 0) entries[port].fd = -1;  // deleted
        }
        deliver_due();
    }
}

// Until a frame comes or one is due. True: a frame has come.
bool Forwarder::sleep(std::vector<pollfd>& entries) {
    asleep_since_ns_ = now_ns();
    timespec wait{};
    std::int64_t alarm_ns = 0;
    if (!flights_.empty()) {
        alarm_ns = std::max(asleep_since_ns_, flights_[0].due_ns - wake_up_.ns());
        const std::int64_t wait_ns = alarm_ns - asleep_since_ns_;
        wait = {wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    }
    const int ready =
        ::ppoll(entries.data(), entries.size(), flights_.empty() ? nullptr : &wait, nullptr);
    if (ready == 0 && alarm_ns > asleep_since_ns_) wake_up_.note(now_ns() - alarm_ns);
    return ready > 0;
}

void Forwarder::read_frames(std::size_t port) {
    for (int i = 0; i < frames_in_a_row; ++i) {
        const ssize_t got = ::read(ports_[port].end.tap.get(), buffer_.get(), frame_bytes_max);
        if (got <= 0) return;
        // It came before the switch woke up, but not before that slept.
        const std::int64_t came_ns = std::max(asleep_since_ns_, now_ns() - wake_up_.ns());
        const auto count = static_cast<std::size_t>(got);
        Bytes bytes;
        if (count <= copied_bytes_max) {
            bytes = std::make_shared_for_overwrite<std::byte[]>(count);
            std::memcpy(bytes.get(), buffer_.get(), count);
        } else {
            bytes = std::exchange(buffer_,
                                  std::make_shared_for_overwrite<std::byte[]>(frame_bytes_max));
        }
        forward(port, bytes, count, came_ns);
    }
}

void Forwarder::forward(std::size_t from, const Bytes& bytes, std::size_t count,
                        std::int64_t came_ns) {
    const std::optional<FrameShape> shape = shape_of({bytes.get(), count});
    if (!shape) return;
    const int link = ports_[from].end.link;
    const std::byte* const ethernet = bytes.get() + sizeof(VirtioHeader);
    if (port_of_address_.size() > addresses_max) port_of_address_.clear();
    port_of_address_[address_at(ethernet + 6, link)] = from;
    const auto known = port_of_address_.find(address_at(ethernet, link));
    if ((*ethernet & group_address) == std::byte{0} && known != port_of_address_.end()) {
        if (known->second != from) send_to(known->second, bytes, count, *shape, came_ns);
        return;
    }
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        if (port != from && ports_[port].end.link == link)
            send_to(port, bytes, count, *shape, came_ns);
    }
}

void Forwarder::send_to(std::size_t port, const Bytes& bytes, std::size_t count,
                        const FrameShape& shape, std::int64_t came_ns) {
    for (const PacketRun run : losses_.survivors(shape.packets)) {
        Flight flight{0, 0, port, {}, bytes, 0, count, shape.link_bytes()};
        if (run.packets < shape.packets) {
            FramePiece piece = cut({bytes.get(), count}, shape, run.first, run.packets);
            flight.link_bytes = piece.bytes + std::uint64_t{run.packets} * shape.headers;
            flight.head = std::move(piece.head);
            flight.offset = piece.offset;
            flight.count = piece.bytes;
        }
        take_off(port, std::move(flight), came_ns);
    }
}

void Forwarder::take_off(std::size_t port, Flight flight, std::int64_t came_ns) {
    std::int64_t travel_ns = distance_.delay_ns;
    if (distance_.jitter_ns > 0) {
        travel_ns += std::uniform_int_distribution<std::int64_t>(0, distance_.jitter_ns)(jitters_);
    }
    const std::optional<std::int64_t> due_ns = ports_[port].incoming.arrival(
        came_ns, flight.link_bytes, std::max<std::int64_t>(0, travel_ns - bias_ns_));
    if (!due_ns) return;
    flight.due_ns = *due_ns;
    flight.number = flights_begun_++;
    flights_.push_back(std::move(flight));
    std::push_heap(flights_.begin(), flights_.end());
}

void Forwarder::deliver_due() {
    while (!flights_.empty()) {
        const std::int64_t late_ns = now_ns() - flights_[0].due_ns;
        if (late_ns < -wake_up_.ns()) return;
        counts_.late_max_ns = std::max(counts_.late_max_ns, late_ns);
        std::pop_heap(flights_.begin(), flights_.end());
        Flight& flight = flights_.back();
        const iovec parts[] = {{flight.head.data(), flight.head.size()},
                               {flight.bytes.get() + flight.offset, flight.count}};
        // A node that has no use for a frame refuses it, as while its interface is down.
        if (::writev(ports_[flight.port].end.tap.get(), parts, 2) > 0) {
            counts_.bytes += flight.link_bytes;
        }
        flights_.pop_back();
    }
}

}  // namespace weft
