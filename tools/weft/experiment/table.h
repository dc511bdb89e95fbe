// What an experiment found, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::simulate {

// Of a table: a word, a number, or a list of numbers.
class Cell {
  public:
    Cell(const char* word) : Cell(std::string(word)) {}
    Cell(const std::string& word) : text_(word), json_('"' + word + '"') {}
    Cell(std::int64_t number) : text_(std::to_string(number)), json_(text_) {}
    Cell(std::int32_t number) : Cell(std::int64_t{number}) {}
    Cell(const std::vector<std::int64_t>& numbers);

    // "-"; null.
    static Cell nothing();
    static Cell decimal(double number, int decimals);
    static Cell microseconds(std::int64_t time_ps) {
        return decimal(static_cast<double>(time_ps) / 1e6, 2);
    }
    static Cell percent(double share) { return decimal(100 * share, 1); }
    static Cell percent(std::int64_t part, std::int64_t whole) {
        return percent(static_cast<double>(part) / static_cast<double>(whole));
    }

    const std::string& text() const { return text_; }
    const std::string& json() const { return json_; }

  private:
    Cell() = default;

    std::string text_;
    std::string json_;
};

struct ExperimentTable {
    std::string name;
    std::vector<std::string> columns = {};
    std::vector<std::vector<Cell>> rows = {};
};

struct ExperimentResult {
    std::string name;
    std::vector<std::string> assumptions = {};  // parameters, and where they come from
    std::vector<ExperimentTable> tables = {};
};

std::string to_text(const ExperimentResult& result);
// Of each table a list of objects, whose members are the columns.
std::string to_json(const ExperimentResult& result);

}  // namespace weft::simulate
