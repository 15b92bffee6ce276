#include "cli/output.h"

#include "base/json.h"

namespace tranche::cli {
namespace {

// JSON's strings, numbers and literals are valid YAML.
void yaml(json::View value, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  const auto elements = value.elements();
  const auto members = value.members();
  if (elements.empty() && members.empty()) {
    text.append(" ").append(value.text()).append("\n");
    return;
  }
  text += '\n';
  for (const auto& element : elements) {
    text += indent + "-";
    yaml(element, depth + 1, text);
  }
  for (const auto& member : members) {
    text += indent + member.key + ":";
    yaml(member.value, depth + 1, text);
  }
}

}  // namespace

std::string written(const json::Value& document, config::OutputForm form) {
  if (form == config::OutputForm::kJson) return document.lines() + "\n";
  const auto json = document.text();
  std::string text;
  yaml(json::parse(json).value_or(json::View()), 0, text);
  return text.substr(1);  // without the line break, or the blank, that begins it
}

}  // namespace tranche::cli
