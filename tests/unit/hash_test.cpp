// The published values of FNV-1a with 64 bits.
#include "base/hash.h"

#include "support/test.h"

namespace weft::hash_test {

TEST(Hash, IsThePublishedOne) {
    EXPECT_EQ(Hash().value(), 0xcbf29ce484222325u);
    EXPECT_EQ(Hash().add("a").value(), 0xaf63dc4c8601ec8cu);
    EXPECT_EQ(Hash().add("foobar").value(), 0x85944171f73967e8u);
}

TEST(Hash, OfWordsGoesOn) {
    EXPECT_EQ(Hash().add(std::uint64_t{'a'}).value(), Hash().add("a").value());
    EXPECT_EQ(Hash(Hash().add("foo").value()).add("bar").value(), Hash().add("foobar").value());
    EXPECT_NE(Hash().add(std::uint64_t{1}).add(std::uint64_t{2}).value(),
              Hash().add(std::uint64_t{2}).add(std::uint64_t{1}).value());
}

}  // namespace weft::hash_test
