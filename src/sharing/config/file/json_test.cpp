// The printed effective configuration, against golden files in testdata/. To write them anew after
// an intended change: TRANCHE_WRITE_GOLDEN=1 config_test --gtest_filter='*Golden*'

#include "config/file/json.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/fs.h"
#include "config/file/load.h"

namespace tranche::config::json_test {
namespace {

struct Case {
  const char* name;
  Sources sources;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, IsPrinted) {
  const auto loaded = load(GetParam().sources);
  ASSERT_TRUE(loaded) << loaded.error().what;
  const auto path = std::filesystem::current_path() / "src/sharing/config/file/testdata" /
                    (std::string(GetParam().name) + ".json");
  if (std::getenv("TRANCHE_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(FsRoot().write_atomic(path, loaded->json + "\n"));
  }
  const auto golden = FsRoot().read(path);
  ASSERT_TRUE(golden) << golden.error().what;
  EXPECT_EQ(loaded->json + "\n", *golden);
}

INSTANTIATE_TEST_SUITE_P(
    Printed, Golden,
    testing::Values(Case{"agent_defaults", {}},
                    Case{"feature_discovery_defaults", {.program = Program::kFeatureDiscovery}},
                    Case{"agent_full",
                         {.file_text = R"(
flags:
  migStrategy: single
  nvidiaDriverRoot: /run/nvidia/driver
  gfd: {sleepInterval: 90s}
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: true
    resources:
    - {name: gpu, replicas: 4, devices: [0]}
    - {name: mig-1g.5gb, replicas: 1}
imex: {channelIDs: [0], required: true}
)",
                          .file_name = "f",
                          .environment = {{"DEVICE_LIST_STRATEGY", "envvar,cdi-cri"}}}},
                    Case{"agent_honoured",
                         {.file_text = R"(
tranche: {honorIgnoredFields: true, onChange: asNvidia}
flags: {mpsRoot: /run/nvidia/mps}
resources:
  gpus: [{pattern: "*T4", name: t4}]
  mig: [{pattern: "1g.5gb", name: small}]
sharing:
  mps:
    resources:
    - {name: t4, rename: t4.quarter, replicas: 4, devices: 2}
)",
                          .file_name = "f"}},
                    Case{"agent_limits",
                         {.file_text = R"(
sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 4}]}}
tranche:
  limits:
    enforcement: elastic
    resources:
    - {name: gpu.shared, enforcement: strict, memory: 4096Mi, compute: 12.5%, oversubscribe: true}
    - {name: gpu, enforcement: off, policy: priority, class: best-effort}
)",
                          .file_name = "f"}},
                    Case{
                        "feature_discovery_file",
                        {.program = Program::kFeatureDiscovery,
                         .file_text = "flags: {gdsEnabled: false, plugin: {passDeviceSpecs: true}}",
                         .file_name = "f",
                         .flags = {{"sleep-interval", "infinite"}}}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Json, InvalidUtf8IsReplaced) {
  const auto loaded = load({.environment = {{"MPS_ROOT", "/m\xff"}}});
  ASSERT_TRUE(loaded);
  EXPECT_NE(loaded->json.find("/m\xef\xbf\xbd"), std::string::npos);
}

TEST(MigResources, AreAddedAsNvidiasPluginAddsThem) {
  const auto loaded = load({.flags = {{"mig-strategy", "mixed"}}});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(with_mig_resources(loaded->json, {}), loaded->json);
  const std::vector<std::string> profiles = {"1g.5gb", "1g.5gb+me"};
  const auto json = with_mig_resources(loaded->json, profiles);
  const auto mig = R"("mig": [
      {
        "pattern": "1g.5gb",
        "name": "nvidia.com/mig-1g.5gb"
      },
      {
        "pattern": "1g.5gb+me",
        "name": "nvidia.com/mig-1g.5gb.me"
      }
    ])";
  EXPECT_NE(json.find(mig), std::string::npos) << json;
}

}  // namespace
}  // namespace tranche::config::json_test
