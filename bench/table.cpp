// Printing a table of text.
#include "bench/table.h"

#include <algorithm>
#include <string_view>

namespace weft::bench {

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    // No sign before a zero: "-0" would say that something was lost.
    const bool is_zero = std::string_view(text).find_first_not_of("-0.") == std::string_view::npos;
    return is_zero && text[0] == '-' ? text + 1 : text;
}

void Table::print(std::FILE* file) const {
    std::vector<std::size_t> width;
    for (const std::string& cell : heading_) width.push_back(cell.size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    const auto print_row = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const int columns = static_cast<int>(width[i]);
            if (last_ == Last::words && i > 0 && i + 1 == width.size())
                std::fprintf(file, "%s%s", row[i].empty() ? "" : "  ", row[i].c_str());
            else
                std::fprintf(file, i == 0 ? "%-*s" : "  %*s", columns, row[i].c_str());
        }
        std::fputc('\n', file);
    };
    print_row(heading_);
    for (const auto& row : rows_) print_row(row);
}

}  // namespace weft::bench
