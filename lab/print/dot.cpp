#include "lab/print/dot.h"

#include <algorithm>

#include "schedule/check/lanes.h"
#include "schedule/text.h"

namespace weft {
namespace {

std::string node(const Schedule& schedule, OpId id) {
    return "r" + std::to_string(schedule.rank()) + "_" + std::to_string(id);
}

void add_edge(std::string& out, const std::string& from, const std::string& to,
              const std::string& attributes = "") {
    out +=
        "    " + from + " -> " + to + (attributes.empty() ? "" : " [" + attributes + "]") + ";\n";
}

void add_node(std::string& out, const Schedule& schedule, OpId id) {
    const Op& op = schedule.ops()[id];
    out += "        " + node(schedule, id) + " [label=\"" + std::to_string(id) + "  " +
           to_text(op) + "\"" + (op.kind == OpKind::join ? " shape=plain" : "") + "];\n";
}

void add_rank(std::string& out, const Schedule& schedule) {
    const std::string rank = std::to_string(schedule.rank());
    out += "    subgraph cluster_" + rank + " {\n        label=\"rank " + rank + "\";\n";
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        const Repeat* repeat = schedule.repeat_of(id);
        if (!repeat) {
            add_node(out, schedule, id);
            continue;
        }
        if (id != repeat->first) continue;
        out += "        subgraph cluster_" + node(schedule, id) + " {\n        label=\"" +
               std::to_string(repeat->iterations) + " times, " + std::to_string(repeat->window) +
               " at a time\";\n";
        for (OpId inner = id; repeat->holds(inner); ++inner) add_node(out, schedule, inner);
        out += "        }\n";
    }
    out += "    }\n";
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        for (const Edge& edge : schedule.after_completion(id)) {
            const std::string distance = std::to_string(edge.distance);
            add_edge(out, node(schedule, id), node(schedule, edge.to),
                     edge.distance > 0 ? "label=\"+" + distance + "\" constraint=false" : "");
        }
    }
    for (const Repeat& repeat : schedule.repeats()) {
        add_edge(out, node(schedule, repeat.entry), node(schedule, repeat.first));
        add_edge(out, node(schedule, repeat.first + repeat.ops - 1), node(schedule, repeat.exit));
    }
}

void add_messages(std::string& out, const Schedule& from, const Schedule& to) {
    const std::int32_t sends = checking::find_lane(from, to.rank(), true);
    const std::int32_t recvs = checking::find_lane(to, from.rank(), false);
    if (sends < 0 || recvs < 0) return;
    const checking::LaneOps from_ops(from);
    const checking::LaneOps to_ops(to);
    checking::LaneCursor send(from, from_ops.of(static_cast<std::size_t>(sends)));
    checking::LaneCursor recv(to, to_ops.of(static_cast<std::size_t>(recvs)));
    for (; !send.is_at_end() && !recv.is_at_end(); send.advance(), recv.advance()) {
        if (send.iteration() > 0 && recv.iteration() > 0) continue;
        add_edge(out, node(from, send.op()), node(to, recv.op()), "style=dashed constraint=false");
    }
}

}  // namespace

std::string to_dot(std::span<const Schedule> schedules) {
    std::string out = "digraph schedule {\n    node [shape=box fontname=monospace];\n";
    for (const Schedule& schedule : schedules) add_rank(out, schedule);
    for (const Schedule& from : schedules) {
        for (const Schedule& to : schedules) add_messages(out, from, to);
    }
    return out + "}\n";
}

}  // namespace weft
