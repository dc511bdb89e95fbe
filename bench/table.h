// A table of text: columns under a heading, the first aligned left, the others right; the last one left, too, if it
// has words.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace weft::bench {

// "%.*f", for cells; no "-0".
std::string fixed(double value, int digits);

class Table {
  public:
    enum class Last { number, words };
    explicit Table(std::vector<std::string> heading, Last last = Last::number)
        : heading_(std::move(heading)), last_(last) {}

    // One cell per column. An empty row prints as a blank line.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    void print(std::FILE* file) const;

  private:
    std::vector<std::string> heading_;
    Last last_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::bench
