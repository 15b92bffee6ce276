#include "cli/shell/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/json_yaml.h"

namespace tranche::cli {

std::string written(const json::Value& document, config::OutputForm form) {
  if (form == config::OutputForm::kJson) return document.lines() + "\n";
  return json::to_yaml(document.text());
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    text += row.back() + '\n';
  }
  return text;
}

}  // namespace tranche::cli
