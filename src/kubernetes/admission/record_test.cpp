#include "admission/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::record_test {
namespace {

using testing::IsEmpty;

TEST(Record, IsReadBack) {
  const Records records = {{"a", {.gpu = "0.5", .claim = "tranche-gpu-a"}},
                           {"b", {.gpu = "0.25", .resource = "nvidia.com/gpu.shared"}}};
  EXPECT_EQ(to_text(records), R"({"a":{"gpu":"0.5","claim":"tranche-gpu-a"},)"
                              R"("b":{"gpu":"0.25","resource":"nvidia.com/gpu.shared"}})");
  EXPECT_EQ(parse_records(to_text(records)), records);
}

TEST(Record, IsNotTrusted) {
  struct Case {
    const char* name;
    std::string text;
    bool is_record;
  };
  const Case cases[] = {
      {"no JSON", "{", false},
      {"no object", "[]", false},
      {"too long", "{\"a\":\"" + std::string(kLongestRecords, 'x') + "\"}", false},
      {"no entry", "{}", true},
      {"a text", R"({"a":"b"})", true},
      {"nothing in its place", R"({"a":{"gpu":"0.5"}})", true},
      {"two things in its place", R"({"a":{"gpu":"0.5","claim":"c","resource":"nvidia.com/gpu"}})",
       true},
      {"no number", R"({"a":{"gpu":"x","claim":"c"}})", true},
      {"a resource that is not NVIDIA's", R"({"a":{"gpu":"0.5","resource":"cpu"}})", true},
      {"a name that is too long", R"({"a":{"gpu":"0.5","claim":")" + std::string(64, 'c') + "\"}}",
       true},
  };
  for (const auto& [name, text, is_record] : cases) {
    SCOPED_TRACE(name);
    const auto records = parse_records(text);
    EXPECT_EQ(records.has_value(), is_record);
    EXPECT_THAT(records.value_or(Records()), IsEmpty());
  }
}

}  // namespace
}  // namespace tranche::admission::record_test
