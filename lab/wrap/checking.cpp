#include "lab/wrap/checking.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard_fill{0xa7};

std::uint64_t hash_of(Bytes data) {
    std::uint64_t hash = data.size();
    while (!data.empty()) {
        std::uint64_t word = 0;
        std::size_t n = std::min(data.size(), sizeof word);
        std::memcpy(&word, data.data(), n);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        data = data.subspan(n);
    }
    return hash;
}

bool is_loss(weft_status code) {
    return code == WEFT_BROKEN_RANK || code == WEFT_BROKEN_TRANSPORT || code == WEFT_BROKEN_MEMORY;
}

std::string describe(Lane lane, bool sends, std::size_t bytes) {
    return std::string(sends ? "send of " : "receive of ") + std::to_string(bytes) +
           (sends ? " bytes to rank " : " bytes from rank ") + std::to_string(lane.peer) +
           " (context " + std::to_string(lane.stream.context()) + ", stream " +
           std::to_string(lane.stream.stream()) + ")";
}

}  // namespace

CheckingTransport::CheckingTransport(Transport& inner, Endpoint place, OnViolation on_violation)
    : ForwardingTransport(inner), place_(place), on_violation_(on_violation) {}

CheckingTransport::LaneKey CheckingTransport::key(const Pending& pending) {
    return {pending.sends, pending.lane.peer, pending.lane.stream.packed()};
}

void CheckingTransport::report(const std::string& sentence) {
    std::string whole =
        "rank " + std::to_string(place_.rank) + " over " + inner_.name() + ": " + sentence;
    if (on_violation_ == OnViolation::abort) {
        std::fprintf(stderr, "weft: broken transport contract: %s\n", whole.c_str());
        std::abort();
    }
    violations_.push_back(std::move(whole));
}

// --- Posts ---------------------------------------------------------------------------------------

bool CheckingTransport::may_post(const Pending& pending) {
    std::string post = describe(pending.lane, pending.sends, pending.lent.size());
    Rank peer = pending.lane.peer;
    const char* fault = nullptr;
    if (peer < 0 || peer >= place_.ranks) fault = "names no rank of the job";
    if (peer == place_.rank) fault = "names the rank itself";
    if (!pending.token.run) fault = "has no token";
    if (!pending.lent.data() && !pending.lent.empty()) fault = "has no buffer";
    if (abandoned_contexts_.contains(pending.lane.stream.context())) {
        fault = "belongs to an abandoned context";
    }
    if (fault) report("the " + post + " " + fault);
    return !fault;
}

Posted CheckingTransport::post_send(const Lane& lane, Bytes data, Token token) {
    Pending pending{lane, token, true, data, nullptr, 0, {}};
    if (!may_post(pending)) return Posted::busy;
    pending.lent_hash = hash_of(data);
    std::uint32_t serial = next_serial_++;
    pending_.emplace(serial, std::move(pending));
    return post(serial, [&] { return inner_.post_send(lane, data, {this, serial}); });
}

Posted CheckingTransport::receive(const Lane& lane, MutBytes data, const Combination* combination,
                                  Token token) {
    Pending pending{lane, token, false, data, data.data(), 0, {}};
    if (!may_post(pending)) return Posted::busy;
    pending.lent_hash = hash_of(data);
    pending.guarded.assign(data.size() + 2 * guard_bytes, guard_fill);
    MutBytes inside{pending.guarded.data() + guard_bytes, data.size()};
    std::uint32_t serial = next_serial_++;
    pending_.emplace(serial, std::move(pending));
    return post(serial, [&] {
        return ForwardingTransport::receive(lane, inside, combination, {this, serial});
    });
}

// A post that throws has not happened.
template <class Inner>
Posted CheckingTransport::post(std::uint32_t serial, Inner inner) {
    try {
        return settle(inner(), serial);
    } catch (const std::bad_alloc&) {
        pending_.erase(serial);
        throw;
    }
}

Posted CheckingTransport::settle(Posted posted, std::uint32_t serial) {
    Pending& pending = pending_.at(serial);
    if (posted == Posted::pending) {
        order_[key(pending)].push_back(serial);
        return posted;
    }
    if (posted == Posted::done) {
        check_buffers(pending);
        if (!pending.sends) {
            std::copy_n(pending.guarded.data() + guard_bytes, pending.lent.size(), pending.into);
        }
    }
    pending_.erase(serial);
    return posted;
}

// --- Completions ---------------------------------------------------------------------------------

void CheckingTransport::check_buffers(const Pending& pending) {
    std::string post = describe(pending.lane, pending.sends, pending.lent.size());
    if (hash_of(pending.lent) != pending.lent_hash) {
        report("the buffer of the " + post + " changed while it was lent");
    }
    if (pending.sends) return;
    Bytes all{pending.guarded};
    auto is_guard = [](std::byte b) { return b == guard_fill; };
    if (!std::ranges::all_of(all.first(guard_bytes), is_guard)) {
        report("bytes before the buffer of the " + post + " were written");
    }
    if (!std::ranges::all_of(all.last(guard_bytes), is_guard)) {
        report("bytes behind the buffer of the " + post + " were written");
    }
}

void CheckingTransport::check_lost(const Completion& completion) {
    std::string peer = std::to_string(completion.peer);
    if (!is_loss(completion.code)) {
        report(std::string("a loss is reported with the code ") + status_name(completion.code));
    } else if (completion.peer < 0 || completion.peer >= place_.ranks ||
               completion.peer == place_.rank) {
        report("rank " + peer + " was reported lost, but is not another rank of the job");
    } else if (!lost_.insert(completion.peer).second) {
        report("rank " + peer + " was reported lost twice");
    }
}

void CheckingTransport::check_lost_message(const Completion& completion) {
    const std::uint64_t context = lost_context(completion);
    if (completion.code != WEFT_BROKEN_MEMORY)
        report(std::string("a lost message is reported with the code ") +
               status_name(completion.code));
    if (abandoned_contexts_.contains(context) || !short_of_message_.insert(context).second)
        report("context " + std::to_string(context) + " lost a message twice, or after its end");
}

// False: the completion must not reach the user.
bool CheckingTransport::complete(Completion& completion) {
    if (lost_context(completion) != 0) {
        check_lost_message(completion);
        return true;
    }
    if (!completion.token.run) {
        check_lost(completion);
        return true;
    }
    std::uint32_t serial = completion.token.op;
    auto found = pending_.find(serial);
    if (completion.token.run != this || found == pending_.end()) {
        report(completion.token.run == this && serial < next_serial_
                   ? "a post completed twice, or after its context was abandoned"
                   : "a completion has a token that nobody posted");
        return false;
    }
    Pending& pending = found->second;
    std::string post = describe(pending.lane, pending.sends, pending.lent.size());
    auto lane = order_.find(key(pending));
    if (lane->second.front() != serial) {
        report("the " + post + " completed before an earlier one of its lane");
    }
    std::erase(lane->second, serial);
    if (lane->second.empty()) order_.erase(lane);

    if (completion.code != WEFT_OK && completion.code > -100) {
        report("the " + post + " completed with " + status_name(completion.code));
    }
    if (is_loss(completion.code) && completion.peer != pending.lane.peer) {
        report("the " + post + " broke but names rank " + std::to_string(completion.peer));
    }
    if (completion.code == WEFT_BROKEN_MESSAGE &&
        (pending.sends || completion.sent_bytes == completion.expected_bytes ||
         completion.expected_bytes != static_cast<std::int64_t>(pending.lent.size()))) {
        report("the " + post + " completed as a message of " +
               std::to_string(completion.sent_bytes) + " bytes where " +
               std::to_string(completion.expected_bytes) + " were expected");
    }
    check_buffers(pending);
    if (!pending.sends && completion.code == WEFT_OK) {
        std::copy_n(pending.guarded.data() + guard_bytes, pending.lent.size(), pending.into);
    }
    completion.token = pending.token;
    pending_.erase(found);
    return true;
}

std::size_t CheckingTransport::poll(std::span<Completion> done) {
    std::size_t reported = inner_.poll(done);
    if (reported > done.size()) {
        report("a poll reported more completions than it had room for");
        reported = done.size();
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < reported; ++i) {
        Completion completion = done[i];
        if (complete(completion)) done[kept++] = completion;
    }
    return kept;
}

// --- Abandoned contexts --------------------------------------------------------------------------

void CheckingTransport::cancel_context(std::uint64_t context) {
    inner_.cancel_context(context);
    abandoned_contexts_.insert(context);
    for (auto i = pending_.begin(); i != pending_.end();) {
        Pending& pending = i->second;
        if (pending.lane.stream.context() != context) {
            ++i;
            continue;
        }
        check_buffers(pending);
        order_.erase(key(pending));
        if (!pending.sends) {
            std::uint64_t hash = hash_of(pending.guarded);
            abandoned_.push_back({std::move(pending.guarded), hash,
                                  describe(pending.lane, false, pending.lent.size())});
        }
        i = pending_.erase(i);
    }
}

void CheckingTransport::check_abandoned() {
    for (const Abandoned& abandoned : abandoned_) {
        if (hash_of(abandoned.guarded) != abandoned.hash) {
            report("the buffer of the " + abandoned.what + " changed after it was abandoned");
        }
    }
}

}  // namespace weft
