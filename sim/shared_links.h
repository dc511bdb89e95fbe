// Links that flows share fairly: rates are max-min fair, which means that no flow can have more
// without another one that has as little or less getting less. Rates change when a flow starts or
// ends.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::simulate {

class SharedLinks {
  public:
    // By link: how long it takes for a byte, in ps. 0: no time, it never holds a flow up.
    explicit SharedLinks(const std::vector<std::int64_t>& byte_ps);

    // A flow of `bytes` over these links, which `settle` will know by `name`.
    void start(std::int64_t now_ps, std::vector<std::uint32_t> links, std::int64_t bytes,
               std::uint32_t name);

    // The flows that have ended, up to now; in the order in which they were started.
    std::vector<std::uint32_t> ended(std::int64_t now_ps);

    // When the next flow ends, if nothing starts before; nothing: there is none.
    std::optional<std::int64_t> next_end_ps();

  private:
    struct Flow {
        std::vector<std::uint32_t> links;
        double left;      // bytes
        double rate = 0;  // bytes per ps
        std::uint32_t name;
    };

    void advance(std::int64_t now_ps);
    void share();

    std::vector<double> capacity_;  // bytes per ps
    std::vector<Flow> flows_;
    std::int64_t now_ps_ = 0;
    bool is_shared_ = true;  // rates are those of these flows

    // For share(): by link.
    std::vector<double> left_;
    std::vector<std::uint32_t> unshared_;  // flows without a rate
};

}  // namespace weft::simulate
