// tranche.mps: every accepted form, and every mistake.

#include <gtest/gtest.h>

#include "config/file/load.h"

namespace tranche::config::load_mps_test {
namespace {

// `mps`: one line, the fourth.
Result<Loaded> load_mps(const std::string& mps, const std::string& extra = "") {
  return load({.file_text = "sharing:\n  mps: {" + extra +
                            "resources: [{name: gpu, replicas: 4}]}\ntranche:\n  mps: " + mps +
                            "\n",
               .file_name = "f.yaml",
               .environment = {{"MPS_ROOT", "/run/nvidia/mps"}}});
}

TEST(MpsRules, Accepted) {
  struct Row {
    const char* mps;
    MpsControlRules rules;
  };
  const Row rows[] = {
      {"{protocol: 3}", {.protocol = 3, .sm_partitions = {}}},
      {"{protocol: 2}", {}},
      {"{Protocol: 3}", {.protocol = 3, .sm_partitions = {}}},
      {"{smPartitions: none}", {}},
      {"{smPartitions: equal}", {.protocol = 2, .sm_partitions = EqualChunks{}}},
      {"{protocol: 3, smPartitions: 2}", {.protocol = 3, .sm_partitions = 2}},
      {"{protocol: ~, smPartitions: ~}", {}},
      {"{}", {}},
  };
  for (const Row& row : rows) {
    const auto loaded = load_mps(row.mps);
    ASSERT_TRUE(loaded) << row.mps << ": " << loaded.error().what;
    EXPECT_EQ(loaded->config.tranche.mps, row.rules) << row.mps;
    EXPECT_TRUE(loaded->warnings.empty()) << row.mps << ": " << loaded->warnings[0].message;
  }
}

TEST(MpsRules, AreShown) {
  const auto loaded = load_mps("{protocol: 3, smPartitions: 2}");
  ASSERT_TRUE(loaded);
  EXPECT_NE(loaded->json.find("\"protocol\": 3"), std::string::npos) << loaded->json;
  EXPECT_NE(loaded->json.find("\"smPartitions\": 2"), std::string::npos);
  EXPECT_NE(load_mps("{smPartitions: equal}")->json.find("\"smPartitions\": \"equal\""),
            std::string::npos);
}

TEST(MpsRules, RefusedWithPlaceAndRemedy) {
  struct Row {
    const char* mps;
    const char* error;  // its beginning
  };
  const Row rows[] = {
      {"3", "f.yaml:4: tranche.mps: cannot unmarshal number into a mapping, found '3'; "},
      {"{protocol: 4}",
       "f.yaml:4: tranche.mps.protocol: protocol must be 2 or 3, found '4'; write 3"},
      {"{protocol: \"3\"}", "f.yaml:4: tranche.mps.protocol: protocol must be 2 or 3, found '3'; "},
      {"{protocol: [3]}",
       "f.yaml:4: tranche.mps.protocol: protocol must be 2 or 3, found a list; "},
      {"{smPartitions: 0}",
       "f.yaml:4: tranche.mps.smPartitions: smPartitions must be none, equal, or a number of "
       "chunks "
       "from 1 to 256, found '0'; write equal"},
      {"{smPartitions: -1}", "f.yaml:4: tranche.mps.smPartitions: smPartitions must be none"},
      {"{smPartitions: 25%}", "f.yaml:4: tranche.mps.smPartitions: smPartitions must be none"},
  };
  for (const Row& row : rows) {
    const auto loaded = load_mps(row.mps);
    ASSERT_FALSE(loaded) << row.mps;
    EXPECT_EQ(loaded.error().what.find(row.error), 0U) << loaded.error().what;
  }
}

TEST(MpsRules, AContainerHasOnePartition) {
  const auto several = "failRequestsGreaterThanOne: false, ";
  const auto refused = load_mps("{smPartitions: equal}", several);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("f.yaml:4: tranche.mps.smPartitions: a container has one SM "
                                      "partition, and could ask for several replicas; write "
                                      "failRequestsGreaterThanOne: true"),
            std::string::npos)
      << refused.error().what;
  EXPECT_TRUE(load_mps("{protocol: 3, smPartitions: none}", several));
}

TEST(MpsRules, WithoutMpsHaveNoEffect) {
  for (const std::string sharing :
       {"", "\nsharing: {mps: {resources: [{name: gpu, replicas: 1}]}}"}) {
    const auto loaded =
        load({.file_text = "tranche: {mps: {protocol: 3}}" + sharing, .file_name = "f.yaml"});
    ASSERT_TRUE(loaded);
    ASSERT_FALSE(loaded->warnings.empty());
    EXPECT_EQ(loaded->warnings.back().message.find(
                  "f.yaml:1: tranche.mps: nothing is shared by MPS, so this has no effect; add "
                  "sharing.mps"),
              0U)
        << loaded->warnings.back().message;
  }
}

}  // namespace
}  // namespace tranche::config::load_mps_test
