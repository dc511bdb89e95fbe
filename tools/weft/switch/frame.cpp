#include "tools/weft/switch/frame.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace weft {
namespace {

constexpr std::size_t virtio_bytes = sizeof(VirtioHeader);
constexpr std::size_t addresses_bytes = 12;  // of Ethernet, in front of the type
constexpr std::size_t tag_bytes = 4;         // of a virtual LAN
constexpr std::size_t tags_max = 2;
constexpr std::size_t tcp_bytes = 20;  // without options
constexpr std::size_t ip_bytes = 20;   // at least

constexpr std::uint8_t tcp_fin = 0x01;
constexpr std::uint8_t tcp_push = 0x08;
constexpr std::uint8_t tcp_cwr = 0x80;  // "congestion window reduced"

template <class T>
T read_at(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class T>
void write_at(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

std::uint16_t number_at(const std::byte* at) { return ntohs(read_at<std::uint16_t>(at)); }

// Replaces a number, and what it adds to a sum in ones' complement.
class Sum {
  public:
    // A checksum is the complement of the sum; an unfinished one is the sum itself.
    enum class Kind { checksum, unfinished };

    Sum(std::byte* at, Kind kind) : at_(at), kind_(kind) {}

    void replace(std::uint16_t old_number, std::uint16_t new_number) {
        std::uint32_t sum = flipped(number_at(at_));
        sum += static_cast<std::uint16_t>(~old_number);
        sum += new_number;
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        write_at(at_, htons(flipped(static_cast<std::uint16_t>(sum))));
    }

  private:
    std::uint16_t flipped(std::uint16_t value) const {
        return kind_ == Kind::checksum ? static_cast<std::uint16_t>(~value) : value;
    }

    std::byte* at_;
    Kind kind_;
};

std::uint16_t put_number(std::byte* at, std::uint16_t value) {
    const std::uint16_t old = number_at(at);
    write_at(at, htons(value));
    return old;
}

// Where the IP header begins in an Ethernet frame.
std::size_t network_header(const std::byte* ethernet) {
    std::size_t type = addresses_bytes;
    for (std::size_t tags = 0; tags < tags_max; ++tags) {
        if (number_at(ethernet + type) != 0x8100 && number_at(ethernet + type) != 0x88a8) break;
        type += tag_bytes;
    }
    return type + 2;
}

}  // namespace

std::optional<FrameShape> shape_of(std::span<const std::byte> frame) {
    if (frame.size() < virtio_bytes + addresses_bytes + 2) return std::nullopt;
    const auto header = read_at<VirtioHeader>(frame.data());
    const std::byte* const ethernet = frame.data() + virtio_bytes;
    const std::size_t bytes = frame.size() - virtio_bytes;
    FrameShape shape;
    shape.payload = static_cast<std::uint32_t>(bytes);
    if (header.kind == VirtioHeader::one_packet || header.packet_payload == 0) return shape;

    const std::size_t tcp = header.checksum_start;
    if (bytes < addresses_bytes + tags_max * tag_bytes + 2 ||
        tcp < network_header(ethernet) + ip_bytes || tcp + tcp_bytes > bytes ||
        header.checksum_offset + 2u > tcp_bytes) {
        return std::nullopt;
    }
    const std::size_t headers = tcp + (std::to_integer<std::size_t>(ethernet[tcp + 12]) >> 4) * 4;
    if (headers < tcp + tcp_bytes || headers >= bytes) return std::nullopt;
    shape.headers = static_cast<std::uint32_t>(headers);
    shape.payload = static_cast<std::uint32_t>(bytes - headers);
    shape.packet_payload = header.packet_payload;
    shape.packets = (shape.payload + header.packet_payload - 1) / header.packet_payload;
    return shape;
}

FramePiece cut(std::span<const std::byte> frame, const FrameShape& shape, std::uint32_t first,
               std::uint32_t packets) {
    WEFT_ASSERT(shape.headers > 0 && packets > 0 && first + packets <= shape.packets);
    const std::uint32_t begin = first * shape.packet_payload;
    const std::uint32_t end = std::min(shape.payload, (first + packets) * shape.packet_payload);
    FramePiece piece;
    piece.head.assign(frame.begin(),
                      frame.begin() + static_cast<std::ptrdiff_t>(virtio_bytes + shape.headers));
    piece.offset = virtio_bytes + shape.headers + begin;
    piece.bytes = end - begin;

    auto header = read_at<VirtioHeader>(piece.head.data());
    header.headers = static_cast<std::uint16_t>(shape.headers);
    if (packets == 1) {
        header.kind = VirtioHeader::one_packet;
        header.packet_payload = 0;
    }
    write_at(piece.head.data(), header);

    std::byte* const ethernet = piece.head.data() + virtio_bytes;
    std::byte* const ip = ethernet + network_header(ethernet);
    std::byte* const tcp = ethernet + header.checksum_start;
    const std::uint32_t missing = shape.payload - (end - begin);
    const auto shortened = [missing](const std::byte* at) {
        return static_cast<std::uint16_t>(number_at(at) - missing);
    };
    Sum tcp_sum(tcp + header.checksum_offset, Sum::Kind::unfinished);
    if ((ip[0] >> 4) == std::byte{4}) {
        Sum ip_sum(ip + 10, Sum::Kind::checksum);
        const std::uint16_t length = shortened(ip + 2);
        const std::uint16_t old_length = put_number(ip + 2, length);
        ip_sum.replace(old_length, length);
        tcp_sum.replace(old_length, length);
        // Packets are numbered one by one, as an adapter does.
        const auto number = static_cast<std::uint16_t>(number_at(ip + 4) + first);
        ip_sum.replace(put_number(ip + 4, number), number);
    } else {
        const std::uint16_t length = shortened(ip + 4);
        tcp_sum.replace(put_number(ip + 4, length), length);
    }
    write_at(tcp + 4, htonl(ntohl(read_at<std::uint32_t>(tcp + 4)) + begin));
    auto flags = std::to_integer<std::uint8_t>(tcp[13]);
    if (end < shape.payload) flags &= static_cast<std::uint8_t>(~(tcp_fin | tcp_push));
    if (begin > 0) flags &= static_cast<std::uint8_t>(~tcp_cwr);
    tcp[13] = std::byte{flags};
    return piece;
}

}  // namespace weft
