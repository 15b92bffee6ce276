#include "support/fake_selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace tranche::test {
namespace {

using nlohmann::json;

std::string trim(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// At commas that are not in parentheses.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (auto& part : parts) part = trim(part);
  return parts;
}

Result<bool> label_matches(const json& labels, const std::string& requirement) {
  static const std::regex set_form(R"(([^ ]+) +(in|notin) *\(([^)]*)\))");
  static const std::regex equality_form(R"(([^ =!]+) *(=|==|!=) *([^ =!]*))");
  static const std::regex existence_form(R"((!?) *([^ =!,()]+))");
  std::smatch match;
  const auto value_of = [&](const std::string& key) -> std::optional<std::string> {
    const auto found = labels.find(key);
    return found == labels.end() ? std::nullopt : std::optional(found->get<std::string>());
  };
  if (std::regex_match(requirement, match, set_form)) {
    const auto values = split(match[3]);
    const auto value = value_of(match[1]);
    const bool in = value && std::ranges::find(values, *value) != values.end();
    return in == (match[2] == "in");
  }
  if (std::regex_match(requirement, match, equality_form)) {
    return (value_of(match[1]) == std::optional<std::string>(match[3])) == (match[2] != "!=");
  }
  if (std::regex_match(requirement, match, existence_form)) {
    return value_of(match[2]).has_value() == match[1].str().empty();
  }
  return fail(Code::kInvalidArgument, fmt::format("no label selector: {}", requirement));
}

Result<bool> field_matches(const json& object, const cluster::Kind& kind,
                           const std::string& requirement) {
  static const std::regex form(R"(([^ =!]+) *(=|==|!=) *([^ =!]*))");
  std::smatch match;
  if (!std::regex_match(requirement, match, form)) {
    return fail(Code::kInvalidArgument, fmt::format("no field selector: {}", requirement));
  }
  const std::string field = match[1];
  const bool known =
      field == "metadata.name" || field == "metadata.namespace" ||
      (kind == cluster::kPod && (field == "spec.nodeName" || field == "status.phase"));
  if (!known) {
    return fail(Code::kInvalidArgument, fmt::format("no field label of this kind: {}", field));
  }
  const auto dot = field.find('.');
  const auto value = object.value(
      json::json_pointer("/" + field.substr(0, dot) + "/" + field.substr(dot + 1)), std::string());
  return (value == match[3]) == (match[2] != "!=");
}

}  // namespace

Result<bool> selected(const json& object, const cluster::Kind& kind,
                      const cluster::ListOptions& options) {
  const auto& metadata = object.at("metadata");
  bool all = options.ns.empty() || metadata.value("namespace", "") == options.ns;
  const auto labels = metadata.value("labels", json::object());
  if (!options.label_selector.empty()) {
    for (const auto& requirement : split(options.label_selector)) {
      ASSIGN_OR_RETURN(const bool matches, label_matches(labels, requirement));
      all = all && matches;
    }
  }
  if (!options.field_selector.empty()) {
    for (const auto& requirement : split(options.field_selector)) {
      ASSIGN_OR_RETURN(const bool matches, field_matches(object, kind, requirement));
      all = all && matches;
    }
  }
  return all;
}

}  // namespace tranche::test
