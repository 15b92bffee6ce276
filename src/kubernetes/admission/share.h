#pragma once
// What one container requests of a GPU that it shares. There are two ways to write it:
//
//     resources: {limits: {nvidia.com/gpu: 0.5}}       # half of memory and compute, of any model
//
//     metadata: {annotations: {tranche.dev/gpu-memory: 12Gi, tranche.dev/gpu-compute: "50"}}
//     resources: {limits: {nvidia.com/gpu: 1}}         # 12Gi and 50 % of compute, of any model
//
// The annotations are at the Pod, or at a workload's Pod template. Without a suffix they are for
// the only container that requests a GPU; if there are several, each has its own, as in
// tranche.dev/gpu-memory.<container>. Both are needed: a claim without a request for compute would
// get all of it. The container also has nvidia.com/gpu: 1, so that a cluster without Tranche gives
// it a whole GPU, and never none.
//
// Pure; every error is kInvalidArgument and names the container.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/amount.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace tranche::admission {

struct Share {
  std::optional<Bytes> memory;  // whole Mi; nullopt: `percent` of the model's
  int percent = 0;              // of compute: 1 to 99; 1 to 100 with bytes
  bool operator==(const Share&) const = default;
};

// "0.5 of a GPU", "12Gi and 50 % of compute of a GPU".
std::string describe(const Share& share);

// The nvidia.com/gpu in `resources` of a container.
struct Ask {
  std::string container;
  std::optional<Amount> amount;  // nullopt: nothing is requested
  bool operator==(const Ask&) const = default;
};

// If one of limits and requests is a fraction, both must be equal and limits must be set:
// Kubernetes copies limits into requests, never back. Whole numbers are left to Kubernetes.
// `has_replica`: an earlier rewrite put one nvidia.com/gpu into requests; a manifest with only
// limits leaves it there when applied again.
Result<Ask> read_ask(std::string_view container, json::View resources, bool has_replica = false);

using Annotations = std::map<std::string, std::string>;

// The share of each container that requests one, by container. `settled`: containers that were
// rewritten before and request nothing any more; annotations for them are no mistake.
Result<std::map<std::string, Share>> shares_of(const std::vector<Ask>& asks,
                                               const std::vector<std::string>& settled,
                                               const Annotations& annotations);

}  // namespace tranche::admission
