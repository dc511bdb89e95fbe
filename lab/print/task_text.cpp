#include "lab/print/task_text.h"

#include "schedule/text.h"

namespace weft {
namespace {

std::string to_text(const Task& task) {
    switch (task.kind) {
        case Task::Kind::send: return "send    " + to_text(task.region);
        case Task::Kind::recv: return "recv    " + to_text(task.region);
        case Task::Kind::clear: return "clear";
        case Task::Kind::cleared: return "cleared";
        case Task::Kind::wait: return "wait " + std::to_string(task.number);
        case Task::Kind::enable: return "enable " + std::to_string(task.number);
        case Task::Kind::go: return "go";
        case Task::Kind::report: return "report " + std::to_string(task.number);
    }
    return "?";
}

}  // namespace

std::string to_text(const Tasks& tasks) {
    std::string out;
    for (std::size_t i = 0; i < tasks.lists.size(); ++i) {
        const TaskList& list = tasks.lists[i];
        out += "list " + std::to_string(i) + (list.sends ? ", to rank " : ", from rank ") +
               std::to_string(list.peer) + (list.is_control ? ", control\n" : "\n");
        for (const Task& task : list.tasks) out += "    " + to_text(task) + '\n';
    }
    if (!tasks.rest.ops().empty()) out += "rest\n" + to_text(tasks.rest);
    return out;
}

}  // namespace weft
