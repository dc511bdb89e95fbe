#include "lab/print/svg.h"

#include <algorithm>
#include <map>

#include "schedule/repeats.h"

namespace weft {
namespace {

// Everything is in pixels; a page is at least 480 wide.
constexpr std::int64_t margin = 12;
constexpr std::int64_t left = 60;          // of the first column; the ranks' numbers are left of it
constexpr std::int64_t top = 46;           // of the lines; the title is above them
constexpr std::int64_t row_height = 24;    // from one rank's line to the next
constexpr std::int64_t gap = 5;            // between an arrow's ends and its column's
constexpr std::int64_t least_width = 320;  // so that the title fits

class Drawing {
  public:
    Drawing(Rank ranks, std::int64_t rounds)
        : ranks_(ranks),
          rounds_(rounds),
          // Wide enough for arrows to the next rank, unless there are many columns.
          column_(std::clamp<std::int64_t>(
              (480 - left - margin) / std::max<std::int64_t>(rounds, 1), 26, 56)) {}

    std::string finish(const std::string& title) {
        const std::string marks = legend();
        const std::int64_t right = x(rounds_) + margin;
        const std::string width = std::to_string(std::max(right, least_width));
        const std::string height = std::to_string(legend_y() + (marks.empty() ? -10 : 12));
        std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width +
                          "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
                          "\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#555\">\n";
        out += "<title>" + title + "</title>\n";
        // An opaque background: the page may be dark.
        out += "<rect width=\"" + width + "\" height=\"" + height + "\" rx=\"4\" fill=\"#fff\"/>\n";
        out += shades_;
        out += text(margin, 20, title, " font-size=\"13\" font-weight=\"bold\" fill=\"#222\"");
        add_grid(out);
        out +=
            "<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
            "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 1L8 4L0 7z\" fill=\"#2f6f9f\"/>"
            "</marker>\n";
        out += "<g stroke=\"#2f6f9f\" stroke-width=\"1.4\" marker-end=\"url(#head)\">\n" + arrows_ +
               "</g>\n";
        if (!dots_.empty()) out += "<g fill=\"#c8862b\">\n" + dots_ + "</g>\n";
        return out + marks + "</svg>\n";
    }

    void add_shade(Rank rank) {
        shades_ += "<rect x=\"" + n(margin) + "\" y=\"" + n(y(rank) - row_height / 2) +
                   "\" width=\"" + n(x(rounds_) - margin) + "\" height=\"" + n(row_height) +
                   "\" fill=\"#eef1f3\"/>\n";
    }

    void add_arrow(Rank from, Rank to, std::int64_t round, bool is_empty) {
        arrows_ += "<path d=\"M" + n(x(round) + gap) + " " + n(y(from)) + "L" +
                   n(x(round + 1) - gap) + " " + n(y(to)) + "\"" +
                   (is_empty ? " stroke-dasharray=\"4 3\"" : "") + "/>\n";
        has_empty_ = has_empty_ || is_empty;
    }

    void add_dot(Rank rank, std::int64_t rounds) {
        dots_ += "<circle cx=\"" + n(x(rounds)) + "\" cy=\"" + n(y(rank)) + "\" r=\"3\"/>\n";
    }

  private:
    static std::string n(std::int64_t pixels) { return std::to_string(pixels); }

    static std::string text(std::int64_t x, std::int64_t y, const std::string& words,
                            const std::string& attributes = "") {
        return "<text x=\"" + n(x) + "\" y=\"" + n(y) + "\"" + attributes + ">" + words +
               "</text>\n";
    }

    std::int64_t x(std::int64_t round) const { return left + round * column_; }
    std::int64_t y(Rank rank) const { return top + rank * row_height; }
    std::int64_t axis_y() const { return y(ranks_ - 1) + 26; }
    std::int64_t legend_y() const { return axis_y() + 22; }

    // A line and a number for each rank, a number for each round.
    void add_grid(std::string& out) const {
        std::string lines;
        for (Rank r = 0; r < ranks_; ++r) {
            out += text(margin, y(r) + 4, "rank " + n(r));
            lines += "M" + n(left) + " " + n(y(r)) + "H" + n(x(rounds_));
        }
        out += "<path d=\"" + lines + "\" stroke=\"#bbb\"/>\n";
        if (rounds_ > 0) out += text(margin, axis_y(), "round");
        for (std::int64_t round = 0; round < rounds_; ++round) {
            out += text(x(round) + column_ / 2, axis_y(), n(round + 1), " text-anchor=\"middle\"");
        }
    }

    // Explains the marks that occur.
    std::string legend() const {
        std::string out;
        std::int64_t at = margin;
        if (!dots_.empty()) {
            out += "<circle cx=\"" + n(at + 3) + "\" cy=\"" + n(legend_y() - 4) +
                   "\" r=\"3\" fill=\"#c8862b\"/>\n" +
                   text(at + 11, legend_y(), "operands combined");
            at += 130;
        }
        if (has_empty_) {
            out += "<path d=\"M" + n(at) + " " + n(legend_y() - 4) +
                   "h22\" stroke=\"#2f6f9f\" stroke-width=\"1.4\" stroke-dasharray=\"4 3\"/>\n" +
                   text(at + 28, legend_y(), "empty message");
        }
        return out;
    }

    Rank ranks_;
    std::int64_t rounds_;
    std::int64_t column_;
    bool has_empty_ = false;
    std::string shades_;
    std::string arrows_;
    std::string dots_;
};

}  // namespace

std::string to_svg(const std::string& title, std::span<const Schedule> schedules,
                   const Timetable& times, const Topology& nodes) {
    Drawing drawing(static_cast<Rank>(schedules.size()), times.rounds);
    for (const Schedule& schedule : schedules) {
        const Rank rank = schedule.rank();
        if (nodes.node_of(rank) % 2 == 1) drawing.add_shade(rank);
        std::map<Rank, std::size_t> sent;  // so far, by receiver
        for (const Step& step : unroll(schedule)) {
            if (step.what.kind != OpKind::send) continue;
            const Rank to = step.what.peer;
            drawing.add_arrow(rank, to, times.messages.at({rank, to})[sent[to]++],
                              step.what.bytes == 0);
        }
        for (std::int64_t rounds : times.reductions[static_cast<std::size_t>(rank)]) {
            drawing.add_dot(rank, rounds);
        }
    }
    return drawing.finish(title);
}

}  // namespace weft
