#include "schedule/text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace weft {
namespace {

// Appends to `out`, at most 255 characters per call.
__attribute__((format(printf, 2, 3))) void print(std::string& out, const char* format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    out += text;
}

const char* buffer_name(Buffer buffer) {
    switch (buffer) {
        case Buffer::send: return "send";
        case Buffer::recv: return "recv";
        case Buffer::scratch: return "scratch";
        case Buffer::given_send: return "given send";
        case Buffer::given_recv: return "given recv";
    }
    return "?";
}

}  // namespace

std::string to_text(Region region) {
    if (region.bytes == 0) return "nothing";
    std::string text;
    print(text, "%s[%lld..%lld)", buffer_name(region.buffer), static_cast<long long>(region.offset),
          static_cast<long long>(region.offset + region.bytes));
    return text;
}

std::string to_text(const Op& op) {
    const std::string from = to_text(op.from());
    const std::string into = to_text(op.into());
    const std::string peer = "rank " + std::to_string(op.peer);
    switch (op.kind) {
        case OpKind::join: return "join";
        case OpKind::send: return "send    " + from + " -> " + peer;
        case OpKind::recv: return "recv    " + into + " <- " + peer;
        case OpKind::copy: return "copy    " + from + " -> " + into;
        case OpKind::reduce: return "reduce  " + into + " = " + from + " (op) " + into;
        case OpKind::reduce_right: return "reduce  " + into + " = " + into + " (op) " + from;
        case OpKind::scale: return "scale   " + from + " -> " + into;
        case OpKind::widen:
            return "widen   " + from + " -> " +
                   to_text(Region{op.into_buffer, op.into_offset, 2 * op.bytes});
        case OpKind::narrow:
            return "narrow  " + to_text(Region{op.from_buffer, op.from_offset, 2 * op.bytes}) +
                   " -> " + into;
        // (How many bytes a format takes, only the reduction knows.)
        case OpKind::encode:
            return "encode  " + from + " -> " + buffer_name(op.into_buffer) + "[" +
                   std::to_string(op.into_offset) + "..";
        case OpKind::decode:
            return std::string("decode  ") + buffer_name(op.from_buffer) + "[" +
                   std::to_string(op.from_offset) + ".. -> " + into;
        case OpKind::call: return "call    " + into;
        case OpKind::await:
            return "await   list " + std::to_string(op.peer) + " report " +
                   std::to_string(op.from_offset);
        case OpKind::enable: return "enable  list " + std::to_string(op.peer);
    }
    return "?";
}

namespace {

struct Predecessor {
    OpId op;
    std::uint32_t distance;
};

std::string after_text(const std::vector<Predecessor>& predecessors) {
    std::string text;
    for (const Predecessor& p : predecessors) {
        print(text, "%s%u", text.empty() ? "after " : ", ", p.op);
        if (p.distance > 0)
            print(text, " (%u iteration%s earlier)", p.distance, p.distance > 1 ? "s" : "");
    }
    return text;
}

struct Line {
    std::string op;
    std::string after;
};

void add_repeat_line(std::string& out, const Repeat& repeat) {
    print(out, "      repeat %lld times, %u at a time, advancing by %lld bytes",
          static_cast<long long>(repeat.iterations), repeat.window,
          static_cast<long long>(repeat.stride));
    if (repeat.scratch_stride > 0)
        print(out, ", scratch by %lld", static_cast<long long>(repeat.scratch_stride));
    if (repeat.short_bytes > 0)
        print(out, "; the last is %lld bytes shorter", static_cast<long long>(repeat.short_bytes));
    out += '\n';
}

}  // namespace

std::string to_text(const Schedule& schedule) {
    std::vector<std::vector<Predecessor>> predecessors(schedule.ops().size());
    for (OpId id = 0; id < predecessors.size(); ++id) {
        for (const Edge& edge : schedule.after_completion(id)) {
            predecessors[edge.to].push_back({id, edge.distance});
        }
    }
    std::vector<Line> lines;
    for (OpId id = 0; id < predecessors.size(); ++id) {
        std::string op = schedule.repeat_of(id) ? "| " : "";
        std::string after = after_text(predecessors[id]);
        for (const Repeat& repeat : schedule.repeats()) {
            if (repeat.exit == id) after += after.empty() ? "after the repeat" : " and the repeat";
        }
        lines.push_back({op + to_text(schedule.ops()[id]), after});
    }
    std::size_t width = 0;
    for (const Line& line : lines) width = std::max(width, line.op.size());

    std::string out;
    for (OpId id = 0; id < lines.size(); ++id) {
        for (const Repeat& repeat : schedule.repeats()) {
            if (repeat.first == id) add_repeat_line(out, repeat);
        }
        print(out, "%4u  ", id);
        out += lines[id].op;
        if (!lines[id].after.empty()) {
            out.append(width - lines[id].op.size() + 2, ' ');
            out += lines[id].after;
        }
        out += '\n';
    }
    return out;
}

}  // namespace weft
