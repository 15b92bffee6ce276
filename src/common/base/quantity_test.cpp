#include "base/quantity.h"

#include <gtest/gtest.h>

namespace tranche::quantity_test {
namespace {

struct QuantityCase {
  const char* text;
  std::int64_t value;
};

TEST(Quantity, ReadsWhatKubernetesReads) {
  const QuantityCase cases[] = {
      {"0", 0},
      {"1", 1},
      {"-5", -5},
      {"+5", 5},
      {"315Mi", 330301440},
      {"0.5", 1},
      {"1500m", 2},
      {"1.5Gi", 1610612736},
      {"2k", 2000},
      {"12e6", 12000000},
      {"1E3", 1000},
      {"1e-3", 1},
      {"100n", 1},
      {".5", 1},
      {"5.", 5},
      {"0.0001Ki", 1},
      {"9223372036854775807", INT64_MAX},
  };
  for (const auto& c : cases) {
    const auto value = parse_quantity(c.text);
    ASSERT_TRUE(value) << c.text;
    EXPECT_EQ(*value, c.value) << c.text;
  }
}

TEST(Quantity, RefusesTheRest) {
  for (const auto* text : {"", ".", "-", "x", "1x", "1 Gi", "1.2.3", "1e", "1e999", "8Ei",
                           "9223372036854775808", "99999999999999999999999", "1GiB", "--1"}) {
    const auto value = parse_quantity(text);
    EXPECT_FALSE(value) << text;
    if (!value) {
      EXPECT_FALSE(value.error().hint.empty()) << text;
    }
  }
  EXPECT_FALSE(parse_bytes("-1"));
  EXPECT_EQ(parse_bytes("1Ki").value().value, 1024U);
}

TEST(Quantity, ReadsThousandths) {
  struct Row {
    const char* text;
    std::int64_t up;
    std::int64_t down;
  };
  const Row rows[] = {{"0", 0, 0},
                      {"4", 4000, 4000},
                      {"2.5", 2500, 2500},
                      {"500m", 500, 500},
                      {"1u", 1, 0},
                      {"2.5005", 2501, 2500},
                      {"1e-1", 100, 100},
                      {"1Ki", 1024000, 1024000},
                      {"-0.5005", -501, -500},
                      {"0.3333", 334, 333}};
  for (const auto& row : rows) {
    EXPECT_EQ(parse_milli_quantity(row.text, Rounding::kUp), row.up) << row.text;
    EXPECT_EQ(parse_milli_quantity(row.text, Rounding::kDown), row.down) << row.text;
  }
  for (const auto* text : {"", "many", "1Kb", "9223372036854775807"}) {
    EXPECT_FALSE(parse_milli_quantity(text, Rounding::kUp)) << text;
  }
}

TEST(Quantity, WritesTheLargestUnitThatDivides) {
  struct Row {
    std::uint64_t value;
    const char* text;
  };
  const Row rows[] = {{0, "0"},
                      {100, "100"},
                      {1024, "1Ki"},
                      {1536, "1536"},
                      {3U << 20U, "3Mi"},
                      {46068ULL << 20U, "46068Mi"},
                      {24ULL << 30U, "24Gi"},
                      {1ULL << 50U, "1024Ti"}};
  for (const auto& row : rows) {
    EXPECT_EQ(to_quantity(row.value), row.text);
    EXPECT_EQ(parse_bytes(row.text).value().value, row.value) << row.text;
  }
}

}  // namespace
}  // namespace tranche::quantity_test
