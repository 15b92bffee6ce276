#include "load/duration.h"

#include <gtest/gtest.h>

namespace tranche::load::duration_test {
namespace {

TEST(Duration, IsReadWithItsUnit) {
  struct Case {
    const char* text;
    std::int64_t ns;
  };
  for (const Case& one : {Case{"800ns", 800}, Case{"200us", 200'000}, Case{"1.5ms", 1'500'000},
                          Case{"10s", 10'000'000'000}, Case{"5m", 300'000'000'000},
                          Case{"2h", 7'200'000'000'000}, Case{"0s", 0}}) {
    const auto read = parse_duration(one.text);
    ASSERT_TRUE(read) << one.text;
    EXPECT_EQ(read->count(), one.ns) << one.text;
  }
}

TEST(Duration, AnythingElseIsRefusedWithTheFormThatIsWanted) {
  for (const char* text : {"", "5", "ms", "-1s", "1 s", "1day", "1e3ms", "99999999h", "nans"}) {
    const auto read = parse_duration(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_NE(read.error().hint.find("ms"), std::string::npos);
  }
}

TEST(Duration, IsShownWithThreeDigits) {
  struct Case {
    std::int64_t ns;
    const char* text;
  };
  for (const Case& one :
       {Case{0, "0 ns"}, Case{812, "812 ns"}, Case{2'013, "2.01 us"}, Case{20'000, "20.0 us"},
        Case{999'900, "1.00 ms"}, Case{250'400'000, "250 ms"}, Case{1'204'000'000, "1.20 s"}}) {
    EXPECT_EQ(human(nanoseconds(one.ns)), one.text);
  }
}

}  // namespace
}  // namespace tranche::load::duration_test
