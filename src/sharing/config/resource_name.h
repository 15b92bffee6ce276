#pragma once
// The name of an extended resource, as its own type.

#include <compare>
#include <string>
#include <string_view>

namespace tranche::config {

inline constexpr std::string_view kResourcePrefix = "nvidia.com/";

// A qualified resource name, "nvidia.com/gpu": always with the prefix.
struct ResourceName {
  std::string value;
  // The part after "nvidia.com/": "gpu", "gpu.shared", "mig-1g.5gb".
  std::string base() const;
  auto operator<=>(const ResourceName&) const = default;
};

}  // namespace tranche::config
