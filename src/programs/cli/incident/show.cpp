#include "cli/incident/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>

#include "base/amounts.h"
#include "base/json.h"
#include "base/json_value.h"
#include "base/printable.h"
#include "cli/shell/output.h"
#include "incidents/incident_json.h"
#include "incidents/incident_words.h"

namespace tranche::cli {
namespace {

using incidents::Holder;
using incidents::Incident;
using incidents::Second;
using Row = std::vector<std::string>;  // of aligned()

std::string size_or(const std::optional<std::uint64_t>& bytes, std::string_view otherwise) {
  return bytes ? size_text(*bytes) : std::string(otherwise);
}

// Whom it concerns: the victim, or for an XID the number of those who held the GPU.
std::string who(const Incident& incident) {
  if (const Holder* const victim = incident.victim()) return name_words(*victim);
  if (!incident.tenant.empty()) return "tenant " + printable(incident.tenant);
  return fmt::format("{} containers", incident.holders.size() + incident.left_out);
}

std::string time_of(const Incident& incident) { return cluster::whole_second_time(incident.at); }

std::string growth_words(const Holder& holder) {
  if (holder.growth.bytes == 0) return "-";
  return fmt::format("{}, {} s before", size_text(holder.growth.bytes),
                     holder.growth.before_ms / 1000);
}

std::string holders_table(const Incident& incident) {
  std::vector<Row> rows{{"HOLDER", "RESOURCE", "LIMIT", "HELD", "GREW"}};
  for (const Holder& holder : incident.holders) {
    rows.push_back({name_words(holder), holder.resource.empty() ? "-" : printable(holder.resource),
                    size_or(holder.limit_bytes, "-"), size_or(holder.held_bytes, "unknown"),
                    growth_words(holder)});
  }
  if (incident.others_bytes > 0) {
    rows.push_back(
        {"processes of no container above", "-", "-", size_text(incident.others_bytes), "-"});
  }
  auto text = aligned(rows);
  if (incident.left_out > 0) text += fmt::format("and {} more\n", incident.left_out);
  return text;
}

std::uint64_t most_of(const std::vector<Second>& seconds, std::uint64_t Second::* value) {
  std::uint64_t most = 0;
  for (const Second& second : seconds) most = std::max(most, second.*value);
  return most;
}

struct Graph {
  std::string_view name;
  std::uint64_t Second::* value;
};
constexpr Graph kGraphs[] = {{"memory", &Second::held_bytes},
                             {"launches", &Second::launches},
                             {"GPU time", &Second::gpu_ms},
                             {"waited", &Second::waited_ms},
                             {"refused", &Second::refused}};

std::string most_words(const Graph& graph, std::uint64_t most) {
  if (graph.value == &Second::held_bytes) return size_text(most);
  const bool is_time = graph.value == &Second::gpu_ms || graph.value == &Second::waited_ms;
  return fmt::format("{}{} a second", most, is_time ? " ms" : "");
}

std::string timeline(const Holder& holder) {
  auto text = fmt::format("\n{}:", name_words(holder));
  if (holder.seconds.empty()) return text + " not recorded\n";
  text += "\n";
  for (const Graph& one : kGraphs) {
    const auto most = most_of(holder.seconds, one.value);
    if (most == 0 && one.value != &Second::held_bytes) continue;
    text += fmt::format("  {:<9}|{}| at most {}\n", one.name,
                        graph(holder.seconds, one.value, most), most_words(one, most));
  }
  return text;
}

json::Value summary_of(const Incident& incident) {
  json::Value value = {{"id", incident.id},
                       {"kind", kind_of(incident.cause)},
                       {"cause", to_string(incident.cause)},
                       {"at", cluster::micro_time(incident.at)},
                       {"device", incident.device}};
  if (const Holder* const victim = incident.victim(); victim && !victim->pod.pod.empty()) {
    value["namespace"] = victim->pod.ns;
    value["pod"] = victim->pod.pod;
    value["container"] = victim->pod.container;
  }
  if (!incident.tenant.empty()) value["tenant"] = incident.tenant;
  value["message"] = victim_words(incident);
  return value;
}

std::string table(const std::vector<Incident>& all) {
  if (all.empty()) return "no incidents\n";
  std::vector<Row> rows{{"INCIDENT", "TIME", "KIND", "WHO", "WHAT"}};
  for (const Incident& incident : std::views::reverse(all)) {
    rows.push_back({incident.id, time_of(incident), std::string(kind_of(incident.cause)),
                    who(incident), victim_words(incident)});
  }
  return aligned(rows);
}

}  // namespace

std::string graph(const std::vector<Second>& seconds, std::uint64_t Second::* value,
                  std::uint64_t most) {
  constexpr std::string_view kLetters = ".:-=+*%#";
  std::string text(Incident::kWindow, ' ');
  for (const Second& second : seconds) {
    if (second.before >= Incident::kWindow) continue;
    // Anything above 0 is seen.
    const auto part =
        static_cast<double>(second.*value) / static_cast<double>(std::max(most, std::uint64_t{1}));
    const auto step = static_cast<std::size_t>(part * static_cast<double>(kLetters.size() - 1));
    const auto letter =
        second.*value == 0 ? 0 : std::clamp<std::size_t>(step, 1, kLetters.size() - 1);
    text[Incident::kWindow - 1 - second.before] = kLetters[letter];
  }
  return text;
}

std::string show_incidents(const std::vector<Incident>& all, config::OutputForm form) {
  if (form == config::OutputForm::kTable) return table(all);
  auto list = json::Value::array();
  for (const Incident& incident : all) list.push_back(summary_of(incident));
  return written({{"version", "incident-list/v1"}, {"incidents", std::move(list)}}, form);
}

std::string show_incident(const Incident& incident, config::OutputForm form) {
  if (form != config::OutputForm::kTable) {
    const auto file = incidents::encode(incident);
    const auto view = json::parse(file);
    return view ? written(json::Value::copy(*view), form) : file;
  }
  auto text = fmt::format("{}: {} on {}, {}\n{}: {}\n\n{}", incident.id, kind_of(incident.cause),
                          printable(incident.device), time_of(incident), who(incident),
                          victim_words(incident), holders_table(incident));
  text += fmt::format(
      "\nThe {} s before, one letter a second, from low to high .:-=+*%# (space: not recorded)\n",
      Incident::kWindow);
  for (const Holder& holder : incident.holders) text += timeline(holder);
  return text;
}

}  // namespace tranche::cli
