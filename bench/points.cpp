#include "bench/points.h"

#include "bench/sizes.h"

namespace weft::bench {

std::string Point::name() const {
    const std::string text = collective->name;
    return collective->has_size ? text + " " + size_text(bytes) : text;
}

Result<std::vector<Point>> find_points(const std::vector<std::string>& collectives,
                                       const std::string& sizes) {
    const Result<std::vector<std::int64_t>> parsed = parse_sizes(sizes);
    if (!parsed.is_ok()) return parsed.status();
    std::vector<Point> points;
    for (const std::string& name : collectives) {
        const Result<const Collective*> collective = find_collective(name);
        if (!collective.is_ok()) return collective.status();
        if (!(*collective)->has_size) {
            points.push_back({*collective, 0});
            continue;
        }
        for (const std::int64_t bytes : *parsed) points.push_back({*collective, bytes});
    }
    return points;
}

}  // namespace weft::bench
