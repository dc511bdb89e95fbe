#include "weft/experiment/table.h"

#include <algorithm>
#include <cstdio>

namespace weft::simulate {
namespace {

constexpr std::size_t listed_max = 12;  // in a text

std::string quoted(const std::string& text) {
    std::string quote = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quote += '\\';
        quote += c;
    }
    return quote + '"';
}

std::string row_text(const std::vector<std::string>& cells,
                     const std::vector<std::size_t>& widths) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        line += cells[i];
        if (i + 1 < cells.size()) line += std::string(widths[i] - cells[i].size() + 2, ' ');
    }
    return line + "\n";
}

std::string table_text(const ExperimentTable& table) {
    std::vector<std::vector<std::string>> lines{table.columns};
    for (const std::vector<Cell>& row : table.rows) {
        std::vector<std::string>& line = lines.emplace_back();
        for (const Cell& cell : row) line.push_back(cell.text());
    }
    std::vector<std::size_t> widths(table.columns.size());
    for (const std::vector<std::string>& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i)
            widths[i] = std::max(widths[i], line[i].size());
    }
    std::string text = table.name + "\n";
    for (const std::vector<std::string>& line : lines) text += row_text(line, widths);
    return text;
}

std::string table_json(const ExperimentTable& table) {
    std::string text = "[";
    for (const std::vector<Cell>& row : table.rows) {
        text += (text.size() > 1 ? ",\n  {" : "\n  {");
        for (std::size_t i = 0; i < row.size(); ++i)
            text.append(i > 0 ? ", " : "")
                .append(quoted(table.columns[i]))
                .append(": " + row[i].json());
        text += "}";
    }
    return text + "]";
}

}  // namespace

Cell::Cell(const std::vector<std::int64_t>& numbers) {
    json_ = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::string number = std::to_string(numbers[i]);
        json_ += (i > 0 ? ", " : "") + number;
        if (i < listed_max) text_ += (i > 0 ? "," : "") + number;
    }
    json_ += "]";
    if (numbers.size() > listed_max) text_ += ",...";
}

Cell Cell::nothing() {
    Cell cell;
    cell.text_ = "-";
    cell.json_ = "null";
    return cell;
}

Cell Cell::decimal(double number, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
    Cell cell;
    cell.text_ = text;
    cell.json_ = text;
    return cell;
}

std::string to_text(const ExperimentResult& result) {
    std::string text = result.name + "\n";
    for (const std::string& assumption : result.assumptions) text += assumption + "\n";
    for (const ExperimentTable& table : result.tables) text += "\n" + table_text(table);
    return text;
}

std::string to_json(const ExperimentResult& result) {
    std::string text = "{\"experiment\": " + quoted(result.name) + ",\n \"assumptions\": [";
    for (std::size_t i = 0; i < result.assumptions.size(); ++i)
        text += (i > 0 ? ",\n  " : "\n  ") + quoted(result.assumptions[i]);
    text += "]";
    for (const ExperimentTable& table : result.tables)
        text.append(",\n " + quoted(table.name) + ": ").append(table_json(table));
    return text + "}\n";
}

}  // namespace weft::simulate
