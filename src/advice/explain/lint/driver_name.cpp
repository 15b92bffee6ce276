#include "explain/lint/driver_name.h"

#include <string_view>

#include "base/yaml.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kVariable = "TRANCHE_DRA_DRIVER_NAME";
constexpr std::string_view kFlag = "--dra-driver-name=";

// The value of the flag or variable in this node itself; empty: it has neither.
std::string set_by(const yaml::Node& node) {
  if (node.kind == yaml::Kind::kScalar && node.scalar.starts_with(kFlag)) {
    return node.scalar.substr(kFlag.size());
  }
  const auto* name = node.find("name");
  const auto* value = node.find("value");
  const bool is_variable = name != nullptr && value != nullptr && name->scalar == kVariable;
  return is_variable ? value->scalar : "";
}

std::string set_in(const yaml::Node& node) {
  if (auto name = set_by(node); !name.empty()) return name;
  for (const auto& item : node.items) {
    if (auto name = set_in(item); !name.empty()) return name;
  }
  for (const auto& entry : node.entries) {
    if (auto name = set_in(entry.value); !name.empty()) return name;
  }
  return "";
}

}  // namespace

std::optional<std::string> driver_named_in(const std::vector<SourceFile>& files) {
  for (const auto& file : files) {
    // Most files are not ours and are not parsed.
    if (file.text.size() > kLongestFile) continue;
    if (!file.text.contains(kVariable) && !file.text.contains(kFlag)) continue;
    const auto documents = yaml::parse_all(file.text, "");
    if (!documents) continue;
    for (const auto& document : *documents) {
      if (auto name = set_in(document.root); !name.empty()) return name;
    }
  }
  return std::nullopt;
}

}  // namespace tranche::lint
