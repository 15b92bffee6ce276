// The published configurations of tests/data/scenarios, as written, through load().

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/yaml.h"
#include "config/file/load.h"

namespace tranche::config::load_scenarios_test {
namespace {

struct Case {
  const char* name;
  const char* file;
  const char* key;
  std::vector<std::pair<const char*, int>> replicas;  // by resource
  bool mps = false;
  bool rename = false;
  bool fail_above_one = false;
  std::size_t warnings = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string config_map_key(const std::string& file, std::string_view key) {
  const auto path = std::filesystem::current_path() / "tests/data/scenarios" / file;
  const auto text = FsRoot().read(path);
  EXPECT_TRUE(text) << text.error().what << " (run from the repository root)";
  const auto document = yaml::parse(text.value_or(""), file);
  const auto* data = document ? document->root.find("data") : nullptr;
  const auto* value = data == nullptr ? nullptr : data->find(key);
  EXPECT_NE(value, nullptr) << file << " has no key " << key;
  return value == nullptr ? "" : value->scalar;
}

class Scenario : public testing::TestWithParam<Case> {};

TEST_P(Scenario, GivesItsSharing) {
  const auto& param = GetParam();
  const auto loaded =
      load({.file_text = config_map_key(param.file, param.key), .file_name = param.key});
  ASSERT_TRUE(loaded) << loaded.error().what;
  const auto& sharing = loaded->config.sharing;
  const auto* list = sharing.active();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list == &*sharing.mps, param.mps);
  EXPECT_EQ(list->rename_by_default, param.rename);
  EXPECT_EQ(list->fail_requests_greater_than_one, param.fail_above_one);
  ASSERT_EQ(list->resources.size(), param.replicas.size());
  for (std::size_t i = 0; i < param.replicas.size(); ++i) {
    const auto& resource = list->resources[i];
    const auto& [name, replicas] = param.replicas[i];
    EXPECT_EQ(resource.name.value, name);
    EXPECT_EQ(resource.replicas, replicas);
    EXPECT_EQ(resource.advertised().value, std::string(name) + (param.rename ? ".shared" : ""));
  }
  EXPECT_EQ(loaded->warnings.size(), param.warnings);
  EXPECT_EQ(loaded->config.flags.mig_strategy, MigStrategy::kNone);
}

constexpr const char* kRollout = "rollout/time-slicing-config.yaml";
constexpr const char* kManual = "time-slicing-manual/time-slicing-config.yaml";
constexpr const char* kPlatform = "platform/device-plugin-config.yaml";
constexpr const char* kGpu = "nvidia.com/gpu";

INSTANTIATE_TEST_SUITE_P(
    Published, Scenario,
    testing::Values(
        Case{"any", kRollout, "any", {{kGpu, 2}}, false, false, true},
        Case{"l20", kRollout, "l20", {{kGpu, 8}}, false, false, true},
        Case{"t4", kRollout, "t4", {{kGpu, 3}}, false, false, true},
        Case{"a100_40gb",
             kManual,
             "a100-40gb",
             {{kGpu, 8},
              {"nvidia.com/mig-1g.5gb", 2},
              {"nvidia.com/mig-2g.10gb", 2},
              {"nvidia.com/mig-3g.20gb", 3},
              {"nvidia.com/mig-7g.40gb", 7}}},
        Case{"tesla_t4", kManual, "tesla-t4", {{kGpu, 4}}},
        Case{"platform_default", kPlatform, "default", {{kGpu, 4}}, false, true, true},
        Case{"training_is_not_shared", kPlatform, "training", {{kGpu, 1}}, false, false, false, 1},
        Case{"inference", kPlatform, "inference", {{kGpu, 4}}, false, true, false},
        Case{"development", kPlatform, "development", {{kGpu, 8}}, false, true, true},
        Case{"timeslice_4", kPlatform, "timeslice-4", {{kGpu, 4}}, false, true, true}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Scenario, TrainingHasNoSharingStrategy) {
  const auto loaded = load({.file_text = config_map_key(kPlatform, "training"), .file_name = "f"});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.sharing.strategy(), SharingStrategy::kNone);
}

TEST(Scenario, MpsNeedsAnMpsRoot) {
  Sources sources{.file_text = config_map_key(kPlatform, "mps-config"), .file_name = "mps-config"};
  const auto refused = load(sources);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("using MPS requires --mps-root to be specified"),
            std::string::npos);
  sources.environment["MPS_ROOT"] = "/run/nvidia/mps";
  const auto loaded = load(sources);
  ASSERT_TRUE(loaded) << loaded.error().what;
  EXPECT_EQ(loaded->config.sharing.strategy(), SharingStrategy::kMps);
  EXPECT_EQ(loaded->config.sharing.active()->resources.at(0).advertised().value,
            "nvidia.com/gpu.shared");
}

}  // namespace
}  // namespace tranche::config::load_scenarios_test
