// The transport as a whole: making it, polling, losing peers, forgetting contexts.
#include "transport/mpi/mpi.h"

#include <algorithm>
#include <iterator>

namespace weft {

using mpi::Post;

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
    }
    // As over TCP: a fixed amount over all peers, clamped for each.
    constexpr std::uint64_t of_all = 64 << 20;
    credit_max_ = std::clamp<std::uint64_t>(of_all / peers_.size(), 64 << 10, 1 << 20);
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
                  unexpected_.held_bytes() + blocks_.held_bytes();
    for (const Peer& peer : peers_) {
        usage.bytes += sizeof peer + peer.sends.held_bytes() + peer.receives.held_bytes();
    }
    return usage;
}

std::size_t MpiTransport::poll(std::span<Completion> done) {
    done_ = done;
    reported_ = 0;
    while (reported_ < done_.size() && !backlog_.empty()) {
        done_[reported_++] = backlog_.front().completion;
        backlog_.pop();
    }
    take_back_slots();
    take_arrived();
    if (owing_ > 0) {
        for (Peer& peer : peers_) {
            if (peer.owes()) go_on(peer);
        }
    }
    done_ = {};
    return reported_;
}

void MpiTransport::report(const Completion& completion, std::uint64_t stream) {
    if (reported_ < done_.size())
        done_[reported_++] = completion;
    else
        backlog_.push({completion, stream});
}

// Completions are reported in the order of the posts.
void MpiTransport::report_finished(mpi::LaneQueue& lane) {
    while (!lane.posts.empty() && lane.posts.first->is_over) {
        Post* post = lane.posts.take_first();
        report(post->result, post->stream);
        posts_.give_back(post);
    }
}

void MpiTransport::finish(Peer& peer, mpi::LaneQueue& lane, Post& post, weft_status code,
                          std::uint64_t sent_bytes) {
    post.result.code = code;
    post.result.peer = peer.rank;
    if (code == WEFT_BROKEN_MESSAGE) {
        post.result.sent_bytes = static_cast<std::int64_t>(sent_bytes);
        post.result.expected_bytes = static_cast<std::int64_t>(post.bytes);
    }
    post.is_over = true;
    report_finished(lane);
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
        lanes->for_each([&](mpi::LaneQueue& lane) {
            lane.unmatched = nullptr;
            for (Post* post = lane.posts.first; post != nullptr; post = post->next) {
                if (post->is_over) continue;
                post->result.code = peer.loss;
                post->result.peer = peer.rank;
                post->is_over = true;
            }
            report_finished(lane);
        });
    }
    report({.token = {}, .code = peer.loss, .peer = peer.rank}, 0);
}

Posted MpiTransport::refuse(Peer& peer, std::uint64_t stream, Token token) {
    report({.token = token, .code = peer.loss, .peer = peer.rank}, stream);
    return Posted::pending;
}

void MpiTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        if (peer.owes() || peer.slots > 0) peers.push_back(peer.rank);
    }
}

void MpiTransport::abandon(std::uint32_t context) {
    contexts_.remove(context);
    backlog_.remove_if([&](const Report& queued) {
        return queued.completion.token.run != nullptr &&
               StreamId::unpack(queued.stream).context == context;
    });
    for (Peer& peer : peers_) {
        abandon_sends(peer, context);
        abandon_receives(peer, context);
    }
}

void MpiTransport::retire(std::uint32_t context) {
    contexts_.remove(context);
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

void MpiTransport::keep_early(bool keep) {
    contexts_.keep_early(keep);
    if (keep) return;
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

}  // namespace weft
