#pragma once
// Which of our ResourceClaimTemplates a Pod, or a workload's Pod template, is claimed from. Pure.

#include <compare>
#include <set>
#include <string>
#include <string_view>

namespace tranche::controller {

struct TemplateUse {
  std::string name;  // of the template: one that admission/template_name.h gives
  // Of a Pod that no node has yet: the ResourceClaim that was made from it, and for whom; else
  // empty.
  std::string claim;
  std::string pod_claim;  // its name in the Pod
  std::string pod;
  std::string pod_uid;
  auto operator<=>(const TemplateUse&) const = default;
};

// None for a Pod that has ended, and for what cannot be read.
std::set<TemplateUse> used_templates(std::string_view object);

// The same as one text, a use a line: what a watch keeps of a Pod.
std::string used_templates_text(const std::string& object);
std::set<TemplateUse> uses_of(std::string_view text);

}  // namespace tranche::controller
