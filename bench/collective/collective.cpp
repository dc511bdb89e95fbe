// Shared by the collectives of the bench: patterns and verification.
#include "bench/collective/collective.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::bench {

Result<const Collective*> find_collective(const std::string& name) {
    std::string known;
    for (const auto calls : {calls_with_nothing_to_do(), calls_of_other_types()}) {
        for (const Collective* call : calls)
            if (name == call->name) return call;
    }
    for (const Collective* collective : collectives()) {
        if (name == collective->name) return collective;
        known += known.empty() ? collective->name : std::string(", ") + collective->name;
    }
    return failure(WEFT_REFUSED_ARGUMENT, "collective = \"%s\"; expected one of %s", name.c_str(),
                   known.c_str());
}

Case make_case(const Job& job, const Collective& collective, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    const std::size_t send_bytes = collective.send_bytes(size, job.ranks);
    const std::size_t recv_bytes = collective.recv_bytes(size, job.ranks);
    return {job,
            size,
            PageBuffer(send_bytes),
            PageBuffer(recv_bytes),
            PageBuffer(recv_bytes),
            CallForm::nonblocking};
}

void fill_pattern(std::span<std::uint8_t> bytes, int rank, std::uint64_t seed) {
    // A prime period, so that neither pages nor power-of-two blocks are alike.
    constexpr std::size_t period = 251;
    const auto first = static_cast<std::size_t>(rank) * 31 + static_cast<std::size_t>(seed) * 7;
    const std::size_t head = std::min(period, bytes.size());
    for (std::size_t i = 0; i < head; ++i) {
        bytes[i] = static_cast<std::uint8_t>((first + i) % period);
    }
    // The rest repeats the head, in copies of double size: far cheaper than the operation itself.
    for (std::size_t done = head; done < bytes.size();) {
        const std::size_t next = std::min(done, bytes.size() - done);
        std::memcpy(bytes.data() + done, bytes.data(), next);
        done += next;
    }
}

void fill_blank(PageBuffer& buffer) { std::memset(buffer.data(), 0xff, buffer.size()); }

void verify(const Collective& collective, Case& c) {
    if (std::memcmp(c.recv.data(), c.expected.data(), c.expected.size()) == 0) return;
    const auto got = c.recv.as<const std::uint8_t>();
    const auto want = c.expected.as<const std::uint8_t>();
    const auto [at, other] = std::mismatch(got.begin(), got.end(), want.begin());
    fail("rank %d: %s of %zu bytes: wrong result: byte %td is %d; expected %d", c.job.rank,
         collective.name, c.bytes, at - got.begin(), *at, *other);
}

const std::size_t* equal_counts(const Job& job, std::size_t count) {
    static std::vector<std::size_t> counts;
    counts.assign(static_cast<std::size_t>(job.ranks), count);
    return counts.data();
}

}  // namespace weft::bench
