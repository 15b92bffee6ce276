#include "base/process_stat.h"

#include <gtest/gtest.h>

namespace tranche::process_stat_test {
namespace {

constexpr std::string_view kFields = " S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 8123 ";

TEST(ProcessStat, IsReadWhateverTheNameIs) {
  for (const char* name : {"python3", "", "a) b (c", ")", ") S 1 2 3", "a\nb", "(", "x)"}) {
    const auto stat =
        parse_process_stat("42 (" + std::string(name) + ")" + std::string(kFields) + "1000 1\n");
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->name, name);
    EXPECT_EQ(stat->parent, 1) << name;
    EXPECT_EQ(stat->start_time, 8123U) << name;
  }
}

// A part of the start time would be the start time of another process.
TEST(ProcessStat, ATornOneHasNoStartTime) {
  const auto whole = "42 (python3)" + std::string(kFields);
  ASSERT_TRUE(parse_process_stat(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_process_stat(whole.substr(0, length))) << length;
  }
}

TEST(ProcessStat, AnotherTextIsNone) {
  const std::string fields(kFields);
  for (const std::string& text :
       {"42 python3" + fields, "42 )x(" + fields,
        std::string("42 (x) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 81x3 1000\n"),
        std::string("42 (x) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 -1 1000\n"),
        std::string("42 (x) S 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 99999999999999999999 "
                    "1000\n")}) {
    EXPECT_FALSE(parse_process_stat(text)) << text;
  }
}

}  // namespace
}  // namespace tranche::process_stat_test
