// A transport's posts, with room to report each of them, and with memory reserved for failure
// notices to other ranks and for the report that a message was lost.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "base/fifo.h"
#include "base/pool.h"
#include "transport/matching/contexts.h"
#include "transport/matching/reports.h"
#include "transport/transport.h"

namespace weft {

// Posts of messages that are known to the other end by a ticket.

// Removes the post with this ticket; null: it is gone.
template <class Post>
Post* take_with_ticket(std::vector<Post*>& posts, std::uint64_t ticket) {
    const auto place = std::ranges::find(posts, ticket, &Post::ticket);
    if (place == posts.end()) return nullptr;
    Post* const post = *place;
    posts.erase(place);
    return post;
}

template <class Post>
class PostStore {
  public:
    PostStore(Reports& reports, Contexts& contexts, std::size_t peers)
        : reports_(reports), contexts_(contexts), peers_(peers) {
        fill_spares();
        reserve_reports(0);
    }

    // A post of this stream. Throws if there is no memory for it; the last ones are for failure
    // notices.
    Post* take(std::uint64_t stream) {
        reserve(stream);
        return pool_.take();
    }
    // The next take() of this stream does not throw.
    void reserve(std::uint64_t stream) {
        if (!pool_.has_free() || reports_.has_kept()) [[unlikely]]
            make_room(stream);
    }
    void give_back(Post* post) { pool_.give_back(post); }

    // There is room for this many completions beyond those of posts, peers and contexts.
    void reserve_reports(std::size_t more) {
        reports_.reserve(pool_.objects() + others_ + more + peers_ + contexts_.living() + 1);
    }
    // The number of completions beyond those of posts, peers and contexts.
    void expect_others(std::size_t completions) {
        others_ = completions;
        reserve_reports(0);
    }

    // As Transport::open_context().
    void open_context(std::uint64_t context) {
        fill_spares();
        reserve_reports(1);
        if (!contexts_.open_context(context)) reports_.lose_context(context, -1);
    }
    // After posts have been given back.
    void refill() {
        for (; spares_left_ < spares_of_peer * peers_ && pool_.has_free(); ++spares_left_)
            spares_.append(pool_.take());
    }

    // A message of this stream cannot be kept, or received, for lack of memory. (Failure
    // notices are the transport's.)
    void lose_message(Rank peer, std::uint64_t stream) {
        const std::uint64_t context = context_of(stream);
        if (context != 0 && contexts_.lose(context)) reports_.lose_context(context, peer);
    }

    std::size_t held_bytes() const { return pool_.held_bytes(); }

  private:
    static constexpr std::size_t spares_of_peer = 2;

    void fill_spares() {
        for (; spares_left_ < spares_of_peer * peers_; ++spares_left_) spares_.append(pool_.take());
    }

    // There is no free post, or completions are kept, which take the room of later ones.
    [[gnu::noinline]] void make_room(std::uint64_t stream) {
        try {
            const bool grows = !pool_.has_free();
            reserve_reports(grows ? Pool<Post>::batch : 0);
            if (grows) pool_.give_back(pool_.take());
        } catch (const std::bad_alloc&) {
            if (context_of(stream) != 0) throw;
            if (pool_.has_free()) return;
            if (spares_.empty()) throw;
            pool_.give_back(spares_.take_first());
            --spares_left_;
        }
    }

    Reports& reports_;
    Contexts& contexts_;
    std::size_t peers_;
    std::size_t others_ = 0;
    Pool<Post> pool_;
    Chain<Post> spares_;  // for failure notices, when there is no memory for more posts
    std::size_t spares_left_ = 0;
};

}  // namespace weft
