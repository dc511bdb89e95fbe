#include "offload/uring_list.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace weft::kernel {

namespace {

// The last byte of a header that has not come: no message has this kind.
constexpr std::byte not_come{0xff};
// A processor's stores are seen by all others within microseconds.
constexpr std::int64_t doubt_ns = 1'000'000;

}  // namespace

List::List(const TaskList& list, RunLists& run_lists, std::uint32_t number)
    : tasks(list), home(run_lists), id(number), awaited(list.reports) {
    messages.reserve(list.messages);
    for (const Task& task : list.tasks) {
        switch (task.kind) {
            case Task::Kind::send:
            case Task::Kind::recv:
            case Task::Kind::clear:
            case Task::Kind::cleared: add_message(task); break;
            case Task::Kind::wait: entries.push_back({Entry::Kind::take, {}, task.number}); break;
            case Task::Kind::enable: entries.push_back({Entry::Kind::give, {}, task.number}); break;
            case Task::Kind::go: entries.push_back({Entry::Kind::go}); break;
            case Task::Kind::report: entries.push_back({Entry::Kind::report}); break;
        }
    }
}

void List::add_message(const Task& task) {
    const auto message = static_cast<std::uint32_t>(messages.size());
    messages.emplace_back().bytes = static_cast<std::uint64_t>(task.region.bytes);
    const bool waits = task.kind == Task::Kind::send && task.needs_cts;
    if (waits) {
        WEFT_ASSERT(!entries.empty() && entries.back().kind == Entry::Kind::take);
        entries.insert(entries.end() - 1, Entry{Entry::Kind::first, task.region.buffer, message});
    }
    std::int64_t moved = 0;
    bool is_first = !waits;
    do {
        const std::int64_t bytes =
            std::min(task.region.bytes - moved,
                     segment_bytes - (is_first ? std::int64_t{MessageHeader::size} : 0));
        entries.push_back({std::exchange(is_first, false) ? Entry::Kind::first : Entry::Kind::more,
                           task.region.buffer, message, static_cast<std::uint32_t>(bytes),
                           task.region.offset + moved});
        moved += bytes;
    } while (moved < task.region.bytes);
}

StreamId List::stream() const { return home.call.stream_of(tasks); }

std::byte* List::base(Buffer buffer) const {
    switch (buffer) {
        case Buffer::send: return const_cast<std::byte*>(send_base);  // is only read
        case Buffer::recv: return recv_base;
        case Buffer::scratch: return scratch_base;
        case Buffer::given_send:
        case Buffer::given_recv: break;  // of no message
    }
    return nullptr;
}

void List::bind(const Offload::Call& call) {
    send_base = call.send;
    recv_base = call.recv;
    scratch_base = call.scratch;
    for (const Entry& entry : entries) {
        if (entry.kind != Entry::Kind::first) continue;
        MessageVector& message = messages[entry.number];
        message.header.fill(not_come);
        if (tasks.sends)
            message.header =
                MessageHeader{.sequence = static_cast<std::uint16_t>(hold.sequence + entry.number),
                              .bytes = message.bytes,
                              .stream = call.stream_of(tasks).packed()}
                    .encoded();
        message.pieces[0] = {message.header.data(), MessageHeader::size};
        message.pieces[1] = {entry.bytes > 0 ? base(entry.buffer) + entry.offset : nullptr,
                             entry.bytes};
        message.vector = {};
        message.vector.msg_iov = message.pieces;
        message.vector.msg_iovlen = entry.bytes > 0 ? 2 : 1;
    }
}

List::HeaderState List::verdict_on(std::uint32_t number, std::uint64_t stream) const {
    // The kernel fills it from front to back.
    const std::byte& last = messages[number].header.back();
    if (std::atomic_ref(const_cast<std::byte&>(last)).load(std::memory_order_acquire) == not_come)
        return HeaderState::not_come;
    const MessageHeader header = MessageHeader::decoded(messages[number].header);
    const auto sequence = static_cast<std::uint16_t>(hold.sequence + number);
    if (header.kind != MessageHeader::message || header.stream != stream ||
        header.sequence != sequence)
        return HeaderState::foreign;
    return header.bytes == messages[number].bytes ? HeaderState::right : HeaderState::other_size;
}

bool List::is_doubtful(std::int64_t now_ns) {
    const MessageHeader::Encoded& header = messages[checked].header;
    if (doubted_since_ns == 0 || doubted != header) {
        doubted = header;
        doubted_since_ns = now_ns;
    }
    return now_ns - doubted_since_ns < doubt_ns;
}

std::uint64_t List::sent_bytes(std::uint32_t number) const {
    return MessageHeader::decoded(messages[number].header).bytes;
}

}  // namespace weft::kernel
