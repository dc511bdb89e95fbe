#include "sim/goal.h"

#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "schedule/builder.h"

namespace weft::simulate {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class GoalReader {
  public:
    explicit GoalReader(std::string_view text) : text_(text) {}

    Result<GoalProgram> read() {
        skip_lines();
        if (!take("num_ranks")) return expected("num_ranks");
        std::uint64_t ranks = 0;
        WEFT_RETURN_IF_NOT_OK(number(1, 0x7fffffff, ranks));
        GoalProgram program;
        for (std::uint64_t r = 0; r < ranks; ++r) {
            skip_lines();
            if (!take("rank")) return expected("rank " + std::to_string(r));
            std::uint64_t given = 0;
            WEFT_RETURN_IF_NOT_OK(number(0, ranks - 1, given));
            if (given != r)
                return refused("rank " + std::to_string(given), "rank " + std::to_string(r));
            if (!take('{')) return expected("{");
            WEFT_RETURN_IF_NOT_OK(read_rank(ranks, program.emplace_back()));
        }
        return program;
    }

  private:
    Status read_rank(std::uint64_t ranks, GoalRank& rank) {
        labels_.clear();
        for (skip_lines(); !take('}'); skip_lines()) {
            WEFT_RETURN_IF_NOT_OK(read_statement(ranks, rank));
            if (!at_line_end()) return expected("the end of the line");
        }
        return ok;
    }

    Status read_statement(std::uint64_t ranks, GoalRank& rank) {
        const std::string_view first = word();
        if (first.empty()) return expected("a statement, or }");
        if (take(':')) {
            if (!labels_.emplace(first, static_cast<std::uint32_t>(rank.ops.size())).second)
                return failure(WEFT_REFUSED_ARGUMENT, "line %u: label %.*s is defined twice", line_,
                               shown(first), first.data());
            return read_op(word(), ranks, rank);
        }
        const bool by_start = take("irequires");
        if (by_start || take("requires")) return read_order(first, by_start, rank);
        return read_op(first, ranks, rank);
    }

    Status read_order(std::string_view after, bool by_start, GoalRank& rank) {
        const std::string_view before = word();
        if (before.empty()) return expected("a label");
        for (const std::string_view label : {after, before}) {
            if (!labels_.contains(label))
                return failure(WEFT_REFUSED_ARGUMENT, "line %u: label %.*s is not defined above",
                               line_, shown(label), label.data());
        }
        rank.orders.push_back({labels_[before], labels_[after], by_start});
        return ok;
    }

    Status read_op(std::string_view kind, std::uint64_t ranks, GoalRank& rank) {
        GoalOp op;
        op.line = line_;
        const std::uint64_t size_max = ~std::uint64_t{0};
        if (kind == "calc") {
            WEFT_RETURN_IF_NOT_OK(number(0, size_max, op.size));
        } else if (kind == "send" || kind == "recv") {
            op.kind = kind == "send" ? GoalKind::send : GoalKind::recv;
            WEFT_RETURN_IF_NOT_OK(number(0, size_max, op.size));
            if (!take("b")) return expected("b, for bytes");
            const char* const way = kind == "send" ? "to" : "from";
            if (!take(way)) return expected(way);
            if (op.kind == GoalKind::recv && take_minus_one()) {
                op.peer = any_source;
            } else {
                WEFT_RETURN_IF_NOT_OK(number(0, ranks - 1, op.peer));
            }
            if (take("tag")) {
                if (take_minus_one()) {
                    op.tag = any_tag;
                } else {
                    WEFT_RETURN_IF_NOT_OK(number(0, any_tag - 1, op.tag));
                }
            }
        } else {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "line %u: expected send, recv, calc, or LABEL requires LABEL", line_);
        }
        if (take("cpu")) WEFT_RETURN_IF_NOT_OK(number(0, 255, op.cpu));
        if (op.kind != GoalKind::calc && take("nic")) WEFT_RETURN_IF_NOT_OK(number(0, 255, op.nic));
        rank.ops.push_back(op);
        return ok;
    }

    // A number within bounds, as the type of `value` has them.
    template <class Value>
    Status number(std::uint64_t least, std::uint64_t most, Value& value) {
        skip_blanks();
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        const std::string_view digits = text_.substr(begin, at_ - begin);
        if (digits.empty()) return expected("a number");
        std::uint64_t parsed = 0;
        const auto end = digits.data() + digits.size();
        const bool fits = std::from_chars(digits.data(), end, parsed).ec == std::errc();
        if (!fits || parsed < least || parsed > most)
            return refused(std::string(digits.substr(0, 30)),
                           std::to_string(least) + ".." + std::to_string(most));
        value = static_cast<Value>(parsed);
        return ok;
    }

    // An identifier; empty: there is none.
    std::string_view word() {
        skip_blanks();
        const std::size_t begin = at_;
        if (at_ < text_.size() && is_letter(text_[at_])) {
            while (at_ < text_.size() &&
                   (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '_'))
                ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }

    bool take(std::string_view expected_word) {
        const std::size_t before = at_;
        if (word() == expected_word) return true;
        at_ = before;
        return false;
    }
    bool take(char c) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    bool take_minus_one() {
        skip_blanks();
        if (text_.substr(at_, 2) != "-1") return false;
        if (at_ + 2 < text_.size() && is_digit(text_[at_ + 2])) return false;
        at_ += 2;
        return true;
    }

    bool at_line_end() {
        skip_blanks();
        return at_ == text_.size() || text_[at_] == '\n';
    }

    void skip_blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
            ++at_;
    }

    // Blanks, ends of lines and comments.
    void skip_lines() {
        for (;;) {
            skip_blanks();
            const std::string_view two = text_.substr(at_, 2);
            std::size_t end = at_;
            if (two == "//") {
                end = text_.find('\n', at_);
            } else if (two == "/*") {
                end = text_.find("*/", at_ + 2);
                if (end != text_.npos) end += 2;
            } else if (two.starts_with('\n')) {
                ++end;
            } else {
                return;
            }
            end = std::min(end, text_.size());
            for (; at_ < end; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
        }
    }

    Status expected(const std::string& what) const {
        return refused(at_ == text_.size() ? "the end of the text" : rest_of_line(), what);
    }
    Status refused(const std::string& found, const std::string& what) const {
        return failure(WEFT_REFUSED_ARGUMENT, "line %u: '%s'; expected %s", line_, found.c_str(),
                       what.c_str());
    }
    std::string rest_of_line() const {
        std::string rest(text_.substr(at_, 30));
        rest = rest.substr(0, rest.find_first_of("\r\n"));
        return rest.empty() ? "the end of the line" : rest;
    }
    // How much of a word goes into a sentence.
    static int shown(std::string_view text) {
        return static_cast<int>(std::min<std::size_t>(text.size(), 60));
    }

    std::string_view text_;
    std::size_t at_ = 0;
    unsigned line_ = 1;
    std::map<std::string_view, std::uint32_t> labels_;  // of this rank: the operations
};

constexpr std::uint64_t size_max = std::uint64_t{1} << 50;

Status refuse(const GoalOp& op, const char* what) {
    return failure(WEFT_REFUSED_ARGUMENT, "line %u: %s (--compat lgs can)", op.line, what);
}

Status check(const GoalOp& op, Rank rank) {
    if (op.cpu > 0) return refuse(op, "cpu; expected one CPU of each rank");
    if (op.nic > 0) return refuse(op, "nic; expected one NIC of each rank");
    if (op.size > size_max) return refuse(op, "a size above 2^50");
    if (op.kind == GoalKind::calc) return ok;
    if (op.peer == any_source) return refuse(op, "a receive from any rank; expected its number");
    if (op.peer == rank) return refuse(op, "a message to the rank itself");
    return ok;
}

Result<Schedule> schedule_of(const GoalRank& program, Rank rank, Rank ranks) {
    ScheduleBuilder builder(rank, ranks);
    builder.expect(program.ops.size());
    for (const GoalOp& from : program.ops) {
        WEFT_RETURN_IF_NOT_OK(check(from, rank));
        Op op;
        op.kind = from.kind == GoalKind::send   ? OpKind::send
                  : from.kind == GoalKind::recv ? OpKind::recv
                  : from.size > 0               ? OpKind::copy
                                                : OpKind::join;
        if (op.is_message()) op.peer = from.peer;
        op.bytes = static_cast<std::int64_t>(from.size);
        builder.add(op);
    }
    for (const GoalOrder& order : program.orders) {
        if (order.by_start) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "lines %u and %u: irequires; expected requires (--compat lgs can)",
                           program.ops[order.after].line, program.ops[order.before].line);
        }
        builder.order(order.before, order.after);
    }
    Result<Schedule> sealed = builder.seal();
    if (sealed.is_ok()) return sealed;
    return failure(WEFT_REFUSED_ARGUMENT, "rank %d: %s", rank, std::string(last_detail()).c_str());
}

struct GoalLane {
    std::vector<const GoalOp*> sends;
    std::vector<const GoalOp*> recvs;
};

// The k-th message of a lane meets the k-th receive. What is missing, the machine finds.
Status check_lanes(const GoalProgram& program) {
    std::map<std::pair<Rank, Rank>, GoalLane> lanes;  // by sender and receiver
    for (std::size_t r = 0; r < program.size(); ++r) {
        const auto rank = static_cast<Rank>(r);
        for (const GoalOp& op : program[r].ops) {
            if (op.kind == GoalKind::send) lanes[{rank, op.peer}].sends.push_back(&op);
            if (op.kind == GoalKind::recv) lanes[{op.peer, rank}].recvs.push_back(&op);
        }
    }
    for (const auto& [ends, lane] : lanes) {
        for (std::size_t i = 0; i < std::min(lane.sends.size(), lane.recvs.size()); ++i) {
            const GoalOp& send = *lane.sends[i];
            const GoalOp& recv = *lane.recvs[i];
            const bool has_tag = send.tag == recv.tag || send.tag == any_tag || recv.tag == any_tag;
            if (!has_tag || send.size != recv.size) {
                return failure(WEFT_REFUSED_ARGUMENT,
                               "line %u: %llu bytes with tag %u from rank %d, whose message "
                               "number "
                               "%zu to rank %d (line %u) has %llu with tag %u; expected the order "
                               "of sends (--compat lgs can)",
                               recv.line, static_cast<unsigned long long>(recv.size), recv.tag,
                               ends.first, i + 1, ends.second, send.line,
                               static_cast<unsigned long long>(send.size), send.tag);
            }
        }
    }
    return ok;
}

}  // namespace

Result<GoalProgram> read_goal(std::string_view text) { return GoalReader(text).read(); }

Result<std::vector<Schedule>> schedules_of(const GoalProgram& program) {
    std::vector<Schedule> schedules;
    for (std::size_t r = 0; r < program.size(); ++r) {
        Result<Schedule> schedule =
            schedule_of(program[r], static_cast<Rank>(r), static_cast<Rank>(program.size()));
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    WEFT_RETURN_IF_NOT_OK(check_lanes(program));
    return schedules;
}

}  // namespace weft::simulate
