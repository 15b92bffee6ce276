#pragma once
// Builders and lookups for the tests of labels/.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "labels/labels.h"
#include "support/machines.h"

namespace tranche::labels {

inline config::ReplicatedResource entry(std::string name, int replicas, std::string rename = "") {
  config::ReplicatedResource out;
  out.name = {"nvidia.com/" + std::move(name)};
  out.replicas = replicas;
  if (!rename.empty()) out.rename = config::ResourceName{"nvidia.com/" + std::move(rename)};
  return out;
}

inline config::Config time_slicing(std::vector<config::ReplicatedResource> resources,
                                   config::MigStrategy strategy = config::MigStrategy::kNone) {
  config::Config config;
  config.flags.mig_strategy = strategy;
  config.sharing.time_slicing.emplace().resources = std::move(resources);
  return config;
}

inline config::Config mps(std::vector<config::ReplicatedResource> resources) {
  config::Config config;
  config.sharing.mps.emplace().resources = std::move(resources);
  return config;
}

inline config::Config with_strategy(config::MigStrategy strategy) {
  config::Config config;
  config.flags.mig_strategy = strategy;
  return config;
}

// The mock machine of the published label set: 8 x A100-40GB, driver 550.163.01.
inline gpu::Machine mock_a100() {
  auto machine = test::machine_of(8, test::a100_40gb);
  machine.driver_version = "550.163.01";
  machine.cuda_driver_version = 12040;
  machine.host.display_classes.clear();
  return machine;
}

inline LabelSet labels_of(const gpu::Machine& machine, const config::Config& config,
                          std::optional<std::int64_t> timestamp = {}) {
  auto set = make_labels(machine, config, {.timestamp = timestamp});
  EXPECT_TRUE(set.has_value()) << set.error().message();
  return set.value_or(LabelSet{});
}

inline std::string label(const LabelSet& set, const std::string& key) {
  const auto found = set.labels.find("nvidia.com/" + key);
  return found == set.labels.end() ? "(absent)" : found->second;
}

}  // namespace tranche::labels
