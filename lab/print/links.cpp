#include "lab/print/links.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::string aligned(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string messages_text(std::size_t number) {
    return std::to_string(number) + (number == 1 ? " message" : " messages");
}

// The links of this dimension that leave the ranks from `first` on.
std::string links_of(const LinkLoads& loads, std::size_t dimension, Rank first, Rank ranks,
                     std::size_t width) {
    std::string line;
    for (Rank rank = first; rank < first + ranks; ++rank) {
        const Rank load = loads.of(rank, dimension);
        line += ' ' + aligned(load == 0 ? "." : std::to_string(load), width);
    }
    return line;
}

}  // namespace

std::string link_table(const Torus& torus, const Timetable& times) {
    using Ends = std::pair<Rank, Rank>;
    std::vector<std::vector<Ends>> steps(static_cast<std::size_t>(times.rounds));
    for (const auto& [ends, units] : times.messages) {
        for (const std::int64_t unit : units) steps[static_cast<std::size_t>(unit)].push_back(ends);
    }
    const std::vector<Rank>& sizes = torus.sizes();
    const std::size_t rank_width = std::to_string(torus.ranks() - 1).size();

    std::string out;
    Rank most = 0;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        LinkLoads loads(torus);
        for (const auto& [from, to] : steps[step]) loads.add(from, to);
        const std::string most_in_step = std::to_string(loads.most());
        most = std::max(most, loads.most());
        out += "step " + std::to_string(step) + ": " + messages_text(steps[step].size()) +
               ", at most " + most_in_step + " on a link\n";
        for (Rank first = 0; first < torus.ranks(); first += sizes.back()) {
            out += "  " + aligned(std::to_string(first), rank_width) + ".." +
                   aligned(std::to_string(first + sizes.back() - 1), rank_width);
            for (std::size_t d = sizes.size(); d-- > 0;) {
                if (sizes[d] == 1) continue;  // no links
                out += std::string("  ") + "xyz"[sizes.size() - 1 - d] +
                       links_of(loads, d, first, sizes.back(), most_in_step.size());
            }
            out += '\n';
        }
    }
    const auto messages = static_cast<std::size_t>(most);
    return out + "links            at most " + messages_text(messages) + " on one in a step\n";
}

}  // namespace weft
