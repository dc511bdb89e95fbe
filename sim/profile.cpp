#include "sim/profile.h"

namespace weft::simulate {
namespace {

constexpr std::int64_t ns = 1000;

// Dolphin's SCI cards of 2008. Published: Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks, 2009,
// doi:10.1109/IPDPS.2009.5160892, section 2.
constexpr std::int64_t sci_hop_ps = 70 * ns;
constexpr std::int64_t sci_poll_ps = 100 * ns;
constexpr std::int64_t sci_copy_byte_ps = 1 * ns;
constexpr std::int64_t any_bytes = std::int64_t{1} << 36;

constexpr const char* pio_sources[] = {
    "published: a store stalls for 200 ns (o), arrives after 1.3 to 1.4 us (L), 325 MiB/s (O, G)",
    "assumed: 100 ns to see what has come, 70 ns a hop, copies and reductions 1 ns a byte",
};
constexpr std::int64_t pio_store_ps = 200 * ns;
constexpr std::int64_t pio_arrival_ps = 1350 * ns;
constexpr std::int64_t pio_byte_ps = 2'934;

constexpr const char* dma_sources[] = {
    "published: 8 bytes take 34.5 us (L), 195 MiB/s (G), the receiver copies what has come",
    "assumed: 5 us of that are the CPU's (o), 100 ns to see what has come, 70 ns a hop, copies and "
    "reductions 1 ns a byte",
};
constexpr std::int64_t dma_setup_ps = 5'000 * ns;
constexpr std::int64_t dma_arrival_ps = 34'500 * ns;
constexpr std::int64_t dma_byte_ps = 4'891;

// Dolphin's sockets over SCI, by stores of the CPU and an interrupt at the receiver. The latency is
// that of Seifert, Kohmann: SCI SOCKET - A Fast Socket Implementation over SCI, 2004, from its
// abstract; its receiver polls, here it is woken.
constexpr const char* supersockets_sources[] = {
    "published: a byte arrives after 2.31 us where the receiver polls (2 o and L), the sender's "
    "CPU stores 325 MiB/s (O, G)",
    "assumed: 0.5 us of that are the sender's (o), an interrupt wakes the receiver, which takes "
    "5 us, and copies, as reductions, take 1 ns a byte; 70 ns a hop",
};
constexpr std::int64_t sockets_arrival_ps = 2'310 * ns;
constexpr std::int64_t sockets_send_ps = 500 * ns;
constexpr std::int64_t sockets_interrupt_ps = 5'000 * ns;

// InfiniBand at the double data rate with four lanes, as in section 4 of the paper above.
constexpr const char* infiniband_sources[] = {
    "published: four lanes of 5 Gbit/s, of which 8 bits in 10 are data: 2 GB/s (G)",
    "assumed: L 2 us, o 0.5 us, g 0.2 us, rendezvous above 12 KiB, copies and reductions 1 ns a "
    "byte, no time for a hop",
};

constexpr NetworkProfile list[] = {
    {.name = "sci-pio",
     .meaning = "SCI, where the sender's CPU stores every byte into the receiver's memory",
     .parameters = {.latency_ps = pio_arrival_ps - pio_store_ps - sci_poll_ps - sci_hop_ps,
                    .overhead_ps = pio_store_ps,
                    .gap_ps = 0,
                    .byte_gap_ps = pio_byte_ps,
                    .byte_overhead_ps = pio_byte_ps,
                    .byte_reduction_ps = sci_copy_byte_ps,
                    .byte_copy_ps = sci_copy_byte_ps,
                    .eager_bytes_max = any_bytes},
     .ends = {.recv_overhead_ps = sci_poll_ps, .recv_byte_overhead_ps = 0, .cpu_sends = true},
     .hop_ps = sci_hop_ps,
     .sources = pio_sources},
    {.name = "sci-dma",
     .meaning = "SCI, where the card moves the bytes, and the receiver copies them once more",
     .parameters = {.latency_ps = dma_arrival_ps - dma_setup_ps - sci_poll_ps - sci_hop_ps -
                                  7 * (dma_byte_ps + sci_copy_byte_ps),
                    .overhead_ps = dma_setup_ps,
                    .gap_ps = 0,
                    .byte_gap_ps = dma_byte_ps,
                    .byte_overhead_ps = 0,
                    .byte_reduction_ps = sci_copy_byte_ps,
                    .byte_copy_ps = sci_copy_byte_ps,
                    .eager_bytes_max = any_bytes},
     .ends = {.recv_overhead_ps = sci_poll_ps, .recv_byte_overhead_ps = sci_copy_byte_ps},
     .hop_ps = sci_hop_ps,
     .sources = dma_sources},
    {.name = "supersockets",
     .meaning = "sockets over SCI: the sender's CPU stores, an interrupt wakes the receiver, which "
                "copies",
     .parameters = {.latency_ps = sockets_arrival_ps - 2 * sockets_send_ps - sci_hop_ps,
                    .overhead_ps = sockets_send_ps,
                    .gap_ps = 0,
                    .byte_gap_ps = pio_byte_ps,
                    .byte_overhead_ps = pio_byte_ps,
                    .byte_reduction_ps = sci_copy_byte_ps,
                    .byte_copy_ps = sci_copy_byte_ps,
                    .eager_bytes_max = any_bytes},
     .ends = {.recv_overhead_ps = sockets_interrupt_ps,
              .recv_byte_overhead_ps = sci_copy_byte_ps,
              .cpu_sends = true},
     .hop_ps = sci_hop_ps,
     .sources = supersockets_sources},
    {.name = "infiniband",
     .meaning = "InfiniBand DDR, whose card moves the bytes to their place",
     .parameters = {.latency_ps = 2'000 * ns,
                    .overhead_ps = 500 * ns,
                    .gap_ps = 200 * ns,
                    .byte_gap_ps = 500,
                    .byte_overhead_ps = 0,
                    .byte_reduction_ps = sci_copy_byte_ps,
                    .byte_copy_ps = sci_copy_byte_ps,
                    .eager_bytes_max = 12 * 1024},
     .ends = {},
     .hop_ps = 0,
     .is_switched = true,
     .sources = infiniband_sources},
};

}  // namespace

std::span<const NetworkProfile> profiles() { return list; }

const NetworkProfile* find_profile(std::string_view name) {
    for (const NetworkProfile& profile : list) {
        if (profile.name == name) return &profile;
    }
    return nullptr;
}

}  // namespace weft::simulate
