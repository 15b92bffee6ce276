#pragma once
// Which of our ResourceClaimTemplates a Pod, or a workload's Pod template, is claimed from. Pure.

#include <set>
#include <string>
#include <string_view>

namespace tranche::controller {

// Names that admission/template_name.h gives; none for a Pod that has ended, and for what cannot be
// read.
std::set<std::string> used_templates(std::string_view object);

// The same as one text, a name a line: what a watch keeps of a Pod.
std::string used_templates_text(const std::string& object);
std::set<std::string> lines_of(std::string_view text);

}  // namespace tranche::controller
