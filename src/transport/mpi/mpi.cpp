// The transport as a whole: making it, polling, losing peers, forgetting contexts.
#include "transport/mpi/mpi.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/setting.h"

namespace weft {

Result<mpi::Settings> mpi::Settings::from_environment() {
    Settings settings;
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_RENDEZVOUS", settings.eager_threshold));
    return settings;
}

namespace {

// Slots in flight to a peer move on while this rank computes or has no core: 1 MiB in a small
// job; in a large one at least 4 slots.
constexpr std::uint32_t large_slots_max(std::size_t ranks) {
    constexpr std::size_t of_all = 64 * 1024 * 1024 / mpi::payload_max;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(of_all / ranks, 4, 32));
}
// A poll looks again, up to this often, while parts of large messages move: others wait in the MPI
// for a receive, or here for a slot.
constexpr int looks_max = 8;
// After a pause it looks again even if nothing has moved: an MPI may report only completions that
// an earlier call has found.
constexpr std::uint64_t pause_ticks = 3'000;

}  // namespace

Result<std::unique_ptr<MpiTransport>> MpiTransport::create(const weft_oob& oob,
                                                           mpi::Settings settings) {
    std::unique_ptr<MpiTransport> transport(new MpiTransport(oob, settings));
    if (Status status = transport->open(oob.context); !status.is_ok()) return status;
    return transport;
}

MpiTransport::MpiTransport(const weft_oob& oob, const mpi::Settings& settings)
    : MessageTransport(oob.rank, static_cast<std::size_t>(oob.ranks),
                       {.eager_threshold = std::min(settings.eager_threshold, mpi::payload_max + 1),
                        .payload_max = mpi::payload_max,
                        .large_slots_max = large_slots_max(static_cast<std::size_t>(oob.ranks)),
                        .first_sequence = settings.first_sequence}),
      mpi_(oob.mpi) {}

Status MpiTransport::open(void* context) {
    const int error = mpi_.open(context, &channel_);
    if (error != 0) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "the MPI channel failed to open with error %d",
                       error);
    }
    // One for each message that may come between two polls; more wait in the MPI.
    receives_ = std::clamp<std::size_t>(2 * peers_.size(), 8, 64);
    receive_bytes_.resize(receives_ * large_bytes);
    receive_requests_.resize(receives_ * mpi_.request_bytes);
    is_idle_.resize(receives_);
    arrived_.resize(receives_);
    kept_ = std::make_unique<Kept>();
    if (!has_room_to_send()) throw std::bad_alloc();
    for (std::size_t i = 0; i < receives_; ++i) post_receive(i);
    return ok;
}

MpiTransport::~MpiTransport() {
    if (channel_ == nullptr) return;
    mpi_.close(channel_, static_cast<int>(receives_), receive_requests_.data());
    if (sending_.empty()) return;
    static Kept* all = nullptr;
    kept_->slots.emplace(std::move(slots_));
    kept_->next = std::exchange(all, kept_.get());
    (void)kept_.release();
}

Usage MpiTransport::usage() const {
    Usage usage;
    usage.bytes = receive_bytes_.size() + held_bytes();
    return usage;
}

std::size_t MpiTransport::poll(std::span<Completion> done) {
    reports_.begin(done);
    bool has_paused = ticks() - polled_ticks_ > pause_ticks;
    for (int looks = 0; looks < looks_max; ++looks) {
        const std::uint64_t pieces_before = parts_moved_;
        take_back_slots();
        take_arrived();
        if (owing_ > 0) go_on_with_all();
        const bool has_moved = parts_moved_ != pieces_before;
        if (reports_.is_full() || (!has_moved && !std::exchange(has_paused, false))) break;
    }
    polled_ticks_ = ticks();
    return reports_.end();
}

// The MPI failed, and does not say for which peer.
void MpiTransport::fail_all() {
    for (Peer& peer : peers_) {
        if (peer.rank != rank_) lose(peer, WEFT_BROKEN_TRANSPORT);
    }
}

void MpiTransport::lose(Peer& peer, weft_status how) {
    if (peer.lost) return;
    peer.lost = true;
    peer.loss = how;
    break_posts(peer);
    reports_.add({.token = {}, .code = how, .peer = peer.rank}, 0);
}

void MpiTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        if (peer.owes() || peer.slots > 0) peers.push_back(peer.rank);
    }
}

}  // namespace weft
