#include "controller/template_uses.h"

#include <algorithm>

#include "admission/names.h"
#include "admission/pod_parts.h"
#include "admission/template_name.h"
#include "base/json.h"

namespace tranche::controller {
namespace {

bool has_pod_ended(json::View object) {
  const auto phase = object.at({"status", "phase"});
  const auto text = phase ? phase->as_string() : std::nullopt;
  return text == "Succeeded" || text == "Failed";
}

}  // namespace

std::set<std::string> used_templates(std::string_view object) {
  // Most objects of a cluster have nothing of ours, and need not be read.
  if (object.find(admission::kOurPrefix) == std::string_view::npos) return {};
  const auto root = json::parse(object);
  if (!root || has_pod_ended(*root)) return {};
  const auto pod = admission::read_pod(*root);
  if (!pod) return {};
  std::set<std::string> used;
  for (const auto& claim : pod->claims) {
    if (admission::parse_template_name(claim.template_name)) used.insert(claim.template_name);
  }
  return used;
}

std::string used_templates_text(const std::string& object) {
  std::string text;
  for (const auto& name : used_templates(object)) text += name + '\n';
  return text;
}

std::set<std::string> lines_of(std::string_view text) {
  std::set<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace tranche::controller
