#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mig/parted_testing.h"

namespace tranche::mig::parted_write_test {
namespace {

using namespace parted_testing;
using testing::ElementsAre;

TEST(PartedWrite, TheMachinesLayoutIsReadBack) {
  const Instance small{.profile_id = 19, .placement = {0, 1}, .compute = {1}};
  const GpuLayout one{.enabled = true, .instances = {small}};
  const Layout layout{
      {{"GPU-0"}, one}, {{"GPU-1"}, {}}, {{"GPU-2"}, one}, {{"GPU-3"}, {.enabled = true}}};
  const auto text = to_yaml(exported(four(), layout, "current"));
  EXPECT_EQ(text,
            "version: v1\n"
            "mig-configs:\n"
            "  current:\n"
            "    - devices: [0, 2]\n"
            "      mig-enabled: true\n"
            "      mig-devices:\n"
            "        \"1g.10gb\": 1\n"
            "    - devices: [1]\n"
            "      mig-enabled: false\n"
            "    - devices: [3]\n"
            "      mig-enabled: true\n"
            "      mig-devices: {}\n");
  EXPECT_THAT(wishes(*parse(text), "current", four()),
              ElementsAre("0: 1g.10gb 1", "1: MIG off", "2: 1g.10gb 1", "3:"));
  EXPECT_EQ(to_json(*parse(text)).text(),
            R"({"version":"v1","mig-configs":{"current":[{"devices":[0,2],"mig-enabled":true,)"
            R"("mig-devices":{"1g.10gb":1}},{"devices":[1],"mig-enabled":false},)"
            R"({"devices":[3],"mig-enabled":true,"mig-devices":{}}]}})");
}

TEST(PartedWrite, IdenticalGpusBecomeAll) {
  EXPECT_EQ(to_yaml(exported(machine({t4(0)}), {}, "12")),
            "version: v1\nmig-configs:\n  \"12\":\n    - devices: all\n      mig-enabled: false\n");
}

TEST(PartedDefaults, AreThoseOfNvidia) {
  const auto file = default_layouts(four());
  std::vector<std::string> names;
  for (const auto& [name, entries] : file.configs) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("all-1g.10gb", "all-1g.10gb.me", "all-1g.20gb", "all-2g.20gb",
                                 "all-3g.40gb", "all-4g.40gb", "all-7g.80gb", "all-balanced",
                                 "all-disabled", "all-enabled"));
  const auto one = machine({gpu_of(0, "a100-80gb")});
  EXPECT_THAT(wishes(file, "all-1g.10gb.me", one), ElementsAre("0: 1g.10gb+me 1"));
  EXPECT_THAT(wishes(file, "all-1g.20gb", one), ElementsAre("0: 1g.20gb 4"));
  EXPECT_THAT(wishes(file, "all-enabled", one), ElementsAre("0:"));
  EXPECT_THAT(wishes(file, "all-disabled", one), ElementsAre("0: MIG off"));
}

TEST(PartedDefaults, BalancedIsAsNvidiaHasItForEachModel) {
  const struct {
    const char* model;
    const char* wish;
  } cases[] = {
      {"a30-24gb", "0: 1g.6gb 2 2g.12gb 1"},
      {"a100-40gb", "0: 1g.5gb 2 2g.10gb 1 3g.20gb 1"},
      {"h100-80gb", "0: 1g.10gb 2 2g.20gb 1 3g.40gb 1"},
      {"h200-141gb", "0: 1g.18gb 2 2g.35gb 1 3g.71gb 1"},
      {"b200-180gb", "0: 1g.23gb 2 2g.45gb 1 3g.90gb 1"},
      {"rtx-pro-6000-96gb", "0: 1g.24gb 2 2g.48gb 1"},
  };
  for (const auto& one : cases) {
    const auto of = machine({gpu_of(0, one.model)});
    EXPECT_THAT(wishes(default_layouts(of), "all-balanced", of), ElementsAre(one.wish));
  }
}

TEST(PartedDefaults, SeveralModelsHaveFiltersAndShareEqualEntries) {
  const auto both =
      machine({gpu_of(0, "a100-80gb"), gpu_of(1, "h100-80gb"), gpu_of(2, "a30-24gb")});
  const auto file = default_layouts(both);
  EXPECT_THAT(wishes(file, "all-balanced", both),
              ElementsAre("0: 1g.10gb 2 2g.20gb 1 3g.40gb 1", "1: 1g.10gb 2 2g.20gb 1 3g.40gb 1",
                          "2: 1g.6gb 2 2g.12gb 1"));
  EXPECT_EQ(file.configs.at("all-balanced").size(), 2U);
  EXPECT_THAT(wishes(file, "all-1g.6gb", both), ElementsAre("2: 1g.6gb 4"));
}

TEST(PartedDefaults, AMachineWithoutMigHasTwo) {
  EXPECT_EQ(default_layouts(machine({t4(0)})).configs.size(), 2U);
}

TEST(PartedDefaults, OfEveryModelAreReadBackAsWritten) {
  for (const auto& model : gpu::mig_models()) {
    if (model.pci_device_ids.empty()) continue;
    const auto key = std::string(model.key);
    const auto file = default_layouts(machine({gpu_of(0, key.c_str()), gpu_of(1, "a100-40gb")}));
    const auto read = parse(to_yaml(file));
    ASSERT_TRUE(read) << key << ": " << read.error().message();
    EXPECT_EQ(to_yaml(*read), to_yaml(file)) << key;
    const auto from_json = parse(to_json(file).text());
    ASSERT_TRUE(from_json) << key << ": " << from_json.error().message();
    EXPECT_EQ(to_yaml(*from_json), to_yaml(file)) << key;
  }
}

}  // namespace
}  // namespace tranche::mig::parted_write_test
