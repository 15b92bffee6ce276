#include "cli/doctor/report.h"

#include <fmt/format.h>

namespace tranche::cli {

std::string doctor_text(const std::vector<explain::Finding>& findings) {
  if (findings.empty())
    return fmt::format("{} checks, no finding\n", explain::node_checks().size());
  std::string text;
  for (const auto& [check, where, detail] : findings) {
    text += fmt::format("{}  {}\n", check->id, check->what);
    if (!where.empty()) text += fmt::format("    where: {}\n", where);
    if (!detail.empty()) text += fmt::format("    said:  {}\n", detail);
    text += fmt::format("    do:    {}\n", check->fix);
  }
  return text;
}

json::Value doctor_document(const std::vector<explain::Finding>& findings) {
  auto list = json::Value::array();
  for (const auto& [check, where, detail] : findings) {
    json::Value one = {{"id", check->id}, {"what", check->what}, {"do", check->fix}};
    if (!where.empty()) one["where"] = where;
    if (!detail.empty()) one["said"] = detail;
    list.push_back(std::move(one));
  }
  json::Value document = json::Value::object();
  document["version"] = "doctor/v1";
  document["findings"] = std::move(list);
  return document;
}

}  // namespace tranche::cli
