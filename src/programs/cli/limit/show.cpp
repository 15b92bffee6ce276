#include "cli/limit/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "cli/shell/output.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using config::LimitOptions;
using Row = std::vector<std::string>;  // of aligned()

constexpr std::string_view kGone = "gone";

std::string amounts(const LimitOutcome& outcome) {
  std::vector<std::string> parts;
  for (const auto& device : outcome.devices) {
    parts.push_back(fmt::format(
        "{}: memory {}, compute {}", device.uuid,
        device.memory_bytes ? fmt::format("{} MiB", *device.memory_bytes >> 20U) : "no limit",
        device.permille ? fmt::format("{:g}%", *device.permille / 10.0) : "no cap"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

const Row kColumns = {"CONTAINER", "RESOURCE", "MEMORY", "COMPUTE", "CLASS", "STATE", "NOW"};

Row row_of(const LimitOutcome& outcome, bool gone = false) {
  const auto& setting = outcome.setting;
  return {setting.container,
          setting.resource,
          or_dash(setting.memory),
          or_dash(setting.compute),
          or_dash(setting.priority),
          std::string(gone ? kGone : to_string(outcome.state)),
          outcome.devices.empty() ? outcome.message : amounts(outcome)};
}

// Calls `use(entry)` for each outcome as it is encoded.
template <class Use>
void for_each_entry(const std::vector<LimitOutcome>& outcomes, const Use& use) {
  const auto text = cluster::encode(outcomes);
  const auto root = json::parse(text);
  const auto settings = root ? root->find("settings") : std::nullopt;
  for (const auto& entry : settings.value_or(json::View()).elements()) use(entry);
}

std::string table(const LimitReport& report, const LimitOptions& options) {
  if (report.outcomes.empty()) {
    return fmt::format(
        "Pod {}/{}: nothing is set; its containers have what the configuration promises\n",
        options.ns, options.pod);
  }
  std::vector<Row> rows = {kColumns};
  for (const auto& outcome : report.outcomes) rows.push_back(row_of(outcome));
  return aligned(rows);
}

std::string table(const LimitOverview& overview, const LimitOptions& options) {
  const bool pruned = options.verb == LimitOptions::Verb::kPrune;
  if (overview.limits.empty()) {
    return pruned ? "no setting is of a Pod that is gone\n"
                  : "nothing is set; all containers have what the configuration promises\n";
  }
  std::vector<Row> rows = {{"NODE", "NAMESPACE", "POD"}};
  rows.front().insert(rows.front().end(), kColumns.begin(), kColumns.end());
  for (const auto& one : overview.limits) {
    Row row = {one.node, one.outcome.setting.ns, one.outcome.setting.pod};
    std::ranges::move(row_of(one.outcome, one.gone), std::back_inserter(row));
    rows.push_back(std::move(row));
  }
  return (pruned ? "taken away:\n" : "") + aligned(rows);
}

json::Value shown_limit(const std::string& node, const LimitOutcome& outcome, bool gone) {
  json::Value shown = {{"node", node}};
  for_each_entry({outcome}, [&](json::View entry) {
    for (const auto& member : entry.members()) shown[member.key] = json::Value::copy(member.value);
  });
  if (gone) shown["state"] = kGone;
  return shown;
}

json::Value document(json::Value limits) {
  return {{"version", "limit-list/v1"}, {"limits", std::move(limits)}};
}

}  // namespace

std::string show(const LimitReport& report, const LimitOptions& options) {
  if (options.output == LimitOptions::Output::kTable) return table(report, options);
  auto list = json::Value::array();
  for (const auto& outcome : report.outcomes) {
    list.push_back(shown_limit(report.node, outcome, false));
  }
  return written(document(std::move(list)), options.output);
}

std::string show(const LimitOverview& overview, const LimitOptions& options) {
  if (options.output == LimitOptions::Output::kTable) return table(overview, options);
  auto list = json::Value::array();
  for (const auto& one : overview.limits) {
    list.push_back(shown_limit(one.node, one.outcome, one.gone));
  }
  return written(document(std::move(list)), options.output);
}

}  // namespace tranche::cli
