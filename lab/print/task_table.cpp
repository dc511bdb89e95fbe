#include "lab/print/task_table.h"

#include <algorithm>
#include <map>
#include <vector>

namespace weft {
namespace {

using Lines = std::vector<std::string>;

// What a rank does in a step, in this order.
struct Cell {
    Lines clears;
    Lines cleareds;
    Lines recvs;
    Lines sends;
    std::map<std::string, int> waits;  // such as "recv CQ) from 1", and how many

    Lines lines() const {
        Lines all;
        for (const Lines* some : {&clears, &cleareds, &recvs, &sends}) {
            all.insert(all.end(), some->begin(), some->end());
        }
        for (const auto& [what, count] : waits) {
            all.push_back("wait (" + std::to_string(count) + " " + what);
        }
        return all;
    }
};

using Column = std::map<std::int64_t, Cell>;  // by step

// Whether anything waits for the message at index `message`: the next task tells.
bool is_waited_for(const TaskList& list, std::size_t message) {
    const bool is_last = message + 1 == list.tasks.size();
    if (is_last) return !list.sends;
    const Task::Kind next = list.tasks[message + 1].kind;
    return next == Task::Kind::enable || next == Task::Kind::report;
}

void add_message(Cell& cell, const TaskList& list, std::size_t at) {
    const std::string to = " to " + std::to_string(list.peer);
    const std::string from = " from " + std::to_string(list.peer);
    switch (list.tasks[at].kind) {
        case Task::Kind::clear: cell.clears.push_back("send CTS" + to); break;
        case Task::Kind::cleared:
            cell.cleareds.push_back("recv CTS" + from);
            cell.cleareds.push_back("wait (1 CTS CQ)" + from);
            break;
        case Task::Kind::recv:
            cell.recvs.push_back("recv" + from);
            if (is_waited_for(list, at)) ++cell.waits["recv CQ)" + from];
            break;
        case Task::Kind::send:
            cell.sends.push_back("send" + to);
            if (is_waited_for(list, at)) ++cell.waits["send CQ)" + to];
            break;
        default: break;
    }
}

Column column(const Tasks& tasks, const Timetable& times) {
    Column steps;
    for (const TaskList& list : tasks.lists) {
        const bool carries_away =
            list.sends != list.is_control;  // a CTS travels against its message
        const Rank rank = tasks.rest.rank();
        const auto& when = times.messages.at(carries_away ? std::pair(rank, list.peer)
                                                          : std::pair(list.peer, rank));
        std::size_t message = 0;
        for (std::size_t at = 0; at < list.tasks.size(); ++at) {
            if (list.tasks[at].is_message()) add_message(steps[when[message++]], list, at);
        }
    }
    return steps;
}

void add_line(std::string& out, const Lines& words, const std::vector<std::size_t>& widths) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        out += words[i];
        out.append(widths[i] + 2 - words[i].size(), ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
}

void add_columns(std::string& out, std::span<const Tasks> ranks, const Timetable& times) {
    std::vector<Lines> rows = {{"Rank"}};
    std::vector<Column> columns;
    std::map<std::int64_t, std::size_t> height;  // by step
    for (const Tasks& tasks : ranks) {
        rows.front().push_back(std::to_string(tasks.rest.rank()));
        columns.push_back(column(tasks, times));
        for (const auto& [step, cell] : columns.back()) {
            height[step] = std::max(height[step], cell.lines().size());
        }
    }
    for (const auto& [step, lines] : height) {
        for (std::size_t line = 0; line < lines; ++line) {
            rows.push_back({line == 0 ? "Step " + std::to_string(step) : ""});
            for (Column& own : columns) {
                const Lines words = own[step].lines();
                rows.back().push_back(line < words.size() ? words[line] : "");
            }
        }
    }
    std::vector<std::size_t> widths(rows.front().size());
    for (const Lines& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const Lines& row : rows) add_line(out, row, widths);
}

}  // namespace

std::string task_table(std::span<const Tasks> ranks, const Timetable& times) {
    constexpr std::size_t side_by_side = 4;
    std::string out;
    for (; !ranks.empty(); ranks = ranks.subspan(std::min(side_by_side, ranks.size()))) {
        if (!out.empty()) out += '\n';
        add_columns(out, ranks.first(std::min(side_by_side, ranks.size())), times);
    }
    return out;
}

}  // namespace weft
