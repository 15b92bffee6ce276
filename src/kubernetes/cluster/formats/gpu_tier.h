#pragma once
// GPUTier (tranche.dev/v1alpha1, cluster-scoped): a published class of GPU service. A catalogue of
// tiers lists which GPUs serve each tier, how they are shared, how its users are isolated, who may
// use it and how much, and the support terms. Schema: docs/schemas/gpu-tier-v1.schema.json.
//
// A tier grants nothing by itself: a namespace not listed in `namespaces` may not use it, and a
// field unknown to this release is refused, because it may be the one that restricts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cluster/label_selector.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

// How a tier's GPUs are allocated: one of these.
struct ExclusiveTier {  // whole GPUs, one Pod each
  bool operator==(const ExclusiveTier&) const = default;
};
struct MigTier {
  std::string profile;  // "1g.10gb", "1g.10gb+me"
  bool operator==(const MigTier&) const = default;
};
struct TimeSlicingTier {
  std::int64_t replicas = 0;
  bool operator==(const TimeSlicingTier&) const = default;
};
struct MpsTier {
  std::int64_t replicas = 0;  // clients per GPU
  bool operator==(const MpsTier&) const = default;
};
struct TopologyAlignedTier {  // whole GPUs of one NVLink island
  bool operator==(const TopologyAlignedTier&) const = default;
};
using TierMechanism =
    std::variant<ExclusiveTier, MigTier, TimeSlicingTier, MpsTier, TopologyAlignedTier>;

// The key under spec.mechanism: "exclusive", "mig", "timeSlicing", "mps", "topologyAligned".
std::string_view to_string(const TierMechanism& mechanism);

// A GPU is eligible if its node is selected and its model is listed; absent fields do not
// restrict.
struct TierEligibility {
  std::optional<LabelSelector> node_selector;
  std::vector<std::string> models;  // as spelled in the node label nvidia.com/gpu.product
  bool operator==(const TierEligibility&) const = default;
};

// By name or by label; empty allows none.
struct TierNamespaces {
  std::vector<std::string> names;
  std::optional<LabelSelector> selector;
  bool operator==(const TierNamespaces&) const = default;
};

struct TierQuota {
  // nullopt: every allowed namespace without its own rule.
  std::optional<std::string> ns;
  std::int64_t limit = 0;  // tranches of the tier's resource that its Pods may request together
  bool operator==(const TierQuota&) const = default;
};

struct TierCondition {
  std::string type;    // "Ready"
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::string last_transition;  // RFC 3339, as written
  std::int64_t observed_generation = 0;
  bool operator==(const TierCondition&) const = default;
};

struct GpuTier {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;

  TierEligibility eligibility;
  TierMechanism mechanism;
  // The extended resource that its Pods request; nullopt: the mechanism's default resource
  // (resource_of).
  std::optional<std::string> resource;
  std::string isolation;  // how users of the same GPU are isolated, in words for users
  TierNamespaces namespaces;
  std::vector<TierQuota> quotas;
  std::string priority_class;  // of its Pods; empty: any
  std::string support;         // the support terms, in words for users
  // How long its Pods may wait for a GPU before somebody is told; 0: not said.
  std::int64_t max_wait_seconds = 0;
  std::vector<TierCondition> conditions;

  bool operator==(const GpuTier&) const = default;
};

// kInvalidArgument, with the path of the field, if it is not a GPUTier: wrong types, unknown
// fields, not exactly one mechanism. validate() checks its content.
Result<GpuTier> parse_gpu_tier(std::string_view json);
// For create, update, apply and the snapshot; server-set fields only if set.
std::string to_json(const GpuTier& tier);

// Every reason why the tier cannot be published, one line each with the field's path; empty: it
// can.
std::vector<std::string> validate(const GpuTier& tier);

// "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb.me", or the tier's own
// setting.
std::string resource_of(const GpuTier& tier);
// Whether Pods of a namespace with these labels may use the tier.
bool allows(const GpuTier& tier, const std::string& ns, const StringMap& labels);
// What a namespace's Pods may request together; nullopt: unlimited.
std::optional<std::int64_t> limit_of(const GpuTier& tier, const std::string& ns);

}  // namespace tranche::cluster
