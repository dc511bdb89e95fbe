// Which kind of stores writes the pieces of large messages into a peer's ring; chosen by timing
// them.
//
// An ordinary store first fetches the line from the cache that used it last. Between cores that
// share a cache that is cheap (1 MiB arrives after 35 us; with streaming stores, which go to memory
// and fetch nothing, after 56). Between others it takes nearly all of the time (440 us against 50).
// Where the ranks run is unknown, and can change. So every fourth piece is timed, now and then with
// the other kind of stores. Streaming stores cost the reader more than the writer sees: they must
// be better by a factor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::shm {

enum class Stores : std::uint8_t { ordinary, streaming };

class StoreChoice {
  public:
    static constexpr std::uint32_t timed_every = 4;
    static constexpr std::uint32_t timed_first = 64;  // half of these with each kind
    static constexpr std::uint32_t tried_every = 64;  // of the timed ones: with the other kind
    static constexpr std::uint64_t streaming_factor = 3;

    struct Turn {
        Stores stores = Stores::ordinary;
        bool timed = false;
    };

    // For the next piece.
    Turn next() {
        const std::uint32_t turn = turn_++;
        if (turn % timed_every != 0) [[likely]]
            return {best_, false};
        const std::uint32_t timed = turn / timed_every;
        const bool other = timed < timed_first ? timed % 2 == 1 : timed % tried_every == 1;
        return {other ? other_than(best_) : best_, true};
    }

    // What a timed piece took. One measurement says little, as the thread may have been
    // interrupted: it can halve the known time of its kind of stores, or add a quarter.
    void took(Stores stores, std::uint64_t ticks, std::size_t bytes) {
        std::uint64_t& known = ticks_of(stores);
        const std::uint64_t now = std::max<std::uint64_t>(1, ticks * 1024 / bytes);
        if (known == 0) known = now;
        known = std::clamp(now, known / 2, known + known / 4 + 1);
        const std::uint64_t ordinary = ticks_of(Stores::ordinary);
        const std::uint64_t streaming = ticks_of(Stores::streaming);
        if (ordinary == 0 || streaming == 0) return;
        best_ = streaming_factor * streaming < ordinary ? Stores::streaming : Stores::ordinary;
    }

    Stores best() const { return best_; }

  private:
    static Stores other_than(Stores stores) {
        return stores == Stores::ordinary ? Stores::streaming : Stores::ordinary;
    }
    std::uint64_t& ticks_of(Stores stores) { return ticks_[static_cast<std::size_t>(stores)]; }

    std::uint32_t turn_ = 0;
    Stores best_ = Stores::ordinary;
    std::array<std::uint64_t, 2> ticks_{};  // of 1,024 bytes; 0: not known
};

}  // namespace weft::shm
