#pragma once
// GPUTier (tranche.dev/v1alpha1, cluster-scoped): a published class of GPU service. A catalogue of
// tiers says which GPUs serve it, how they are shared, what separates its users, who may use it and
// how much of it, and what support answers. Schema: docs/schemas/gpu-tier-v1.schema.json.
//
// A tier grants nothing by itself: who is not named by `namespaces` may not use it, and a field
// that this release does not know is refused, for it may be the one that restricts.

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

// How a tier's GPUs are given out: one of these.
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
struct TopologyAlignedTier {  // whole GPUs of one island of links
  bool operator==(const TopologyAlignedTier&) const = default;
};
using TierMechanism =
    std::variant<ExclusiveTier, MigTier, TimeSlicingTier, MpsTier, TopologyAlignedTier>;

// The key under spec.mechanism: "exclusive", "mig", "timeSlicing", "mps", "topologyAligned".
std::string_view to_string(const TierMechanism& mechanism);

// A GPU is eligible when its node is selected and its model is listed; what is left out does not
// restrict.
struct TierEligibility {
  std::optional<LabelSelector> node_selector;
  std::vector<std::string> models;  // as the node label nvidia.com/gpu.product spells them
  bool operator==(const TierEligibility&) const = default;
};

// By name or by label; empty allows nobody.
struct TierNamespaces {
  std::vector<std::string> names;
  std::optional<LabelSelector> selector;
  bool operator==(const TierNamespaces&) const = default;
};

struct TierQuota {
  // nullopt: every allowed namespace without a rule of its own.
  std::optional<std::string> ns;
  std::int64_t limit = 0;  // tranches of the tier's resource that its Pods may ask for together
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
  // The extended resource that its Pods ask for; nullopt: the one that the mechanism is advertised
  // under by default (resource_of).
  std::optional<std::string> resource;
  std::string isolation;  // what separates users of the same GPU, in words for them
  TierNamespaces namespaces;
  std::vector<TierQuota> quotas;
  std::string priority_class;  // of its Pods; empty: any
  std::string support;         // what support answers, in words for users
  std::vector<TierCondition> conditions;

  bool operator==(const GpuTier&) const = default;
};

// kInvalidArgument, with the path of the field, when it is no GPUTier: wrong types, unknown fields,
// not exactly one mechanism. What it says is looked at by validate().
Result<GpuTier> parse_gpu_tier(std::string_view json);
// For create, update, apply and the snapshot; what the server sets only where it is set.
std::string to_json(const GpuTier& tier);

// Everything that makes the tier unfit for publication, one line each with the field's path; empty:
// it is fit.
std::vector<std::string> validate(const GpuTier& tier);

// "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb.me", or what the tier says.
std::string resource_of(const GpuTier& tier);
// Whether Pods of a namespace with these labels may use the tier.
bool allows(const GpuTier& tier, const std::string& ns, const StringMap& labels);
// What a namespace's Pods may ask for together; nullopt: no rule limits it.
std::optional<std::int64_t> limit_of(const GpuTier& tier, const std::string& ns);

}  // namespace tranche::cluster
