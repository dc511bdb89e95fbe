// The measurements so far. Kept in a file beside the table, so that an interrupted run can be resumed.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/status.h"

namespace weft::bench {

// An algorithm, as WEFT_ALGORITHM takes it, and the median duration.
struct Timing {
    std::string algorithm;
    double us = 0;
    // By how much the medians of every other repetition differ from those between them, as a share.
    double differs = 0;
    // Algorithms that have the same schedules here, and were not measured themselves.
    std::vector<std::string> alike = {};

    // "binary, knomial:ports=3"
    std::string others() const;
    bool is_of(const std::string& name) const;
};
using Timings = std::vector<Timing>;

class Record {
  public:
    // If `circumstances`, one line, differ from those of the file, the file is begun anew.
    static Result<Record> open(const std::string& path, const std::string& circumstances);

    bool has(const std::string& collective, std::int64_t bytes) const {
        return known_.contains({collective, bytes});
    }
    const Timings& of(const std::string& collective, std::int64_t bytes) const {
        return known_.at({collective, bytes});
    }
    std::size_t size() const { return known_.size(); }
    // Each of the algorithms that are alike has the time of all.
    Status add(const std::string& collective, std::int64_t bytes, const Timings& timings);

  private:
    std::string path_;
    std::map<std::pair<std::string, std::int64_t>, Timings> known_;
};

// Replaces a file atomically: whatever happens, it has its new content or its old one.
Status replace_file(const std::string& path, const std::string& content);

// Where a table's lines apply.
struct Place {
    int ranks = 1;
    int nodes = 1;
    std::string engine = "";    // "": all
    bool reproducible = false;  // the lines of reductions

    std::string conditions(const algorithm::CollectiveSpec& spec) const;
    // For the record: "bcast", or "bcast/thread" with that engine.
    std::string name_of(const algorithm::CollectiveSpec& spec) const;
};

// The lines of one collective. `has_bytes`: the choice may depend on them.
std::string table_lines(const Record& record, const algorithm::CollectiveSpec& spec,
                        const std::vector<std::int64_t>& sizes, bool has_bytes, const Place& place);

}  // namespace weft::bench
