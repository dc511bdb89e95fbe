// Prints, for each loop of src/reduce that has versions, the version, the loop and a hash of its results. It is compiled
// with those loops alone, also for other processors. On x86 only the portable version.
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "reduce/half_kernels.h"
#include "reduce/int8_blocks.h"
#include "reduce/kernels.h"

namespace weft {

LoopVersion best_loops() {
#if defined(__aarch64__)
    return LoopVersion::neon;
#else
    return LoopVersion::portable;
#endif
}

namespace {

constexpr int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
constexpr std::size_t count = 200'003;

std::uint64_t state = 1;
std::uint32_t random_bits() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state >> 32);
}

// All bits there are, NaNs and subnormal numbers among them.
template <class T>
std::vector<T> numbers() {
    std::vector<T> all(count);
    for (T& number : all) {
        std::uint32_t words[sizeof(T) / 4 + 1];
        for (std::uint32_t& word : words) word = random_bits();
        std::memcpy(&number, words, sizeof number);
    }
    return all;
}

template <class T>
void print(LoopVersion version, const std::string& loop, const std::vector<T>& results) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(results.data());
    for (std::size_t i = 0; i < results.size() * sizeof(T); ++i)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    std::printf("%s %s %016llx\n", loop_version_names[static_cast<unsigned>(version)], loop.c_str(),
                static_cast<unsigned long long>(hash));
}

struct Inputs {
    std::vector<std::uint16_t> left = numbers<std::uint16_t>();
    std::vector<std::uint16_t> right = numbers<std::uint16_t>();
    std::vector<float> floats = numbers<float>();
    std::vector<float> usual;  // for blocks that are numbers
    std::vector<std::uint64_t> complex_left = numbers<std::uint64_t>();
    std::vector<std::uint64_t> complex_right = numbers<std::uint64_t>();

    Inputs() {
        for (std::size_t i = 0; i < count; ++i)
            usual.push_back(std::ldexp(static_cast<float>(random_bits()) * 0x1p-31f - 1,
                                       static_cast<int>(i / 100 % 250) - 125));
    }
};

void print_halves(const Inputs& in, LoopVersion version, Rounding rounding, int direction) {
    for (const weft_type type : {WEFT_FLOAT16, WEFT_BFLOAT16}) {
        const std::string what =
            "type" + std::to_string(type) + ",direction" + std::to_string(direction) + ",";
        std::vector<std::uint16_t> halves(count);
        for (int op = 1; op <= 4; ++op) {
            half_kernel_of(op, type, rounding, version)(in.left.data(), in.right.data(),
                                                        halves.data(), count);
            print(version, what + "op" + std::to_string(op), halves);
        }
        for (const Scale scale : {Scale::multiply, Scale::divide}) {
            half_scaling_of(scale, type, rounding, version)(in.left.data(), halves.data(), count,
                                                            3.0);
            print(version, what + (scale == Scale::multiply ? "multiplied" : "divided"), halves);
        }
        std::vector<float> wide(count);
        widening_of(type, rounding, version)(in.left.data(), wide.data(), count, 0.7f);
        print(version, what + "widened", wide);
        narrowing_of(type, rounding, version)(in.floats.data(), halves.data(), count, 1);
        print(version, what + "narrowed", halves);
    }
    std::vector<std::uint64_t> products(count);
    versioned_kernel_of(2, WEFT_COMPLEX64, rounding, version)(
        in.complex_left.data(), in.complex_right.data(), products.data(), count);
    print(version, "complex,direction" + std::to_string(direction), products);
}

void print_blocks(const Inputs& in, LoopVersion version) {
    const Int8Loops& loops = int8_loops_of(version);
    constexpr std::size_t blocks = (count + Int8Block::elements - 1) / Int8Block::elements;
    for (const std::vector<float>* floats : {&in.floats, &in.usual}) {
        const std::string what = floats == &in.usual ? "usual," : "any,";
        std::vector<Int8Block> encoded(blocks);
        loops.encode(floats->data(), encoded.data(), count);
        print(version, what + "encoded", encoded);
        std::vector<Int8Block> sums(blocks);
        loops.sum(encoded.data(), encoded.data() + 1, sums.data(), blocks - 1);
        print(version, what + "sums", sums);
        std::vector<float> decoded(count + 1);
        decoded.back() = loops.decode(sums.data(), decoded.data(), count);
        print(version, what + "decoded", decoded);
    }
}

}  // namespace
}  // namespace weft

int main() {
    using namespace weft;
    const Inputs in;
    for (unsigned v = 0; v <= static_cast<unsigned>(best_loops()); ++v) {
        const auto version = static_cast<LoopVersion>(v);
        for (int direction = 0; direction < 4; ++direction) {
            std::fesetround(directions[direction]);
            const Rounding rounding = rounding_now();
            std::fesetround(FE_TONEAREST);
            print_halves(in, version, rounding, direction);
        }
        print_blocks(in, version);
    }
    return 0;
}
