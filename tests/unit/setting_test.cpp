// Settings from the environment: what is taken, and the sentence of what is refused.
#include "base/setting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "transport/common/connect_setting.h"

namespace weft::setting_test {

constexpr const char* name = "WEFT_SOMETHING";

class SettingTest : public ::testing::Test {
  protected:
    ~SettingTest() override { unsetenv(name); }

    // The sentence, when `text` is refused.
    template <class Read>
    static std::string refusal(const char* text, Read read) {
        setenv(name, text, 1);
        auto result = read();
        if (result.is_ok()) return "";
        EXPECT_EQ(result.status().code, WEFT_REFUSED_SETTING);
        return last_detail();
    }
    template <class Read>
    static std::int64_t value(const char* text, Read read) {
        setenv(name, text, 1);
        Setting result = read();
        return result.is_ok() ? result->value_or(-1) : -2;
    }
};

TEST_F(SettingTest, WhatIsNotSetIsNone) {
    EXPECT_EQ(*whole_number_setting(name, {1, 9}), std::nullopt);
    EXPECT_EQ(*bytes_setting(name, {1, 9}), std::nullopt);
    EXPECT_EQ(*seconds_setting(name), std::nullopt);
    EXPECT_FALSE(*switch_setting(name));
}

TEST_F(SettingTest, WholeNumbersWithinARange) {
    auto read = [] { return whole_number_setting(name, {1, 9}); };
    EXPECT_EQ(value("1", read), 1);
    EXPECT_EQ(value("9", read), 9);
    EXPECT_EQ(refusal("10", read), "WEFT_SOMETHING = '10'; expected a whole number 1..9");
    for (const char* text : {"", "0", "-1", "2.5", "2 ", "two", "99999999999999999999"}) {
        EXPECT_NE(refusal(text, read), "") << text;
    }
}

TEST_F(SettingTest, BytesWithinARange) {
    auto read = [] { return bytes_setting(name, {0, 1 << 20}); };
    EXPECT_EQ(value("0", read), 0);
    EXPECT_EQ(value("16k", read), 16 << 10);
    EXPECT_EQ(value("1M", read), 1 << 20);
    EXPECT_EQ(refusal("2M", read),
              "WEFT_SOMETHING = '2M'; expected a number of bytes 0..1048576, as 65536 or 64K");
    EXPECT_NE(refusal("", read), "");
}

TEST_F(SettingTest, SecondsAreNanosecondsInside) {
    auto read = [] { return seconds_setting(name); };
    EXPECT_EQ(value("10", read), 10'000'000'000);
    EXPECT_EQ(value("0.25", read), 250'000'000);
    EXPECT_EQ(value("1000000", read), 1'000'000'000'000'000);
    EXPECT_EQ(
        refusal("soon", read),
        "WEFT_SOMETHING = 'soon'; expected seconds, more than 0 and at most 1000000, as 10 or "
        "0.5");
    for (const char* text : {"", "0", "-1", "1s", "1000001", "inf", "nan", "0.5.1"}) {
        EXPECT_NE(refusal(text, read), "") << text;
    }
}

TEST_F(SettingTest, SwitchesAreOffOrOn) {
    auto read = [] { return switch_setting(name); };
    EXPECT_EQ(refusal("0", read), "");
    EXPECT_FALSE(*read());
    EXPECT_EQ(refusal("1", read), "");
    EXPECT_TRUE(*read());
    EXPECT_EQ(refusal("yes", read), "WEFT_SOMETHING = 'yes'; expected 0 or 1");
}

TEST(ParseBytes, PowersOf1024) {
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("65536"), 65536);
    EXPECT_EQ(parse_bytes("64K"), 64 << 10);
    EXPECT_EQ(parse_bytes("3m"), 3 << 20);
    EXPECT_EQ(parse_bytes("2G"), std::int64_t{2} << 30);
    for (const char* text : {"", "K", "-1", "1.5K", "64KB", "64 K", "9999999999G", "0x10"}) {
        EXPECT_FALSE(parse_bytes(text)) << text;
    }
}

TEST(ParseSizes, ArePositiveAndSeparatedByX) {
    EXPECT_EQ(parse_sizes("4x4"), (std::vector<Rank>{4, 4}));
    EXPECT_EQ(parse_sizes("2x13x1"), (std::vector<Rank>{2, 13, 1}));
    EXPECT_EQ(parse_sizes("7"), std::vector<Rank>{7});
    EXPECT_EQ(parse_sizes("46341x46340"), (std::vector<Rank>{46341, 46340}));
    for (const char* text : {"", "x", "4x", "x4", "4xx4", "4X4", "0x4", "-1x4", "4 x4",
                             "46341x46341", "2147483648", "65536x65536x65536x65536"}) {
        EXPECT_FALSE(parse_sizes(text)) << text;
    }
}

TEST(ConnectSetting, IsNeedOrAhead) {
    unsetenv("WEFT_CONNECT");
    EXPECT_FALSE(*connects_ahead_from_environment());
    for (const std::string text : {"need", "ahead", "soon", ""}) {
        setenv("WEFT_CONNECT", text.c_str(), 1);
        const Result<bool> ahead = connects_ahead_from_environment();
        if (text == "need" || text == "ahead") {
            EXPECT_EQ(*ahead, text == "ahead");
            continue;
        }
        EXPECT_EQ(ahead.status().code, WEFT_REFUSED_SETTING);
        EXPECT_EQ(std::string(last_detail()),
                  "WEFT_CONNECT = '" + text + "'; expected need or ahead");
    }
    unsetenv("WEFT_CONNECT");
}

}  // namespace weft::setting_test
