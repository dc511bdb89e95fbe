// The arithmetic of a frame as a TAP device passes it, behind a virtio-net header: one packet, or
// up to 64 KiB of a TCP stream that the sender's kernel has left to its adapter to cut (GSO).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {

inline constexpr std::size_t frame_bytes_max = 65536 + 512;  // with all headers

// In front of each frame; its numbers are those of this machine. (Linux's own header of it,
// linux/virtio_net.h, cannot be read as C++.)
struct VirtioHeader {
    static constexpr std::uint8_t needs_checksum = 1;  // a flag
    static constexpr std::uint8_t one_packet = 0;      // a kind, as are the next two
    static constexpr std::uint8_t tcp_over_ipv4 = 1;
    static constexpr std::uint8_t tcp_over_ipv6 = 4;

    std::uint8_t flags;
    std::uint8_t kind;
    std::uint16_t headers;         // bytes; it may count payload, too
    std::uint16_t packet_payload;  // bytes
    std::uint16_t checksum_start;  // where TCP begins
    std::uint16_t checksum_offset;
};

struct FrameShape {
    std::uint32_t headers = 0;         // bytes of Ethernet, IP and TCP; 0: not looked into
    std::uint32_t payload = 0;         // bytes after them
    std::uint32_t packet_payload = 0;  // of each packet but the last, which may be shorter
    std::uint32_t packets = 1;

    // On the link, where every packet has headers of its own: what a token bucket of Linux counts.
    std::uint64_t link_bytes() const { return payload + std::uint64_t{packets} * headers; }
};

// None: it is shorter than its headers say.
std::optional<FrameShape> shape_of(std::span<const std::byte> frame);

// Some of a frame's packets in a row, as a frame: new headers, and a part of the old frame.
struct FramePiece {
    std::vector<std::byte> head;
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

// Needs a frame of several packets. Checksums are unfinished in it, and stay so: that of IP covers
// the headers only, that of TCP covers a sum of addresses and length until an adapter completes it.
FramePiece cut(std::span<const std::byte> frame, const FrameShape& shape, std::uint32_t first,
               std::uint32_t packets);

}  // namespace weft
