#include "run/failure_notices.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weft {
namespace {

// In the token of a notice: that it was sent, not received.
constexpr std::uint32_t is_sent = 1u << 31;

}  // namespace

FailureNotices::FailureNotices(Rank rank, const std::vector<Transport*>& routes,
                               std::function<void(Group&)> end_runs)
    : rank_(rank),
      routes_(routes),
      end_runs_(std::move(end_runs)),
      lost_(routes.size()),
      expected_(routes.size()) {}

void FailureNotices::expect_all() {
    for (Rank peer = 0; peer < static_cast<Rank>(routes_.size()); ++peer)
        if (peer != rank_) expect(peer);
}

void FailureNotices::add(Group& group) {
    groups_.push_back(&group);
    Failure failure;
    if (has_lost_member(group, failure)) break_group(group, failure);
    for (const Suspect& notice : early_)
        if (notice.context == group.context) break_group(group, notice.failure);
}

void FailureNotices::keep_early(bool keep) {
    keeps_early_ = keep;
    if (!keep) early_.clear();
}

void FailureNotices::break_group(Group& group, const Failure& failure) {
    if (group.broken.code != WEFT_OK) return;
    group.broken = failure;
    const FailureNotice& notice = *sent_.emplace_back(
        std::make_unique<FailureNotice>(FailureNotice{group.context, group.made, failure}));
    for (Rank member : group.members) {
        auto at = static_cast<std::size_t>(member);
        if (!routes_[at] || lost_[at] != WEFT_OK || member == rank_) continue;
        // Best effort: a member that does not get the notice will see this rank leave.
        (void)routes_[at]->post_send({member, {}}, std::as_bytes(std::span(&notice, 1)),
                                     {this, static_cast<std::uint32_t>(member) | is_sent});
    }
    end_runs_(group);
}

void FailureNotices::lose(Rank peer, weft_status reason) {
    WEFT_ASSERT(reason != WEFT_OK);
    lost_[static_cast<std::size_t>(peer)] = reason;
    for (Group* group : groups_) {
        Failure failure;
        if (has_lost_member(*group, failure)) break_group(*group, failure);
    }
}

bool FailureNotices::has_lost_member(const Group& group, Failure& failure) const {
    for (Rank member : group.members) {
        const weft_status reason = lost_[static_cast<std::size_t>(member)];
        if (reason == WEFT_OK) continue;
        failure = {reason, member, 0, 0};
        return true;
    }
    return false;
}

void FailureNotices::break_suspected() {
    for (const Suspect& suspect : suspects_) break_context(suspect.context, suspect.failure);
    suspects_.clear();
}

void FailureNotices::handle(const Completion& completion) {
    const bool received = (completion.token.op & is_sent) == 0;
    if (received && completion.code == WEFT_OK) take(static_cast<Rank>(completion.token.op));
}

void FailureNotices::expect(Rank peer) {
    auto at = static_cast<std::size_t>(peer);
    MutBytes place = std::as_writable_bytes(std::span(&expected_[at], 1));
    // Failures are rare: a receive that the transport cannot take now is not tried again.
    if (routes_[at]->post_recv({peer, {}}, place, {this, static_cast<std::uint32_t>(peer)}) ==
        Posted::done) {
        take(peer);
    }
}

void FailureNotices::take(Rank from) {
    ++taken_;
    const FailureNotice notice = expected_[static_cast<std::size_t>(from)];
    // The sender was making a group from this one when it broke, and will never have it.
    for (Group* group : groups_) {
        if (group->parent == notice.context && group->number > notice.made &&
            std::ranges::find(group->members, from) != group->members.end()) {
            break_group(*group, notice.failure);
        }
    }
    break_context(notice.context, notice.failure);
    expect(from);
}

void FailureNotices::break_context(std::uint32_t context, const Failure& failure) {
    for (Group* group : groups_)
        if (group->context == context) return break_group(*group, failure);
    // If no group is expected, it was freed.
    if (keeps_early_) early_.push_back({context, failure});
}

}  // namespace weft
