#include "run/tagged.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace weft {
namespace {

// How much one poll copies: some 100 us where memory is slow.
constexpr std::size_t copied_bytes_max = 256 * 1024;

// Whether two messages of one tag and direction may need the same lane.
bool share_lane(const TaggedMessage& one, const TaggedMessage& other) {
    return one.peer == other.peer || one.is_from_any() || other.is_from_any();
}

// Whether one of those before `end` in the list, or of all, needs the message's lane.
bool is_behind(const Chain<TaggedMessage>& list, const TaggedMessage& message,
               const TaggedMessage* end) {
    for (const TaggedMessage* one = list.first; one != end; one = one->next)
        if (share_lane(*one, message)) return true;
    return false;
}

Completion completion_of(const TaggedMessage& message, Rank peer) {
    return {.token = {message.run, 0},
            .code = message.code,
            .peer = peer,
            .sent_bytes = static_cast<std::int64_t>(message.sent_bytes),
            .expected_bytes = static_cast<std::int64_t>(message.bytes)};
}

}  // namespace

Posted TaggedMessages::start(TaggedMessage& message) {
    message.met = any_source;
    message.left = {};
    message.code = WEFT_OK;
    if (message.is_from_any() || keeps_before(message)) return start_in_turn(message);
    const Posted posted = post(message, message.peer);
    if (posted == Posted::busy) [[unlikely]]
        return start_in_turn(message);
    return posted;
}

// (Other tags need no lane here: a program may have many.)
bool TaggedMessages::keeps_before(const TaggedMessage& message) {
    if (kept_ == 0) [[likely]]
        return false;
    const TagLane* lane = lanes_.find_existing(message.stream.packed());
    return lane != nullptr && !(message.sends ? lane->sends : lane->receives).empty();
}

TaggedMessages::TagLane& TaggedMessages::lane_of(const TaggedMessage& message) {
    is_used_ = true;
    return lanes_.find(message.stream.packed());
}

Posted TaggedMessages::start_in_turn(TaggedMessage& message) {
    TagLane& lane = lane_of(message);
    List& kept = message.sends ? lane.sends : lane.receives;
    if (!is_behind(kept, message, nullptr)) {
        const Posted posted = try_post(message);
        if (posted != Posted::busy) return posted;
    }
    return keep(kept, message);
}

Posted TaggedMessages::keep(List& kept, TaggedMessage& message) {
    if (message.is_from_any()) {
        expect(message, 1);
        ++from_any_;
    }
    kept.append(&message);
    ++kept_;
    return Posted::pending;
}

// Busy: it must be kept.
Posted TaggedMessages::try_post(TaggedMessage& message) {
    if (!message.is_from_any()) {
        const Posted posted = post(message, message.peer);
        tries_again_ |= posted == Posted::busy;
        return posted;
    }
    const std::vector<Rank>& members = message.run->stream()->group().members;
    const auto ranks = static_cast<std::uint32_t>(members.size());
    Rank gone = any_source;
    std::uint32_t left = ranks - 1;  // other ranks that may still send something
    const auto post_for = [&](Rank peer) {
        const Posted posted = post(message, peer);
        was_busy_ |= posted == Posted::busy;
        return posted;
    };
    for (std::uint32_t i = 0; i < ranks; ++i) {
        const std::uint32_t peer = (turn_ + i) % ranks;
        switch (next_from(members[peer], message.stream)) {
            case NextMessage::none: break;
            case NextMessage::here:
                turn_ = peer + 1;  // the others are not starved
                return post_for(static_cast<Rank>(peer));
            case NextMessage::gone:
                gone = static_cast<Rank>(peer);
                --left;
                break;
        }
    }
    // The transport says why.
    return gone != any_source && left == 0 ? post_for(gone) : Posted::busy;
}

NextMessage TaggedMessages::next_from(Rank member, StreamId stream) {
    if (member != rank_)
        return routes_[static_cast<std::size_t>(member)]->next_on({member, stream});
    const TagLane* lane = lanes_.find_existing(stream.packed());
    return lane != nullptr && !lane->own_sends.empty() ? NextMessage::here : NextMessage::none;
}

Posted TaggedMessages::post(TaggedMessage& message, Rank peer) {
    const Rank rank = message.run->stream()->member(peer);
    Posted posted;
    if (rank == rank_) [[unlikely]] {
        posted = post_to_self(message);
    } else {
        Transport& route = *routes_[static_cast<std::size_t>(rank)];
        const Lane lane(rank, message.stream);
        const Token token{message.run, 0};
        posted = message.sends ? route.post_send(lane, {message.data, message.bytes}, token)
                               : route.post_recv(lane, {message.data, message.bytes}, token);
    }
    if (message.is_from_any() && posted != Posted::busy) {
        message.met = peer;
        if (message.source != nullptr) *message.source = peer;
    }
    return posted;
}

Posted TaggedMessages::post_to_self(TaggedMessage& message) {
    TagLane& lane = lane_of(message);
    List& others = message.sends ? lane.own_receives : lane.own_sends;
    if (others.empty()) {
        (message.sends ? lane.own_sends : lane.own_receives).append(&message);
        own_sends_ += message.sends ? 1 : 0;
        return Posted::pending;
    }
    TaggedMessage& other = *others.take_first();
    TaggedMessage& sent = message.sends ? message : other;
    TaggedMessage& received = message.sends ? other : message;
    if (sent.bytes != received.bytes) {
        received.code = WEFT_BROKEN_MESSAGE;
        received.sent_bytes = sent.bytes;
    } else {
        received.left = {sent.data, sent.bytes};
    }
    ended_.append(&received);
    ended_.append(&sent);
    return Posted::pending;
}

// False: some is left for a later poll.
bool TaggedMessages::copy_some(TaggedMessage& message, std::size_t& budget) {
    if (message.left.empty()) return true;
    const std::size_t piece = std::min(message.left.size(), budget);
    std::byte* const into = message.data + (message.bytes - message.left.size());
    std::memmove(into, message.left.data(), piece);
    message.left = message.left.subspan(piece);
    budget -= piece;
    if (message.left.empty()) return true;
    ++pieces_moved_;
    return false;
}

std::uint64_t TaggedMessages::changes() const {
    std::uint64_t changes = own_sends_;
    for (const Transport* transport : transports_) changes += transport->next_changes();
    return changes;
}

std::size_t TaggedMessages::poll(std::span<Completion> done) {
    std::size_t reported = 0;
    if (tries_again_ || has_news()) {
        const std::uint64_t changes_before = changes();
        was_busy_ = tries_again_ = false;
        lanes_.for_each([&](TagLane& lane) {
            reported += post_kept(lane.sends, done.subspan(reported));
            reported += post_kept(lane.receives, done.subspan(reported));
        });
        if (reported < done.size())
            changes_seen_ = changes_before;
        else
            tries_again_ = true;  // some were not looked at; the executor polls again at once
    }
    // (If these filled `done`, the executor would poll again at once, and copy more.)
    std::size_t budget = copied_bytes_max;
    for (; !ended_.empty() && reported + 1 < done.size(); ++reported) {
        if (!copy_some(*ended_.first, budget)) break;
        done[reported] = completion_of(*ended_.take_first(), rank_);
    }
    return reported;
}

// Posts what can be posted now, and reports what ends with that. Returns how many.
std::size_t TaggedMessages::post_kept(List& kept, std::span<Completion> done) {
    std::size_t reported = 0;
    TaggedMessage* previous = nullptr;  // it stays
    for (TaggedMessage* message = kept.first; message != nullptr && reported < done.size();) {
        // (A message to this rank itself goes into another list.)
        TaggedMessage* const next = message->next;
        Posted posted = Posted::busy;
        try {
            if (!is_behind(kept, *message, message)) posted = try_post(*message);
        } catch (const std::bad_alloc&) {
            done[reported++] = lost_message(message->stream.context(), rank_);
            return reported;
        }
        if (posted == Posted::busy) {
            if (message->is_from_any()) return reported;  // all others are behind it
            previous = std::exchange(message, next);
            continue;
        }
        (previous == nullptr ? kept.first : previous->next) = next;
        if (next == nullptr) kept.last = previous;
        --kept_;
        if (message->is_from_any()) {
            --from_any_;
            expect(*message, -1);
        }
        if (posted == Posted::done) {
            const Stream& stream = *message->run->stream();
            done[reported++] = completion_of(*message, stream.member(message->known_peer()));
        }
        message = next;
    }
    return reported;
}

// A message for this receive may come from every rank of its communicator.
void TaggedMessages::expect(const TaggedMessage& message, int change) {
    const std::vector<Rank>& members = message.run->stream()->group().members;
    const auto expect_from = [&](Rank member, int by) {
        if (member != rank_) routes_[static_cast<std::size_t>(member)]->expect_from(member, by);
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        try {
            expect_from(members[i], change);
        } catch (const std::bad_alloc&) {
            while (i-- > 0) expect_from(members[i], -change);
            throw;
        }
    }
}

void TaggedMessages::forget(List& kept) {
    while (!kept.empty()) {
        const TaggedMessage& message = *kept.take_first();
        --kept_;
        if (!message.is_from_any()) continue;
        --from_any_;
        expect(message, -1);
    }
}

void TaggedMessages::cancel_context(std::uint64_t context) {
    lanes_.for_each([&](TagLane& lane) {
        if (context_of(lane.stream) != context) return;
        forget(lane.sends);
        forget(lane.receives);
        lane.own_sends = lane.own_receives = {};
    });
    for (List ended = std::exchange(ended_, {}); !ended.empty();) {
        TaggedMessage* const message = ended.take_first();
        if (message->stream.context() != context) ended_.append(message);
    }
}

}  // namespace weft
