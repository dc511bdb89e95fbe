#include "lab/wrap/faulty.h"

#include <algorithm>
#include <array>
#include <new>

namespace weft {

FaultyTransport::FaultyTransport(Transport& inner, std::uint64_t seed, FaultyOptions options)
    : ForwardingTransport(inner), random_(seed), options_(options) {
    WEFT_ASSERT(options.hold_one_in != 1 && options.busy_one_in != 1);
}

// This wrapper can only be polled: arm() would not wake for held completions.
Abilities FaultyTransport::abilities() const {
    Abilities abilities = inner_.abilities();
    abilities.can_sleep = false;
    return abilities;
}

Posted FaultyTransport::post_send(const Lane& lane, Bytes data, Token token) {
    if (const std::optional<Posted> answered = answer(lane, token)) return *answered;
    std::uint32_t serial = next_serial_++;
    Pending& pending = pending_[serial];
    pending.lane = lane;
    pending.token = token;
    if (is_doomed(lane.peer)) {
        pending.copy.assign(data.begin(), data.end());
        data = pending.copy;
    }
    return settle(inner_.post_send(lane, data, {this, serial}), serial);
}

Posted FaultyTransport::receive(const Lane& lane, MutBytes data, const Combination* combination,
                                Token token) {
    if (const std::optional<Posted> answered = answer(lane, token)) return *answered;
    std::uint32_t serial = next_serial_++;
    Pending& pending = pending_[serial];
    pending.lane = lane;
    pending.token = token;
    if (is_doomed(lane.peer)) {
        pending.into = data;
        pending.copy.resize(data.size());
        data = pending.copy;
    }
    Combination of_copy;
    if (combination != nullptr && is_doomed(lane.peer)) {
        pending.left.assign(combination->left, combination->left + data.size());
        of_copy = *combination;
        of_copy.left = pending.left.data();
        combination = &of_copy;
    }
    return settle(ForwardingTransport::receive(lane, data, combination, {this, serial}), serial);
}

Posted FaultyTransport::settle(Posted posted, std::uint32_t serial) {
    if (posted == Posted::pending) return posted;
    Pending& pending = pending_[serial];
    if (posted == Posted::done && !pending.into.empty()) {
        std::ranges::copy(pending.copy, pending.into.begin());
    }
    pending_.erase(serial);
    return posted;
}

// The answer to a post that starts nothing.
std::optional<Posted> FaultyTransport::answer(const Lane& lane, Token token) {
    count_post(lane);
    if (lost_ && is_doomed(lane.peer)) return refuse(lane, token);
    if (is_busy()) return Posted::busy;
    return std::nullopt;
}

bool FaultyTransport::is_busy() {
    if (options_.busy_one_in == 0 || !random_.one_in(options_.busy_one_in)) return false;
    was_busy_ = true;
    return true;
}

void FaultyTransport::count_post(const Lane& lane) {
    ++posts_;
    if (posts_ == options_.no_memory_at_post) throw std::bad_alloc();
    if (posts_ == options_.lose_message_at_post)
        held_.push_front({lost_message(lane.stream.context(), lane.peer), lane.stream.context()});
    if (posts_ != options_.lose_at_post) return;
    collect();
    lost_ = true;
    Held loss{{{}, options_.lost_code, options_.lost_peer}, 0};
    bool loss_first = random_.one_in(2);
    if (loss_first) held_.push_back(loss);
    for (auto& [serial, pending] : pending_) {
        if (!is_doomed(pending.lane.peer)) continue;
        pending.broken = true;
        held_.push_back({{pending.token, options_.lost_code, options_.lost_peer},
                         pending.lane.stream.context()});
    }
    if (!loss_first) held_.push_back(loss);
}

Posted FaultyTransport::refuse(Lane lane, Token token) {
    held_.push_back({{token, options_.lost_code, lane.peer}, lane.stream.context()});
    return Posted::pending;
}

// Collects what the inner transport reports.
void FaultyTransport::collect() {
    std::array<Completion, 32> done;
    std::size_t reported;
    do {
        reported = inner_.poll(done);
        for (std::size_t i = 0; i < reported; ++i) {
            Completion completion = done[i];
            if (!completion.token.run) {
                if (!(lost_ && is_doomed(completion.peer))) held_.push_back({completion, 0});
                continue;
            }
            auto found = pending_.find(completion.token.op);
            WEFT_ASSERT(completion.token.run == this && found != pending_.end());
            Pending& pending = found->second;
            if (!pending.broken) {
                if (completion.code == WEFT_OK && !pending.into.empty()) {
                    std::ranges::copy(pending.copy, pending.into.begin());
                }
                completion.token = pending.token;
                held_.push_back({completion, pending.lane.stream.context()});
            }
            pending_.erase(found);
        }
    } while (reported == done.size());
}

std::size_t FaultyTransport::poll(std::span<Completion> done) {
    was_busy_ = false;
    collect();
    std::size_t reported = 0;
    while (reported < done.size() && !held_.empty()) {
        if (options_.hold_one_in > 0 && random_.one_in(options_.hold_one_in)) break;
        done[reported++] = held_.front().completion;
        held_.pop_front();
    }
    return reported;
}

void FaultyTransport::cancel_context(std::uint64_t context) {
    inner_.cancel_context(context);
    std::erase_if(pending_,
                  [&](const auto& entry) { return entry.second.lane.stream.context() == context; });
    std::erase_if(held_, [&](const Held& held) {
        const bool is_loss = !held.completion.token.run && lost_context(held.completion) == 0;
        return !is_loss && held.context == context;
    });
}

}  // namespace weft
