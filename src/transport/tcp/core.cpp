#include "transport/tcp/core.h"

#include <errno.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "transport/matching/rendezvous.h"

namespace weft::tcp {

Core::Core(const Settings& s, std::size_t ranks)
    : settings(s),
      credit_max(Credit::max_among(ranks)),
      posts(reports, contexts, ranks),
      staging(staging_bytes) {
    // The largest payload of a frame. Pages that are never written take no memory.
    spare.reserve(std::max(part_bytes, std::min<std::uint64_t>(s.eager_threshold, credit_max)));
}

Post* Core::take_pieces(std::uint64_t stream, std::byte* data, std::uint64_t message_bytes,
                        std::uint32_t begin, std::uint32_t links) {
    Post* pieces = nullptr;
    try {
        for (std::uint32_t i = links; i-- > begin;) {
            const Cut cut = Cut::of(message_bytes, i, links);
            Post* piece = posts.take(stream);
            *piece = {.data = data == nullptr ? nullptr : data + cut.offset,
                      .bytes = cut.bytes,
                      .message_bytes = i == 0 ? message_bytes : cut.bytes,
                      .first = piece,
                      .next_piece = pieces};
            pieces = piece;
        }
    } catch (const std::bad_alloc&) {
        give_back_pieces(pieces);
        throw;
    }
    return pieces;
}

void Core::give_back_pieces(Post* pieces) {
    while (pieces != nullptr) posts.give_back(std::exchange(pieces, pieces->next_piece));
}

// It may be reported twice: as granted, and as broken.
Place* Core::take_place() {
    if (!places.has_free() || reports.has_kept())
        posts.expect_others(2 * (places.objects() + Pool<Place>::batch));
    return places.take();
}

void Core::count_link() {
    auto make_room = [this](auto& links) {
        if (links.capacity() <= links_) links.reserve(2 * links_ + 8);
    };
    make_room(expecting);
    make_room(holding);
    make_room(put_off);
    ++links_;
}

void Core::expect(Link& link) {
    if (link.expected++ > 0) return;
    expecting.push_back(&link);
    look_at(link);
}

void Core::expect_less(Link& link) {
    if (--link.expected > 0) return;
    *std::ranges::find(expecting, &link) = expecting.back();
    expecting.pop_back();
}

void Core::look_at(Link& link) {
    // Nothing was expected from it until now.
    if (link.in != nullptr) link.in->silence = {};
    if (link.out != nullptr) link.out->silence = {};
    if (timer_at_ns_ == 0) plan_timer(now_ns() + settings.peer_timeout_ns / 4);
}

void Core::note_owing(Link& link) {
    if (link.owes() == link.is_counted) return;
    link.is_counted = !link.is_counted;
    owing += link.is_counted ? 1 : -1;
}

bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == ENOSPC || error == EADDRNOTAVAIL;
}

bool is_gone(int error) { return error == 0 || error == ECONNRESET || error == EPIPE; }

}  // namespace weft::tcp
