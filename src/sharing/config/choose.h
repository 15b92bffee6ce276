#pragma once
// Chooses which of several configurations a node uses. Pure: names in, name out, with the reason.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::config {

enum class Fallback { kNamed, kSingle, kEmpty };
Result<std::vector<Fallback>> parse_fallbacks(const std::vector<std::string>& names);

struct Wish {
  std::string label_key = "nvidia.com/device-plugin.config";
  std::optional<std::string> label;         // the node label's value; "" = unset
  std::optional<std::string> default_name;  // --default-config
  std::vector<Fallback> fallbacks = {Fallback::kNamed, Fallback::kSingle};
};

struct Choice {
  std::optional<std::string> name;  // nullopt: the empty configuration (fallback `empty`)
  std::string reason;               // "label nvidia.com/device-plugin.config=l20", ...
  bool operator==(const Choice&) const = default;
};

// Tries the label first, then the default, then each fallback in order: `named` is the key
// "default", `single` is the only key, `empty` is a configuration without sharing. A label or
// default that names a missing key is an error, so that a node never silently runs another
// configuration: kNotFound, with NVIDIA's "specified config X does not exist" and the existing
// keys.
Result<Choice> choose(const Wish& wish, std::span<const std::string> names);

}  // namespace tranche::config
