// Which algorithm a call uses if none is forced: lines of text, described in select/shipped.table.
//
// Thread safety: immutable, share freely.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/engine_kind.h"
#include "select/choice.h"

namespace weft {

// The text of src/select/shipped.table.
extern const char* const shipped_table;

class AlgorithmTable {
  public:
    // Adds the lines of a text. A refusal's sentence names `source` and the line.
    Status add(std::string_view text, const std::string& source);

    // The choice of the last line that applies and whose algorithm's needs the call meets; null:
    // there is none. `engine`: the one with which all ranks joined; none: they differ.
    const Choice* choose(const algorithm::GlobalArgs& agreed,
                         std::optional<EngineKind> engine = std::nullopt) const;

  private:
    // Both ends are included.
    struct Range {
        std::int64_t from = 0;
        std::int64_t to = std::numeric_limits<std::int64_t>::max();

        bool has(std::int64_t value) const { return from <= value && value <= to; }
    };
    struct TableLine {
        Collective collective;
        Range ranks = {};
        Range nodes = {};
        Range bytes = {};
        bool has_bytes = false;
        bool combines = false;
        bool reproducible = false;
        std::optional<EngineKind> engine = {};
        Choice choice = {};
    };

    static bool read_condition(std::string_view word, TableLine& line);
    static bool read_range(std::string_view key, std::string_view value, TableLine& line);
    Status add_line(std::string_view text, const std::string& where);

    std::vector<TableLine> lines_;
};

}  // namespace weft
