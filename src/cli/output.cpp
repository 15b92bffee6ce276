#include "cli/output.h"

#include "base/json_yaml.h"

namespace tranche::cli {

std::string written(const json::Value& document, config::OutputForm form) {
  if (form == config::OutputForm::kJson) return document.lines() + "\n";
  return json::to_yaml(document.text());
}

}  // namespace tranche::cli
