#include "admission/quota/limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::quota::limit_test {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

Result<std::optional<Limit>> read(const std::string& text) {
  const auto view = json::parse(text);
  EXPECT_TRUE(view) << text;
  return read_limit(view.value());
}

TEST(Limit, IsAQuotasAmountOfWholeGpus) {
  struct Case {
    const char* name;
    const char* json;
    std::optional<Limit> limit;
  };
  const Case cases[] = {
      {"whole",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"4","cpu":"1"}},
           "status":{"used":{"requests.nvidia.com/gpu":"2"}}})",
       Limit{.quota = "q", .hard = 4000 * kMilli, .used = 2000 * kMilli}},
      {"a part, and no status yet",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"2.5"}}})",
       Limit{.quota = "q", .hard = 2500 * kMilli, .used = 0}},
      {"nothing at all",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"0"}}})",
       Limit{.quota = "q", .hard = 0, .used = 0}},
      {"rounded against the namespace",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"2.0009"}},
           "status":{"used":{"requests.nvidia.com/gpu":"1.0001"}}})",
       Limit{.quota = "q", .hard = 2000 * kMilli, .used = 1001 * kMilli}},
      {"no limit to speak of",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"1e30"}},
           "status":{"used":{"requests.nvidia.com/gpu":"1"}}})",
       Limit{.quota = "q", .hard = (std::int64_t{1} << 40U) * kMilli, .used = 1000 * kMilli}},
      {"100Ei, as the API server stores it",
       R"({"metadata":{"name":"q"},
           "spec":{"hard":{"requests.nvidia.com/gpu":"9223372036854775807"}}})",
       Limit{.quota = "q", .hard = (std::int64_t{1} << 40U) * kMilli, .used = 0}},
      {"too large in thousandths",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"5Ei"}}})",
       Limit{.quota = "q", .hard = (std::int64_t{1} << 40U) * kMilli, .used = 0}},
      {"another resource", R"({"spec":{"hard":{"requests.cpu":"4"}}})", std::nullopt},
      {"for some Pods",
       R"({"spec":{"hard":{"requests.nvidia.com/gpu":"4"},"scopes":["BestEffort"]}})",
       std::nullopt},
      {"for a priority",
       R"({"spec":{"hard":{"requests.nvidia.com/gpu":"4"},
           "scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass"}]}}})",
       std::nullopt},
      {"our own",
       R"({"metadata":{"labels":{"tranche.dev/gpu-shares":"true"}},
           "spec":{"hard":{"requests.nvidia.com/gpu":"4"}}})",
       std::nullopt},
  };
  for (const auto& [name, json, limit] : cases) {
    SCOPED_TRACE(name);
    const auto found = read(json);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, limit);
  }
}

// A failure is not "no limit".
TEST(Limit, AnUnreadableLimitIsAnError) {
  for (const auto* hard :
       {R"("many")", R"("-1")", R"("-100Ei")", R"("4x")", R"("1e")", "4", "null", "{}"}) {
    const auto text = std::string(R"({"spec":{"hard":{"requests.nvidia.com/gpu":)") + hard + "}}}";
    EXPECT_FALSE(read(text)) << hard;
  }
}

}  // namespace
}  // namespace tranche::admission::quota::limit_test
