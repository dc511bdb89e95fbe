#include "run/failure_notices.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"

namespace weft {
namespace {

// In the token of a notice: it was sent, not received.
constexpr std::uint32_t is_sent = 1u << 31;

// A failure that another member has told, whose rank is a place in a group of these members.
Failure told_by_member(std::span<const Rank> members, Failure failure) {
    const auto place = static_cast<std::size_t>(failure.rank);
    failure.rank = failure.rank >= 0 && place < members.size() ? members[place] : -1;
    return failure;
}

}  // namespace

FailureNotices::FailureNotices(Rank rank, const std::vector<Transport*>& routes,
                               std::function<void(Group&)> end_runs)
    : rank_(rank),
      routes_(routes),
      end_runs_(std::move(end_runs)),
      lost_(routes.size()),
      expected_(routes.size()),
      is_expected_(routes.size()) {
    early_.reserve(early_reserved);
}

FailureNotices::~FailureNotices() {
    while (!sent_.empty()) delete sent_.take_first();
}

void FailureNotices::expect_all() {
    for (Rank peer = 0; peer < static_cast<Rank>(routes_.size()); ++peer)
        if (peer != rank_) expect(peer);
}

void FailureNotices::make_room() {
    lost_.resize(routes_.size());
    expected_.resize(routes_.size());
    is_expected_.resize(routes_.size());
}

void FailureNotices::add_peer(Rank peer) {
    lost_[static_cast<std::size_t>(peer)] = WEFT_OK;
    expect(peer);
}

void FailureNotices::remove_peer(Rank peer) {
    lost_[static_cast<std::size_t>(peer)] = WEFT_OK;
    is_expected_[static_cast<std::size_t>(peer)] = false;
    for (Telling* telling = sent_.first; telling != nullptr; telling = telling->next)
        std::erase(telling->to, peer);
}

Failure FailureNotices::for_others(const Group& group, Failure failure) {
    failure.rank = name_of(group, failure.rank).rank;
    return failure;
}

std::unique_ptr<FailureNotices::Telling> FailureNotices::reserve_telling(std::size_t members) {
    auto telling = std::make_unique<Telling>();
    telling->to.reserve(members);
    return telling;
}

void FailureNotices::add(Group& group) {
    suspects_.reserve(groups_.size() + 1);
    groups_.push_back({&group, reserve_telling(group.members.size())});
    Failure failure;
    if (has_lost_member(group, failure)) break_group(group, failure);
    for (const FailureNotice& notice : early_) {
        if (notice.context == group.context) hear_of(group, notice);
    }
    if (!more_early_) return;
    break_group(group, group.bridge == 0 ? *more_early_ : told_by_member({}, *more_early_));
}

// A member's notice of the group.
void FailureNotices::hear_of(Group& group, FailureNotice notice) {
    if (group.bridge != 0) notice.failure = told_by_member(group.members, notice.failure);
    if (notice.is_of_call)
        hear_of_refused(group, notice);
    else
        break_group(group, notice.failure);
}

void FailureNotices::remove(Group& group) {
    std::erase_if(groups_, [&](const Member& member) { return member.group == &group; });
}

void FailureNotices::buffer_unknown(bool keep) {
    keeps_early_ = keep;
    if (keep) return;
    early_.clear();
    more_early_.reset();
}

void FailureNotices::break_group(Group& group, const Failure& failure) {
    if (group.broken.code != WEFT_OK) return;
    group.broken = failure;
    const auto member = std::ranges::find(groups_, &group, &Member::group);
    WEFT_ASSERT(member != groups_.end());
    member->telling->notice.made = group.made;
    tell(std::move(member->telling), group.context, group.members, for_others(group, failure));
    end_runs_(group);
}

void FailureNotices::refuse_call(Group& group, const Failure& failure) {
    if (group.broken.code != WEFT_OK) return;
    std::unique_ptr<Telling> telling = reserve_telling(group.members.size());
    group.refused.push_back(group.calls);
    telling->notice.is_of_call = true;
    telling->notice.call = group.calls++;
    std::erase_if(group.refused_ahead,
                  [&](const RefusedCall& call) { return call.number == telling->notice.call; });
    tell(std::move(telling), group.context, group.members, for_others(group, failure));
}

void FailureNotices::break_if_refused(Group& group, std::uint64_t number) {
    const auto call = std::ranges::find(group.refused_ahead, number, &RefusedCall::number);
    if (call == group.refused_ahead.end()) return;
    const Failure failure = call->failure;
    break_group(group, failure);
}

// Another member has refused a call.
void FailureNotices::hear_of_refused(Group& group, const FailureNotice& notice) {
    if (std::ranges::find(group.refused, notice.call) != group.refused.end()) return;
    if (notice.call < group.calls) return break_group(group, notice.failure);
    try {
        group.refused_ahead.push_back({notice.call, notice.failure});
    } catch (const std::bad_alloc&) {
        break_group(group, notice.failure);
    }
}

void FailureNotices::tell(std::unique_ptr<Telling> telling, std::uint64_t context,
                          std::span<const Rank> members, const Failure& failure) {
    telling->notice.context = context;
    telling->notice.failure = failure;
    WEFT_ASSERT(members.size() <= telling->to.capacity());
    telling->to.assign(members.begin(), members.end());
    telling->number = told_++ & ~is_sent;
    sent_.append(telling.release());
    send(*sent_.last);
    forget_sent();
}

// Those that all members have been told.
void FailureNotices::forget_sent() {
    Chain<Telling> left;
    while (!sent_.empty()) {
        std::unique_ptr<Telling> telling(sent_.take_first());
        if (telling->pending > 0 || !telling->to.empty()) left.append(telling.release());
    }
    sent_ = left;
}

void FailureNotices::send(Telling& telling) {
    std::erase_if(telling.to, [&](Rank member) {
        auto at = static_cast<std::size_t>(member);
        if (!routes_[at] || lost_[at] != WEFT_OK || member == rank_) return true;
        try {
            const Posted posted =
                routes_[at]->post_send({member, {}}, std::as_bytes(std::span(&telling.notice, 1)),
                                       {this, telling.number | is_sent});
            if (posted == Posted::pending) ++telling.pending;
            return posted != Posted::busy;
        } catch (const std::bad_alloc&) {
            return false;
        }
    });
    owes_ |= !telling.to.empty();
}

void FailureNotices::try_again() {
    owes_ = false;
    for (std::size_t peer = 0; peer < routes_.size(); ++peer) {
        const auto rank = static_cast<Rank>(peer);
        const bool is_there = rank != rank_ && routes_[peer] != nullptr && lost_[peer] == WEFT_OK;
        if (is_there && !is_expected_[peer]) expect(rank);
    }
    for (Telling* telling = sent_.first; telling != nullptr; telling = telling->next)
        if (!telling->to.empty()) send(*telling);
    forget_sent();
}

void FailureNotices::lose(Rank peer, weft_status reason) {
    WEFT_ASSERT(reason != WEFT_OK);
    lost_[static_cast<std::size_t>(peer)] = reason;
    for (const Member& member : groups_) {
        Failure failure;
        if (has_lost_member(*member.group, failure)) break_group(*member.group, failure);
    }
}

bool FailureNotices::has_lost_member(const Group& group, Failure& failure) const {
    for (Rank member : group.members) {
        const weft_status reason = lost_[static_cast<std::size_t>(member)];
        if (reason == WEFT_OK) continue;
        failure = {.code = reason, .rank = member, .is_unconnected = reason == WEFT_BROKEN_MEMORY};
        return true;
    }
    return false;
}

void FailureNotices::run_out(std::uint64_t context) {
    if (Group* group = find(context)) break_group(*group, out_of_memory());
}

void FailureNotices::run_out_everywhere() {
    for (const Member& member : groups_) break_group(*member.group, out_of_memory());
}

void FailureNotices::suspect(std::uint64_t context, const Failure& failure) {
    if (std::ranges::find(suspects_, context, &Suspect::context) == suspects_.end())
        suspects_.push_back({context, failure});
}

void FailureNotices::break_suspected() {
    for (const Suspect& suspect : suspects_) {
        if (Group* group = find(suspect.context)) break_group(*group, suspect.failure);
    }
    suspects_.clear();
}

void FailureNotices::handle(const Completion& completion) {
    if ((completion.token.op & is_sent) == 0) {
        if (completion.code == WEFT_OK) take(static_cast<Rank>(completion.token.op));
        return;
    }
    const std::uint32_t number = completion.token.op & ~is_sent;
    for (Telling* telling = sent_.first; telling != nullptr; telling = telling->next)
        if (telling->number == number && telling->pending > 0) --telling->pending;
    forget_sent();
}

void FailureNotices::expect(Rank peer) {
    auto at = static_cast<std::size_t>(peer);
    MutBytes place = std::as_writable_bytes(std::span(&expected_[at], 1));
    Posted posted = Posted::busy;
    try {
        posted =
            routes_[at]->post_recv({peer, {}}, place, {this, static_cast<std::uint32_t>(peer)});
    } catch (const std::bad_alloc&) {
        // Treated as if the transport were busy.
    }
    is_expected_[at] = posted != Posted::busy;
    owes_ |= posted == Posted::busy;
    if (posted == Posted::done) take(peer);
}

void FailureNotices::take(Rank from) {
    ++taken_;
    const FailureNotice notice = expected_[static_cast<std::size_t>(from)];
    // The sender was making a group from this one when it broke, and will never have it.
    for (const Member& member : groups_) {
        if (notice.is_of_call) break;
        Group& group = *member.group;
        if (group.parent == notice.context && group.number > notice.made &&
            std::ranges::find(group.members, from) != group.members.end()) {
            break_group(group, group.bridge == 0
                                   ? notice.failure
                                   : told_by_member(group.parent_members, notice.failure));
        }
    }
    // Two groups may have one context if no rank has both (process/construct.h): a notice of the
    // other group does not concern this rank's.
    Group* const group = find(notice.context);
    if (!group) {
        keep_for_later(notice);
    } else if (std::ranges::find(group->members, from) != group->members.end()) {
        hear_of(*group, notice);
    }
    expect(from);
}

Group* FailureNotices::find(std::uint64_t context) const {
    for (const Member& member : groups_)
        if (member.group->context == context) return member.group;
    return nullptr;
}

// A notice of a group that this rank does not have yet, or has freed.
void FailureNotices::keep_for_later(const FailureNotice& notice) {
    // If no group is expected, it was freed.
    if (!keeps_early_) return;
    // (All members tell that their group is broken, and the first one counts.)
    const bool is_known = std::ranges::any_of(early_, [&](const FailureNotice& early) {
        return early.context == notice.context && !early.is_of_call && !notice.is_of_call;
    });
    if (is_known) return;
    try {
        early_.push_back(notice);
    } catch (const std::bad_alloc&) {
        more_early_ = notice.failure;
    }
}

}  // namespace weft
