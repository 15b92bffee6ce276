#pragma once
// Helpers for the tests of offer/: configurations and offers in a few lines.

#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "offer/offer.h"
#include "support/machines.h"

namespace tranche::offer::testing {

inline config::ResourceName resource(const std::string& base) { return {"nvidia.com/" + base}; }

inline config::ReplicatedResource entry(const std::string& base, int replicas,
                                        config::Devices devices = config::AllDevices{},
                                        const std::string& rename = "") {
  config::ReplicatedResource out;
  out.name = resource(base);
  out.replicas = replicas;
  out.devices = std::move(devices);
  if (!rename.empty()) out.rename = resource(rename);
  return out;
}

inline config::Config time_slicing(std::vector<config::ReplicatedResource> entries,
                                   bool one_only = false) {
  config::Config out;
  out.sharing.time_slicing = {.fail_requests_greater_than_one = one_only,
                              .resources = std::move(entries)};
  return out;
}
inline config::Config mps(std::vector<config::ReplicatedResource> entries) {
  config::Config out;
  out.sharing.mps = {.fail_requests_greater_than_one = true, .resources = std::move(entries)};
  return out;
}
inline config::Config with_mig(config::MigStrategy strategy, config::Config base = {}) {
  base.flags.mig_strategy = strategy;
  return base;
}

// "gpu=2 gpu.shared=8": resources with their number of tranches, by name.
inline std::string summary(const Offer& offer) {
  std::string out;
  for (const ResourceOffer& resource : offer.resources) {
    if (!out.empty()) out += ' ';
    out += fmt::format("{}={}", resource.name.base(), resource.tranches.size());
  }
  return out;
}

inline std::vector<std::string> ids(const ResourceOffer& offer) {
  std::vector<std::string> out;
  for (const Tranche& tranche : offer.tranches) out.push_back(tranche.id);
  return out;
}

}  // namespace tranche::offer::testing
