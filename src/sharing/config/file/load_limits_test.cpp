// tranche.limits: every accepted form, what an entry inherits from the general part, and every
// mistake.

#include <gtest/gtest.h>

#include <functional>

#include "config/file/load.h"
#include "config/file/refused_testing.h"

namespace tranche::config::load_limits_test {
namespace {

Result<Loaded> load_text(std::string text) {
  return load({.file_text = std::move(text), .file_name = "f.yaml"});
}

struct Accepted {
  const char* name;
  std::string limits;  // one line, under `tranche:`
  std::function<void(LimitTable&)> expected;
  std::vector<const char*> warnings = {};
};

void PrintTo(const Accepted& c, std::ostream* out) { *out << c.name; }

class LimitsLoad : public testing::TestWithParam<Accepted> {};

TEST_P(LimitsLoad, Gives) {
  const auto loaded = load_text("tranche:\n  limits: " + GetParam().limits + "\n");
  ASSERT_TRUE(loaded) << loaded.error().what;
  LimitTable expected{.line = 2};
  GetParam().expected(expected);
  EXPECT_EQ(loaded->config.tranche.limits, expected) << loaded->json;
  ASSERT_EQ(loaded->warnings.size(), GetParam().warnings.size());
  for (std::size_t i = 0; i < GetParam().warnings.size(); ++i) {
    EXPECT_EQ(loaded->warnings[i].message.find(GetParam().warnings[i]), 0U)
        << loaded->warnings[i].message;
  }
}

const auto kStrict = [](LimitTable& table) { table.general.enforcement = Enforcement::kStrict; };

auto general(const std::function<void(Limits&)>& change) {
  return [change](LimitTable& table) {
    table.general.enforcement = Enforcement::kStrict;
    change(table.general);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Forms, LimitsLoad,
    testing::Values(
        Accepted{"strict", "{enforcement: strict}", kStrict},
        Accepted{"off", "{enforcement: off}", [](LimitTable&) {}},
        Accepted{"off_of_helm", "{enforcement: false}", [](LimitTable&) {}},
        Accepted{"account", "{enforcement: account}",
                 [](LimitTable& out) { out.general.enforcement = Enforcement::kAccount; }},
        Accepted{"elastic", "{enforcement: elastic}",
                 [](LimitTable& out) { out.general.enforcement = Enforcement::kElastic; }},
        Accepted{"quantity", "{enforcement: strict, memory: 8Gi}",
                 general([](Limits& l) { l.memory = Bytes{8ULL << 30U}; })},
        Accepted{"bare_number", "{enforcement: strict, memory: 1048576}",
                 general([](Limits& l) { l.memory = Bytes{1U << 20U}; })},
        Accepted{"percent", "{enforcement: strict, memory: 25%, compute: 12.5%}",
                 general([](Limits& l) { l.memory = Percent{250}, l.compute = Percent{125}; })},
        Accepted{"all", "{enforcement: strict, memory: 100%, compute: 0.1%}",
                 general([](Limits& l) { l.memory = Percent{1000}, l.compute = Percent{1}; })},
        Accepted{"hard", "{enforcement: elastic, memory: 25%, memoryHard: none}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kElastic,
                                  .memory = Percent{250},
                                  .memory_hard = NoLimit{}};
                 }},
        Accepted{"hard_without_lending",
                 "{enforcement: strict, memoryHard: 8Gi}",
                 general([](Limits& l) { l.memory_hard = Bytes{8ULL << 30U}; }),
                 {"f.yaml:2: tranche.limits.memoryHard: memory is lent with enforcement elastic "}},
        Accepted{"none", "{enforcement: strict, memory: none, compute: none}",
                 general([](Limits& l) { l.memory = NoLimit{}, l.compute = NoLimit{}; })},
        Accepted{"null_is_not_set", "{enforcement: strict, memory: null, class: , resources: }",
                 kStrict},
        Accepted{"oversubscribe", "{enforcement: strict, oversubscribe: true}",
                 general([](Limits& l) { l.oversubscribe = true; })},
        Accepted{"priority", "{enforcement: strict, policy: priority, class: best-effort}",
                 general([](Limits& l) {
                   l.policy = SharePolicy::kPriority, l.priority = Priority::kBestEffort;
                 })},
        Accepted{"class_without_policy",
                 "{enforcement: strict, class: latency-critical}",
                 general([](Limits& l) { l.priority = Priority::kLatencyCritical; }),
                 {"f.yaml:2: tranche.limits.class: classes count with policy priority only"}},
        Accepted{"unregistered_event", "{enforcement: strict, unregistered: event}", kStrict},
        Accepted{"unregistered_evict", "{enforcement: strict, unregistered: evict}",
                 general([](Limits& l) { l.unregistered = Unregistered::kEvict; })},
        Accepted{"kernel_limits", "{enforcement: strict, kernelLimits: true}",
                 general([](Limits& l) { l.kernel_limits = true; })},
        Accepted{"kernel_limits_of_an_entry",
                 "{enforcement: strict, kernelLimits: true, resources: "
                 "[{name: gpu, kernelLimits: false}]}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kStrict, .kernel_limits = true};
                   out.resources = {{{"nvidia.com/gpu"}, {Enforcement::kStrict}, 2}};
                 }},
        Accepted{"runtime_hook",
                 "{enforcement: account, runtimeHook: true, resources: "
                 "[{name: gpu, runtimeHook: false}]}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kAccount, .runtime_hook = true};
                   out.resources = {{{"nvidia.com/gpu"}, {Enforcement::kAccount}, 2}};
                 }},
        Accepted{"runtime_hook_of_nothing",
                 "{enforcement: off, runtimeHook: true}",
                 [](LimitTable& out) { out.general = {.runtime_hook = true}; },
                 {"f.yaml:2: tranche.limits.runtimeHook: with enforcement off only containers with "
                  "claims"}},
        Accepted{"kernel_limits_of_nothing",
                 "{enforcement: account, kernelLimits: true}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kAccount, .kernel_limits = true};
                 },
                 {"f.yaml:2: tranche.limits.kernelLimits: nothing here limits memory"}},
        Accepted{
            "entry_alone", "{resources: [{name: gpu.shared, enforcement: strict, memory: 4Gi}]}",
            [](LimitTable& out) {
              out.resources = {{{"nvidia.com/gpu.shared"},
                                {.enforcement = Enforcement::kStrict, .memory = Bytes{4ULL << 30U}},
                                2}};
            }},
        Accepted{"entry_over_general",
                 "{enforcement: elastic, memory: 50%, policy: priority, resources: ["
                 "{name: nvidia.com/gpu, compute: 10%}, {name: big, enforcement: off}]}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kElastic,
                                  .memory = Percent{500},
                                  .policy = SharePolicy::kPriority};
                   out.resources = {{{"nvidia.com/gpu"}, out.general, 2},
                                    {{"nvidia.com/big"}, out.general, 2}};
                   out.resources[0].limits.compute = Percent{100};
                   out.resources[1].limits.enforcement = Enforcement::kOff;
                 }},
        Accepted{"class_of_an_entry_with_the_general_policy",
                 "{enforcement: strict, policy: priority, resources: "
                 "[{name: gpu, class: best-effort}]}",
                 [](LimitTable& out) {
                   out.general = {.enforcement = Enforcement::kStrict,
                                  .policy = SharePolicy::kPriority};
                   out.resources = {{{"nvidia.com/gpu"}, out.general, 2}};
                   out.resources[0].limits.priority = Priority::kBestEffort;
                 }},
        Accepted{
            "priority_classes",
            "{enforcement: strict, policy: priority, priorityClasses: "
            "[{name: serving, class: latency-critical}], resources: "
            "[{name: gpu}, {name: big, priorityClasses: [{name: batch, class: best-effort}]}]}",
            [](LimitTable& out) {
              out.general = {.enforcement = Enforcement::kStrict,
                             .policy = SharePolicy::kPriority,
                             .priority_classes = {{"serving", Priority::kLatencyCritical}}};
              out.resources = {{{"nvidia.com/gpu"}, out.general, 2},
                               {{"nvidia.com/big"}, out.general, 2}};
              out.resources[1].limits.priority_classes = {{"batch", Priority::kBestEffort}};
            }},
        Accepted{"priority_classes_without_priority",
                 "{enforcement: strict, priorityClasses: [{name: serving, class: normal}]}",
                 general([](Limits& l) { l.priority_classes = {{"serving", Priority::kNormal}}; }),
                 {"f.yaml:2: tranche.limits.priorityClasses: classes count with policy priority"}},
        Accepted{"off_with_limits",
                 "{enforcement: off, memory: 8Gi, compute: 25%}",
                 [](LimitTable& out) {
                   out.general = {.memory = Bytes{8ULL << 30U}, .compute = Percent{250}};
                 },
                 {"f.yaml:2: tranche.limits: enforcement is off, so memory, compute have no "
                  "effect; "}},
        Accepted{"entry_off_with_limits",
                 "{enforcement: strict, resources: [{name: gpu, enforcement: off, memory: 1Gi}]}",
                 [](LimitTable& out) {
                   out.general.enforcement = Enforcement::kStrict;
                   out.resources = {{{"nvidia.com/gpu"}, {.memory = Bytes{1ULL << 30U}}, 2}};
                 },
                 {"f.yaml:2: tranche.limits.resources[0]: enforcement is off, so memory has no "
                  "effect; "}},
        Accepted{"off_with_limits_that_an_entry_takes",
                 "{enforcement: off, memory: 8Gi, resources: [{name: gpu, enforcement: strict}]}",
                 [](LimitTable& out) {
                   out.general.memory = Bytes{8ULL << 30U};
                   out.resources = {
                       {{"nvidia.com/gpu"},
                        {.enforcement = Enforcement::kStrict, .memory = Bytes{8ULL << 30U}},
                        2}};
                 }},
        Accepted{"keys_without_case", "{Enforcement: strict}", kStrict},
        Accepted{"unknown_key",
                 "{enforcement: strict, memroy: 4Gi}",
                 kStrict,
                 {"f.yaml:2: tranche.limits.memroy: unknown key, ignored; did you mean 'memory'?"}},
        Accepted{"unknown_key_of_an_entry",
                 "{resources: [{name: gpu, enforcement: off, replicas: 4}]}",
                 [](LimitTable& out) { out.resources = {{{"nvidia.com/gpu"}, {}, 2}}; },
                 {"f.yaml:2: tranche.limits.resources[0].replicas: unknown key, ignored; "}}),
    [](const auto& test) { return std::string(test.param.name); });

class LimitsInvalid : public testing::TestWithParam<refused_testing::Refused> {};

TEST_P(LimitsInvalid, IsRefusedWithPlaceAndRemedy) {
  const auto loaded = load_text("tranche:\n  limits: " + GetParam().limits + "\n");
  ASSERT_FALSE(loaded) << loaded->json;
  EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
  std::string rest = loaded.error().what;
  for (const auto& error : GetParam().errors) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto line = rest.substr(0, end);
    EXPECT_EQ(line.find("f.yaml:2: tranche.limits" + error), 0U) << line;
    EXPECT_NE(line.find("; "), std::string::npos) << "no remedy in: " << line;
    rest.erase(0, end + 1);
  }
  EXPECT_EQ(rest, "");
}

INSTANTIATE_TEST_SUITE_P(Forms, LimitsInvalid, testing::ValuesIn(refused_testing::limits()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Limits, AnEntryIsFoundByTheAdvertisedName) {
  const auto loaded = load_text(
      "tranche: {limits: {enforcement: account, resources: [{name: gpu, enforcement: strict}]}}");
  ASSERT_TRUE(loaded) << loaded.error().what;
  const auto& table = loaded->config.tranche.limits;
  EXPECT_EQ(table.of({"nvidia.com/gpu"}).enforcement, Enforcement::kStrict);
  EXPECT_EQ(table.of({"nvidia.com/gpu.shared"}).enforcement, Enforcement::kAccount);
  EXPECT_EQ(table.find({"nvidia.com/gpu.shared"}), nullptr);
  EXPECT_TRUE(table.any_on());
}

TEST(Limits, APodHasTheClassOfItsPriorityClass) {
  const Limits limits{.policy = SharePolicy::kPriority,
                      .priority = Priority::kBestEffort,
                      .priority_classes = {{"serving", Priority::kLatencyCritical}}};
  EXPECT_TRUE(limits.maps_classes());
  EXPECT_EQ(limits.class_of("serving"), Priority::kLatencyCritical);
  EXPECT_EQ(limits.class_of("other"), Priority::kBestEffort);
  EXPECT_EQ(limits.class_of(""), Priority::kBestEffort);
}

TEST(Limits, APlainFileOfNvidiasHasNone) {
  const auto loaded =
      load_text("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.tranche.limits, LimitTable());
  EXPECT_FALSE(loaded->config.tranche.limits.any_on());
  EXPECT_EQ(loaded->json.find("limits"), std::string::npos);
}

TEST(Limits, AreReadBackAsTheyAreShown) {
  for (const auto* text : {"equal", "none", "25%", "12.5%", "0.1%", "100%", "8Gi", "512Mi", "3Ti",
                           "1025Ki", "2000001"}) {
    const auto limit = parse_memory_limit(text);
    ASSERT_TRUE(limit) << text;
    EXPECT_EQ(to_text(*limit), text);
  }
  EXPECT_EQ(to_text(parse_memory_limit("1.5Gi").value()), "1536Mi");
}

}  // namespace
}  // namespace tranche::config::load_limits_test
