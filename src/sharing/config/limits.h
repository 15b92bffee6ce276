#pragma once
// The promises of `tranche.limits` in the configuration file to the holders of a resource: how much
// of a device's memory and time each tranche has, and how strictly that is enforced
// (docs/limits.md). Values only; offer/limits.h computes the amounts on a device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "config/resource_name.h"
#include "values/limits.h"

namespace tranche::config {

enum class SharePolicy { kTimeSlice, kPriority };
enum class Unregistered { kEvent, kEvict };

// The part of a device for each tranche.
struct EqualPart {  // the total divided by the replicas
  bool operator==(const EqualPart&) const = default;
};
struct NoLimit {
  bool operator==(const NoLimit&) const = default;
};
struct Percent {
  int permille = 0;  // 1..1000
  bool operator==(const Percent&) const = default;
};
using MemoryLimit = std::variant<EqualPart, NoLimit, Percent, Bytes>;
using ComputeLimit = std::variant<EqualPart, NoLimit, Percent>;

// Containers of Pods with this priorityClassName have that class.
struct ClassOfPods {
  std::string priority_class;
  Priority value = Priority::kNormal;
  bool operator==(const ClassOfPods&) const = default;
};

struct Limits {
  Enforcement enforcement = Enforcement::kOff;
  MemoryLimit memory = EqualPart{};
  std::optional<MemoryLimit> memory_hard{};  // nullopt: same as `memory`; applies with kElastic
  ComputeLimit compute = EqualPart{};
  bool oversubscribe = false;  // the parts may add up to more than the device has
  SharePolicy policy = SharePolicy::kTimeSlice;
  Priority priority = Priority::kNormal;      // applies with kPriority, like the following
  std::vector<ClassOfPods> priority_classes;  // other Pods get `priority`
  Unregistered unregistered = Unregistered::kEvent;
  bool kernel_limits = false;  // the driver enforces memory limits, where node and GPU support it
  bool runtime_hook = false;   // the container runtime asks before a container starts
  bool operator==(const Limits&) const = default;

  // The class of a Pod's containers, by its priorityClassName.
  Priority class_of(std::string_view priority_class) const;
  bool maps_classes() const {
    return policy == SharePolicy::kPriority && !priority_classes.empty();
  }

  bool on() const { return enforcement != Enforcement::kOff; }
  // Whether anything is limited, not only counted.
  bool holds() const {
    return enforcement == Enforcement::kStrict || enforcement == Enforcement::kElastic;
  }
  // Whether there is a memory limit that the kernel should enforce.
  bool wants_kernel() const {
    return kernel_limits && holds() && !std::holds_alternative<NoLimit>(memory);
  }
};

struct ResourceLimits {
  ResourceName name;  // as advertised
  Limits limits;
  int line = 0;  // in the file
  bool operator==(const ResourceLimits&) const = default;
};

struct LimitTable {
  Limits general;  // for resources without an entry
  std::vector<ResourceLimits> resources;
  int line = 0;  // line of `tranche.limits`; 0: not in the file
  bool operator==(const LimitTable&) const = default;

  bool any_on() const;
  // The entry for `name`; nullptr: `general` applies.
  const ResourceLimits* find(const ResourceName& name) const;
  const Limits& of(const ResourceName& name) const;
};

// In users' spelling: "equal", "none", "25%", "12.5%", and for memory a quantity of bytes.
// kInvalidArgument with the remedy.
Result<MemoryLimit> parse_memory_limit(std::string_view text);
Result<ComputeLimit> parse_compute_limit(std::string_view text);

// The same for a setting that overrides the configuration for one container (`tranche limit set`,
// Pod annotations): `equal` is refused too, because it refers to the configuration's promise.
Result<MemoryLimit> parse_memory_setting(std::string_view text);
Result<ComputeLimit> parse_compute_setting(std::string_view text);
// The same spelling, in reverse; bytes in the largest binary unit that divides them.
std::string to_text(const MemoryLimit& limit);
std::string to_text(const ComputeLimit& limit);

std::string_view to_string(SharePolicy value);
std::string_view to_string(Unregistered value);
std::optional<SharePolicy> share_policy_of(std::string_view text);
std::optional<Unregistered> unregistered_of(std::string_view text);

}  // namespace tranche::config
