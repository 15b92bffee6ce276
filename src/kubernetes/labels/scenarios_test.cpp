// The published configurations, read from their files: the labels each key gives on the machine it
// was written for (tests/data/scenarios/*/EXPECT.md).

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "config/file/load.h"
#include "labels/testing.h"

namespace tranche::labels::scenarios_test {
namespace {

// The configuration under `key` of a ConfigMap manifest; `strategy` given as the flag, as the
// scenarios leave it to the operator.
config::Config published(const std::string& manifest, const std::string& key,
                         const std::string& strategy) {
  std::ifstream file("tests/data/scenarios/" + manifest);
  const auto document =
      yaml::parse(std::string((std::istreambuf_iterator<char>(file)), {}), manifest);
  EXPECT_TRUE(document.has_value()) << manifest;
  const auto* data = document ? document->root.find("data") : nullptr;
  const auto* text = data != nullptr ? data->find(key) : nullptr;
  EXPECT_NE(text, nullptr) << manifest << " has no key " << key;
  if (text == nullptr) return {};
  config::Sources sources;
  sources.file_text = text->scalar;
  sources.file_name = key;
  sources.flags.push_back({"mps-root", "/run/nvidia/mps"});  // as the chart does, always
  if (!strategy.empty()) sources.flags.push_back({"mig-strategy", strategy});
  auto loaded = config::load(sources);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().message();
  return loaded ? loaded->config : config::Config{};
}

constexpr auto kRollout = "rollout/time-slicing-config.yaml";
constexpr auto kManual = "time-slicing-manual/time-slicing-config.yaml";
constexpr auto kPlatform = "platform/device-plugin-config.yaml";

TEST(ScenarioLabels, EveryKeyOfTheWholeGpuConfigurations) {
  struct Case {
    std::string manifest, key;
    gpu::Machine machine;
    std::vector<std::string> want;  // product, count, replicas, sharing-strategy
  };
  const auto l20 = test::machine_of({test::l20(0)});
  const auto t4 = test::machine_of({test::t4(0)});
  const auto a100 = test::machine_of(4, test::a100_40gb);
  const std::string name = "NVIDIA-A100-SXM4-40GB";
  const std::vector<Case> cases = {
      {kRollout, "any", l20, {"NVIDIA-L20-SHARED", "1", "2", "time-slicing"}},
      {kRollout, "any", t4, {"Tesla-T4-SHARED", "1", "2", "time-slicing"}},
      {kRollout, "l20", l20, {"NVIDIA-L20-SHARED", "1", "8", "time-slicing"}},
      {kRollout, "t4", t4, {"Tesla-T4-SHARED", "1", "3", "time-slicing"}},
      {kManual, "a100-40gb", a100, {name + "-SHARED", "4", "8", "time-slicing"}},
      {kManual, "tesla-t4", t4, {"Tesla-T4-SHARED", "1", "4", "time-slicing"}},
      {kPlatform, "timeslice-4", t4, {"Tesla-T4", "1", "4", "time-slicing"}},
      {kPlatform, "default", a100, {name, "4", "4", "time-slicing"}},
      {kPlatform, "training", a100, {name, "4", "1", "none"}},
      {kPlatform, "inference", a100, {name, "4", "4", "time-slicing"}},
      {kPlatform, "development", a100, {name, "4", "8", "time-slicing"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.manifest + " " + c.key);
    const auto set = labels_of(c.machine, published(c.manifest, c.key, ""));
    EXPECT_EQ((std::vector{label(set, "gpu.product"), label(set, "gpu.count"),
                           label(set, "gpu.replicas"), label(set, "gpu.sharing-strategy")}),
              c.want);
  }
}

TEST(ScenarioLabels, MigInstancesOfTheManual) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"})});
  const auto set = labels_of(machine, published(kManual, "a100-40gb", "mixed"));
  struct Case {
    std::string profile, count, replicas;
  };
  for (const auto& c :
       std::vector<Case>{{"1g.5gb", "2", "2"}, {"2g.10gb", "1", "2"}, {"3g.20gb", "1", "3"}}) {
    const auto prefix = "mig-" + c.profile;
    EXPECT_EQ(label(set, prefix + ".product"),
              "NVIDIA-A100-SXM4-40GB-MIG-" + c.profile + "-SHARED");
    EXPECT_EQ(label(set, prefix + ".count"), c.count);
    EXPECT_EQ(label(set, prefix + ".replicas"), c.replicas);
  }
  EXPECT_EQ(label(set, "gpu.replicas"), "0");
}

TEST(ScenarioLabels, MpsOfThePlatform) {
  const auto set =
      labels_of(test::machine_of(4, test::a100_40gb), published(kPlatform, "mps-config", ""));
  EXPECT_EQ(label(set, "gpu.product"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(label(set, "gpu.replicas"), "8");
  EXPECT_EQ(label(set, "gpu.sharing-strategy"), "mps");
  EXPECT_EQ(label(set, "mps.capable"), "true");
}

}  // namespace
}  // namespace tranche::labels::scenarios_test
