#pragma once
// Which of our ResourceClaimTemplates a Pod, or a workload's Pod template, uses. Pure.

#include <compare>
#include <set>
#include <string>
#include <string_view>

namespace tranche::controller {

struct TemplateUse {
  std::string name;  // of the template (admission/template_name.h)
  // For a Pod without a node: the ResourceClaim made from the template, and its Pod; else empty.
  std::string claim;
  std::string pod_claim;  // its name in the Pod
  std::string pod;
  std::string pod_uid;
  auto operator<=>(const TemplateUse&) const = default;
};

// Empty for a Pod that has ended, and for an unreadable object.
std::set<TemplateUse> used_templates(std::string_view object);

// The same as one text, a use on each line: what a watch keeps of a Pod.
std::string used_templates_text(const std::string& object);
std::set<TemplateUse> uses_of(std::string_view text);

}  // namespace tranche::controller
