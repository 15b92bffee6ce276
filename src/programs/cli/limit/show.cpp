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

std::string text_of(const Promise::Part& promised) {
  if (!promised.part) return promised.device + ": no limits";
  const auto& part = *promised.part;
  return fmt::format("{}: memory {}, compute {}{}", promised.device,
                     part.memory ? fmt::format("{} MiB", part.memory->value >> 20U) : "no limit",
                     part.permille
                         ? fmt::format("{:g}%", static_cast<double>(*part.permille) / 10.0)
                         : fmt::format("weight {}", part.weight),
                     part.enforcer.empty() ? "" : " (" + part.enforcer + ")");
}

std::string text_of(const Promise& promise) {
  std::vector<std::string> parts;
  for (const auto& part : promise.parts) parts.push_back(text_of(part));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool is_about(const Promise& promise, const LimitOutcome& outcome) {
  return promise.container == outcome.setting.container &&
         promise.resource == outcome.setting.resource;
}

bool is_in_force(const Promise& promise, const std::vector<LimitOutcome>& outcomes) {
  return std::ranges::none_of(outcomes, [&](const LimitOutcome& one) {
    return one.state == LimitOutcome::State::kHolds && is_about(promise, one);
  });
}

std::string promised(const LimitOutcome& outcome, const Promises& promises) {
  const auto found = std::ranges::find_if(
      promises.all, [&](const Promise& one) { return is_about(one, outcome); });
  return found == promises.all.end() ? "-" : text_of(*found);
}

std::string_view by_whom(const LimitOutcome& outcome) {
  return outcome.by == LimitOutcome::By::kAnnotations ? "annotations" : "tranche limit";
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

std::string nothing(const LimitReport& report, const LimitOptions& options) {
  const auto& trouble = report.promises.trouble;
  return fmt::format(
      "Pod {}/{}: nothing is set; its containers have what the configuration {}\n", options.ns,
      options.pod,
      trouble.empty() ? "promises" : fmt::format("promises, which is not known ({})", trouble));
}

// What is asked, then what holds because nothing else does.
std::string table_of_get(const LimitReport& report) {
  std::vector<Row> rows = {kColumns};
  rows.front().insert(rows.front().end(), {"BY", "PROMISED"});
  for (const auto& outcome : report.outcomes) {
    auto& row = rows.emplace_back(row_of(outcome));
    row.emplace_back(by_whom(outcome));
    row.push_back(promised(outcome, report.promises));
  }
  for (const auto& promise : report.promises.all) {
    if (!is_in_force(promise, report.outcomes)) continue;
    rows.push_back({promise.container, promise.resource, "-", "-", "-", "holds", "as promised",
                    promise.resource.starts_with(cluster::kClaimPrefix) ? "claim" : "configuration",
                    text_of(promise)});
  }
  return aligned(rows);
}

std::string table(const LimitReport& report, const LimitOptions& options) {
  if (report.outcomes.empty() && report.promises.all.empty()) return nothing(report, options);
  if (options.verb == LimitOptions::Verb::kGet) return table_of_get(report);
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

json::Value document_of(const Promises& promises) {
  auto list = json::Value::array();
  for (const auto& promise : promises.all) {
    for (const auto& [device, part] : promise.parts) {
      json::Value shown = {
          {"container", promise.container}, {"resource", promise.resource}, {"uuid", device}};
      if (part && part->memory) shown["memoryBytes"] = part->memory->value;
      if (part && part->permille) shown["permille"] = *part->permille;
      if (part && !part->enforcer.empty()) shown["enforcer"] = part->enforcer;
      list.push_back(std::move(shown));
    }
  }
  return list;
}

}  // namespace

std::string show(const LimitReport& report, const LimitOptions& options) {
  if (options.output == LimitOptions::Output::kTable) return table(report, options);
  auto list = json::Value::array();
  for (const auto& outcome : report.outcomes) {
    list.push_back(shown_limit(report.node, outcome, false));
  }
  auto shown = document(std::move(list));
  const bool is_known = report.promises.trouble.empty();
  if (options.verb == LimitOptions::Verb::kGet && is_known) {
    shown["promised"] = document_of(report.promises);
  }
  return written(shown, options.output);
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
