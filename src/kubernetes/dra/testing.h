#pragma once
// Claims as the scheduler allocates them on node n1, for tests.

#include <string>
#include <utility>
#include <vector>

#include "dra/claim_plan.h"
#include "gpu/mig_tables.h"
#include "support/machines.h"

namespace tranche::dra::testing_ {

using cluster::AllocatedDevice;
using cluster::ResourceClaim;

inline constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
inline constexpr const char* kShare = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";
inline constexpr std::uint64_t kMiB = 1U << 20U;

inline const PlanFacts kFacts{
    .driver = "gpu.nvidia.com", .node = "n1", .pool = "gpu-n1", .boot = "boot-1"};

inline AllocatedDevice allocated(const std::string& device) {
  return {.request = "gpu/l20", .driver = "gpu.nvidia.com", .pool = "gpu-n1", .device = device};
}

inline AllocatedDevice share(const std::string& device, std::uint64_t mib, std::uint64_t percent,
                             const std::string& id = kShare) {
  auto result = allocated(device);
  result.share_id = id;
  result.consumed = {{"memory", mib * kMiB}, {"compute", percent}};
  return result;
}

inline ResourceClaim claim_of(std::vector<AllocatedDevice> devices) {
  return {.key = {"team", "c"}, .uid = kUid, .allocated = true, .devices = std::move(devices)};
}

inline gpu::Machine cut_machine() {
  auto machine = test::machine_of({test::h100(0), test::h100(1)});
  for (auto& gpu : machine.gpus) gpu.mig_geometry = gpu::find_mig_model("h100-80gb")->geometry;
  return machine;
}
inline PlanFacts cut_facts(const gpu::Machine& machine) {
  auto facts = kFacts;
  facts.partitionable = {machine.gpus[0].uuid};
  return facts;
}
inline const std::string kSmall = "gpu-0-mig-1g10gb-19-3";
inline const std::string kLarge = "gpu-0-mig-3g40gb-9-0";

}  // namespace tranche::dra::testing_
