#include "support/fake_selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

// "key = value", "key==value", "key != value".
struct Equality {
  std::string key;
  std::string value;
  bool equal = true;
};

std::optional<Equality> parse_equality(const std::string& text) {
  const auto sign = text.find('=');
  if (sign == std::string::npos || sign == 0) return std::nullopt;
  Equality parsed;
  parsed.equal = text[sign - 1] != '!';
  parsed.key = trim(text.substr(0, parsed.equal ? sign : sign - 1));
  parsed.value = trim(text.substr(text.find_first_not_of('=', sign) == std::string::npos
                                      ? text.size()
                                      : text.find_first_not_of('=', sign)));
  const bool good = !parsed.key.empty() && parsed.key.find_first_of(" !(") == std::string::npos &&
                    parsed.value.find_first_of(" =!()") == std::string::npos;
  return good ? std::optional(parsed) : std::nullopt;
}

// "key in (a, b)", "key notin (a)".
struct Set {
  std::string key;
  std::vector<std::string> values;
  bool in = true;
};

std::optional<Set> parse_set(const std::string& text) {
  const auto open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return std::nullopt;
  const auto head = trim(text.substr(0, open));
  const auto space = head.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const auto word = trim(head.substr(space));
  if (word != "in" && word != "notin") return std::nullopt;
  return Set{head.substr(0, space), split(text.substr(open + 1, text.size() - open - 2)),
             word == "in"};
}

Result<bool> label_matches(const json& labels, const std::string& requirement) {
  const auto value_of = [&](const std::string& key) -> std::optional<std::string> {
    const auto found = labels.find(key);
    return found == labels.end() ? std::nullopt : std::optional(found->get<std::string>());
  };
  if (const auto set = parse_set(requirement)) {
    const auto value = value_of(set->key);
    const bool in = value && std::ranges::find(set->values, *value) != set->values.end();
    return in == set->in;
  }
  if (const auto equality = parse_equality(requirement)) {
    return (value_of(equality->key) == equality->value) == equality->equal;
  }
  const bool absent = requirement.starts_with('!');
  const auto key = trim(requirement.substr(absent ? 1 : 0));
  if (!key.empty() && key.find_first_of(" =!,()") == std::string::npos) {
    return value_of(key).has_value() != absent;
  }
  return fail(Code::kInvalidArgument, fmt::format("no label selector: {}", requirement));
}

Result<bool> field_matches(const json& object, const cluster::Kind& kind,
                           const std::string& requirement) {
  const auto equality = parse_equality(requirement);
  if (!equality) {
    return fail(Code::kInvalidArgument, fmt::format("no field selector: {}", requirement));
  }
  const auto& field = equality->key;
  const bool known =
      field == "metadata.name" || field == "metadata.namespace" ||
      (kind == cluster::kPod && (field == "spec.nodeName" || field == "status.phase")) ||
      (kind == cluster::kResourceSlice && (field == "spec.nodeName" || field == "spec.driver"));
  if (!known) {
    return fail(Code::kInvalidArgument, fmt::format("no field label of this kind: {}", field));
  }
  const auto dot = field.find('.');
  const json::json_pointer path("/" + field.substr(0, dot) + "/" + field.substr(dot + 1));
  return (object.value(path, std::string()) == equality->value) == equality->equal;
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
