// Configurations without names and comments.

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/yaml.h"
#include "base/yaml_write.h"
#include "cluster/snapshot/anonymous_text.h"
#include "cluster/snapshot/rename.h"

namespace tranche::cluster {
namespace {

constexpr const char* kLeftOut = "# left out: it is no YAML\n";

// Their mappings are lists of names: "mig-configs" of mig-parted.
bool holds_names(std::string_view key) { return key == "mig-configs" || key == "pools"; }
// Somebody chose the value.
bool is_name_field(std::string_view key) { return key == "name" || key == "layout"; }

void rename_chosen(const Renamer& renamer, std::string& name) {
  // A resource may stand without its domain.
  const bool is_public = is_mig_name(name) || is_number(name) || name.starts_with("nvidia.com/") ||
                         name == "gpu" || name == "gpu.shared";
  if (!is_public) renamer.name(NameKind::kConfigName, name);
}

void rename(const Renamer& renamer, yaml::Node& node, std::string_view key) {
  if (node.kind == yaml::Kind::kScalar) {
    if (is_name_field(key)) return rename_chosen(renamer, node.scalar);
    return renamer.text(node.scalar);
  }
  for (auto& item : node.items) rename(renamer, item, holds_names(key) ? "" : key);
  for (auto& entry : node.entries) {
    const auto was = entry.key;
    if (holds_names(key)) {
      rename_chosen(renamer, entry.key);
    } else if (!is_field_name(entry.key)) {
      renamer.text(entry.key);
    }
    rename(renamer, entry.value, was);
  }
}

}  // namespace

void rename_yaml(const Renamer& renamer, std::string& text) {
  auto document = yaml::parse(text, "configuration");
  if (document) rename(renamer, document->root, "");
  if (renamer.learns()) return;
  if (!document) return void(text = kLeftOut);
  text = yaml::says_nothing(document->root) ? "" : yaml::write(document->root);
}

}  // namespace tranche::cluster
