#pragma once
// What `tranche.limits` of the configuration file promises the holders of a resource: how much of
// a device's memory and time each tranche has, and how strictly it is kept (docs/limits.md).
// Values only; what they come to on a device is offer/limits.h's.

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

// Of a device, for each tranche.
struct EqualPart {  // what is there, divided by the replicas
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
  std::optional<MemoryLimit> memory_hard{};  // nullopt: as `memory`; counts with kElastic
  ComputeLimit compute = EqualPart{};
  bool oversubscribe = false;  // parts may sum to more than a device has
  SharePolicy policy = SharePolicy::kTimeSlice;
  Priority priority = Priority::kNormal;      // counts with kPriority, as what follows
  std::vector<ClassOfPods> priority_classes;  // of others `priority`
  Unregistered unregistered = Unregistered::kEvent;
  bool kernel_limits = false;  // memory by the driver, where node and GPU can
  bool runtime_hook = false;   // the container runtime asks before a container starts
  bool operator==(const Limits&) const = default;

  // Of a Pod's containers by its priorityClassName.
  Priority class_of(std::string_view priority_class) const;
  bool maps_classes() const {
    return policy == SharePolicy::kPriority && !priority_classes.empty();
  }

  bool on() const { return enforcement != Enforcement::kOff; }
  // Whether something is held back, not only counted.
  bool holds() const {
    return enforcement == Enforcement::kStrict || enforcement == Enforcement::kElastic;
  }
  // Whether there is a memory limit that the kernel is to keep.
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
  Limits general;  // of resources that no entry names
  std::vector<ResourceLimits> resources;
  int line = 0;  // of `tranche.limits`; 0: not in the file
  bool operator==(const LimitTable&) const = default;

  bool any_on() const;
  // The entry about `name`; nullptr: `general` holds.
  const ResourceLimits* find(const ResourceName& name) const;
  const Limits& of(const ResourceName& name) const;
};

// As users write them: "equal", "none", "25%", "12.5%", and for memory a quantity of bytes.
// kInvalidArgument with the remedy.
Result<MemoryLimit> parse_memory_limit(std::string_view text);
Result<ComputeLimit> parse_compute_limit(std::string_view text);

// The same of what is set over the configuration for one container (`tranche limit set`,
// annotations of a Pod): `equal` is refused too, because it is what the configuration promises.
Result<MemoryLimit> parse_memory_setting(std::string_view text);
Result<ComputeLimit> parse_compute_setting(std::string_view text);
// The same spelling back; bytes in the largest binary unit that divides them.
std::string to_text(const MemoryLimit& limit);
std::string to_text(const ComputeLimit& limit);

std::string_view to_string(SharePolicy value);
std::string_view to_string(Unregistered value);
std::optional<SharePolicy> share_policy_of(std::string_view text);
std::optional<Unregistered> unregistered_of(std::string_view text);

}  // namespace tranche::config
