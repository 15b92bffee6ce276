#include "load/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "load/duration.h"

namespace tranche::load {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the first is aligned left, the others right.
std::string columns(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

std::string heading(const DeviceInfo& device) {
  if (device.name.empty()) return "";
  return fmt::format("{}, {} MiB\n", device.name, device.memory.mib());
}

std::string mib(Bytes size) { return fmt::format("{} MiB", size.mib()); }

void add_latency(const std::optional<Percentiles>& latency, Row& row) {
  for (const auto percentile :
       {&Percentiles::p50, &Percentiles::p90, &Percentiles::p99, &Percentiles::max}) {
    row.push_back(latency && latency->count > 0 ? human((*latency).*percentile) : "-");
  }
}

// Which columns there is something to say in.
struct Shown {
  bool work = false;
  bool latency = false;
};

Row head_of(Shown shown) {
  Row row = {"PROCESS", "PID", "MEMORY"};
  if (shown.work) row.insert(row.end(), {"LAUNCHES", "PER SECOND", "GPU %"});
  if (shown.latency) row.insert(row.end(), {"P50", "P90", "P99", "MAX"});
  return row;
}

Row row_of(const Report& report, Shown shown) {
  Row row = {report.name, report.pid > 0 ? std::to_string(report.pid) : "-", mib(report.memory)};
  if (shown.work) {
    row.push_back(std::to_string(report.launches));
    row.push_back(fmt::format("{:.1f}", report.launches_per_second()));
    row.push_back(fmt::format("{:.1f}", report.gpu_percent()));
  }
  if (shown.latency) add_latency(report.latency, row);
  return row;
}

double sum_of(const std::vector<Report>& reports, double (Report::*of)() const) {
  return std::accumulate(reports.begin(), reports.end(), 0.0,
                         [&](double sum, const Report& one) { return sum + (one.*of)(); });
}

Row total_of(const std::vector<Report>& reports, Shown shown) {
  Bytes memory;
  std::uint64_t launches = 0;
  for (const Report& one : reports) {
    memory.value += one.memory.value;
    launches += one.launches;
  }
  Row row = {"all", "", mib(memory)};
  if (!shown.work) return row;
  row.push_back(std::to_string(launches));
  row.push_back(fmt::format("{:.1f}", sum_of(reports, &Report::launches_per_second)));
  row.push_back(fmt::format("{:.1f}", sum_of(reports, &Report::gpu_percent)));
  return row;
}

std::string notes(const std::vector<Report>& reports) {
  std::string text;
  for (const Report& one : reports) {
    if (!one.refused.empty()) {
      text += fmt::format("{}: got {}, then {}\n", one.name, mib(one.memory), one.refused);
    }
    if (!one.error.empty()) text += fmt::format("{}: {}\n", one.name, one.error);
  }
  return text;
}

Row comparison_row(std::string name, const Report& request, const std::vector<Report>& neighbours) {
  Row row = {std::move(name), fmt::format("{:.1f}", request.launches_per_second())};
  add_latency(request.latency, row);
  row.push_back(
      neighbours.empty() ? "-" : fmt::format("{:.1f}", sum_of(neighbours, &Report::gpu_percent)));
  return row;
}

std::string fate(const Report& report) {
  const std::string done = fmt::format("{} launches", report.launches);
  if (report.error.empty()) return "went on unharmed, " + done;
  return fmt::format("failed after {}: {}", done, report.error);
}

std::string describe(const TroubleResult& result) {
  const Report& offender = result.offender;
  const std::string victim = fate(result.victim);
  switch (result.trouble) {
    case Trouble::kMemory:
      return fmt::format("a neighbour asks for all memory{}: it got {}; the other {}",
                         offender.error.empty() ? "" : " (" + offender.error + ")",
                         mib(offender.memory), victim);
    case Trouble::kKill:
      return fmt::format("a neighbour is killed at work ({}): the other {}", offender.error,
                         victim);
    case Trouble::kFault:
      return fmt::format("a neighbour's kernel writes where it must not ({}): the other {}",
                         offender.error.empty() ? "this driver raised no error" : offender.error,
                         victim);
  }
  return {};
}

json::Value reports_json(const std::vector<Report>& reports) {
  json::Value list = json::Value::array();
  for (const Report& one : reports) list.push_back(to_json(one));
  return list;
}

json::Value result_json(const MechanismResult& result) {
  json::Value json = {{"mechanism", name_of(result.mechanism)},
                      {"available", result.unavailable.empty()}};
  if (!result.unavailable.empty()) {
    json["reason"] = result.unavailable;
    return json;
  }
  json["request"] = to_json(result.request);
  json["neighbours"] = reports_json(result.neighbours);
  auto& troubles = json["troubles"] = json::Value::array();
  for (const TroubleResult& one : result.troubles) {
    troubles.push_back({{"trouble", name_of(one.trouble)},
                        {"offender", to_json(one.offender)},
                        {"victim", to_json(one.victim)}});
  }
  return json;
}

std::string dump(const json::Value& json) { return json.lines() + "\n"; }

}  // namespace

std::string render_table(const Outcome& outcome) {
  Shown shown;
  for (const Report& one : outcome.reports) {
    shown.work = shown.work || one.launches > 0;
    shown.latency = shown.latency || one.latency.has_value();
  }
  std::vector<Row> rows = {head_of(shown)};
  for (const Report& one : outcome.reports) rows.push_back(row_of(one, shown));
  if (outcome.reports.size() > 1) rows.push_back(total_of(outcome.reports, shown));
  return heading(outcome.device) + columns(rows) + notes(outcome.reports);
}

std::string render_table(const Comparison& comparison) {
  std::vector<Row> rows = {
      {"MECHANISM", "REQUESTS/S", "P50", "P90", "P99", "MAX", "NEIGHBOURS' GPU %"}};
  rows.push_back(comparison_row("alone", comparison.request_alone, {comparison.neighbour_alone}));
  std::string after = notes({comparison.request_alone, comparison.neighbour_alone});
  for (const MechanismResult& result : comparison.results) {
    const std::string name(name_of(result.mechanism));
    if (!result.unavailable.empty()) {
      after += fmt::format("{}: not available: {}\n", name, result.unavailable);
      continue;
    }
    rows.push_back(comparison_row(name, result.request, result.neighbours));
    std::vector<Report> reports = result.neighbours;
    reports.insert(reports.begin(), result.request);
    const std::string said = notes(reports);
    if (!said.empty()) after += fmt::format("{}:\n{}", name, said);
    for (const TroubleResult& one : result.troubles) {
      after += fmt::format("{}: {}\n", name, describe(one));
    }
  }
  return heading(comparison.device) + columns(rows) + after;
}

std::string render_json(const Outcome& outcome) {
  return dump({{"device", to_json(outcome.device)}, {"processes", reports_json(outcome.reports)}});
}

std::string render_json(const Comparison& comparison) {
  json::Value results = json::Value::array();
  for (const MechanismResult& one : comparison.results) results.push_back(result_json(one));
  return dump({{"device", to_json(comparison.device)},
               {"alone",
                {{"request", to_json(comparison.request_alone)},
                 {"neighbour", to_json(comparison.neighbour_alone)}}},
               {"mechanisms", results}});
}

}  // namespace tranche::load
