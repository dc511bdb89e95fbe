// The transport as a whole: making it, polling, losing peers, forgetting contexts.
#include "transport/mpi/mpi.h"

#include <algorithm>
#include <iterator>

namespace weft {

using mpi::Post;

namespace {

constexpr std::size_t queued_min = 8;  // there is always room to queue so much for a peer

}  // namespace

Result<std::unique_ptr<MpiTransport>> MpiTransport::create(const weft_oob& oob,
                                                           mpi::Settings settings) {
    std::unique_ptr<MpiTransport> transport(new MpiTransport(oob, settings));
    if (Status status = transport->open(oob.context); !status.is_ok()) return status;
    return transport;
}

MpiTransport::MpiTransport(const weft_oob& oob, mpi::Settings settings)
    : mpi_(oob.mpi),
      rank_(oob.rank),
      settings_(settings),
      peers_(static_cast<std::size_t>(oob.ranks)) {
    settings_.eager_threshold = std::min(settings_.eager_threshold, mpi::payload_max + 1);
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        peers_[rank].rank = static_cast<Rank>(rank);
        peers_[rank].credit = Credit(Credit::max_among(peers_.size()));
    }
}

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
    arrived_.resize(receives_);
    for (Peer& peer : peers_) peer.waiting.reserve(queued_min);
    for (std::size_t i = 0; i < spares_of_peer * peers_.size(); ++i) {
        if (!reserve_slot(/*is_large=*/false, /*is_spare=*/false)) throw std::bad_alloc();
    }
    for (std::size_t i = 0; i < receives_; ++i) post_receive(i);
    return ok;
}

MpiTransport::~MpiTransport() {
    if (channel_ == nullptr) return;
    mpi_.close(channel_, static_cast<int>(receives_), receive_requests_.data());
    // What the MPI still sends must stay in place until the process ends.
    static auto* const kept = new std::vector<Slot>;
    std::ranges::move(sending_, std::back_inserter(*kept));
}

Usage MpiTransport::usage() const {
    Usage usage;
    usage.bytes = receive_bytes_.size() + slots_ * large_bytes + posts_.held_bytes() +
                  unexpected_.held_bytes();
    for (const Peer& peer : peers_) {
        usage.bytes += sizeof peer + peer.sends.held_bytes() + peer.receives.held_bytes();
    }
    return usage;
}

std::size_t MpiTransport::poll(std::span<Completion> done) {
    reports_.begin(done);
    take_back_slots();
    take_arrived();
    if (owing_ > 0) {
        for (Peer& peer : peers_) {
            if (peer.owes()) go_on(peer);
        }
    }
    return reports_.end();
}

// The MPI failed, and does not say for which peer.
void MpiTransport::fail_all() {
    for (Peer& peer : peers_) {
        if (peer.rank != rank_) lose(peer);
    }
}

void MpiTransport::lose(Peer& peer) {
    if (peer.lost) return;
    peer.lost = true;
    const bool owed = peer.owes();
    peer.waiting.clear();
    peer.awaiting_cts.clear();
    peer.granted.clear();
    peer.incoming.clear();
    note_owing(peer, owed);
    for (LaneTable<mpi::LaneQueue>* lanes : {&peer.sends, &peer.receives}) {
        lanes->for_each(
            [&](mpi::LaneQueue& lane) { lane.end_all({.code = peer.loss}, reporter(peer)); });
    }
    reports_.add({.token = {}, .code = peer.loss, .peer = peer.rank}, 0);
}

Posted MpiTransport::refuse(Peer& peer, std::uint64_t stream, Token token) {
    posts_.reserve_reports(1);
    reports_.add({.token = token, .code = peer.loss, .peer = peer.rank}, stream);
    return Posted::pending;
}

void MpiTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        if (peer.owes() || peer.slots > 0) peers.push_back(peer.rank);
    }
}

void MpiTransport::abandon(std::uint64_t context) {
    contexts_.remove(context);
    reports_.forget(context);
    for (Peer& peer : peers_) {
        abandon_sends(peer, context);
        abandon_receives(peer, context);
    }
    posts_.refill();
}

void MpiTransport::retire(std::uint64_t context) {
    contexts_.remove(context);
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

void MpiTransport::keep_early(bool keep) {
    contexts_.keep_early(keep);
    if (keep) return;
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

}  // namespace weft
