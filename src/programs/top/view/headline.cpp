#include "top/view/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/first_few.h"
#include "base/printable.h"
#include "top/view/amounts.h"

namespace tranche::top {
namespace {

constexpr std::size_t kMostNamed = 8;

struct Sums {
  usage::MemoryAccount memory{};  // of the GPUs whose account is known
  std::size_t gpus = 0;
  std::size_t without_account = 0;
  std::size_t containers = 0;
  std::size_t near_limit = 0;
  std::size_t not_attributed = 0;
};

void add(const usage::MemoryAccount& account, usage::MemoryAccount& sum) {
  sum.total += account.total;
  sum.free += account.free;
  sum.reserved += account.reserved;
  sum.containers += account.containers;
  sum.host_processes += account.host_processes;
  sum.unknown += account.unknown;
  sum.unattributed += account.unattributed;
}

bool is_near_limit(const usage::ContainerFigures& container) {
  return container.memory_used && container.memory_limit.value_or(0) > 0 &&
         static_cast<double>(*container.memory_used) >=
             0.9 * static_cast<double>(*container.memory_limit);
}

Sums sums_of(const Reading& reading) {
  Sums sums;
  for (const auto& node : reading.fleet.nodes) {
    for (const auto& gpu : node.usage.gpus) {
      ++sums.gpus;
      if (gpu.memory) {
        add(*gpu.memory, sums.memory);
      } else {
        ++sums.without_account;
        sums.memory.total += gpu.memory_total.value_or(0);
      }
    }
    for (const auto& container : node.usage.containers) {
      ++sums.containers;
      if (is_near_limit(container)) ++sums.near_limit;
      if (!container.attributed) ++sums.not_attributed;
    }
  }
  return sums;
}

std::string counted(std::size_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

void add_reporting(const fleet::Fleet& fleet, Line& line) {
  const auto fresh = static_cast<std::size_t>(
      std::ranges::count(fleet.nodes, fleet::Reporting::kFresh, &fleet::FleetNode::reporting));
  line.add(fmt::format("{} of {} reporting", fresh, counted(fleet.nodes.size(), "node")),
           fresh == fleet.nodes.size() ? Style::kPlain : Style::kBad);
}

void add_waiting(const fleet::Fleet& fleet, const std::string& dot, Line& line) {
  if (fleet.waiting.empty()) return;
  std::map<std::string_view, std::size_t> causes;
  for (const auto& pod : fleet.waiting) ++causes[to_string(pod.cause)];
  std::string text;
  for (const auto& [cause, count] : causes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, count);
  }
  line.add(dot);
  line.add(fmt::format("{} waiting: {}", counted(fleet.waiting.size(), "Pod"), text),
           Style::kWarning);
}

// The checks that do not work, each with the nodes.
void add_checks(const Reading& reading, std::vector<Line>& lines) {
  std::map<std::string, std::vector<std::string>> broken;
  for (const auto& node : reading.fleet.nodes) {
    for (const auto& check : node.usage.checks) {
      if (!check.works) broken[printable(check.name, 60)].push_back(printable(node.name, 100));
    }
  }
  for (const auto& [check, nodes] : broken) {
    Line line;
    const auto where =
        reading.cluster ? fmt::format(" on {}", first_few(nodes, kMostNamed)) : std::string();
    line.add(
        fmt::format("attribution by {} does not work{}: some figures are unknown", check, where),
        Style::kWarning);
    lines.push_back(std::move(line));
    if (lines.size() >= kMostNamed) return;
  }
}

void add_containers(const Sums& sums, Line& line) {
  line.add(counted(sums.containers, "container"));
  if (sums.near_limit > 0) {
    line.add(fmt::format(", {} near the limit", sums.near_limit), Style::kBad);
  }
  if (sums.not_attributed > 0) {
    line.add(fmt::format(", {} not attributed", sums.not_attributed), Style::kUnknown);
  }
}

void add_memory(const Sums& sums, Line& line) {
  const auto& memory = sums.memory;
  const auto part = [&](std::string_view name, std::uint64_t amount, Style style) {
    if (amount == 0) return;
    line.add(fmt::format(" {} ", name));
    line.add(bytes_text(amount), style);
  };
  line.add(fmt::format("memory {}:", bytes_text(memory.total)));
  part("containers", memory.containers, Style::kContainers);
  part("host", memory.host_processes, Style::kHost);
  part("unknown", memory.unknown, Style::kUnknown);
  part("unattributed", memory.unattributed, Style::kUnattributed);
  part("reserved", memory.reserved, Style::kReserved);
  part("free", memory.free, Style::kPlain);
  if (sums.without_account > 0) {
    line.add(fmt::format(" ({} not told apart)", counted(sums.without_account, "GPU")),
             Style::kUnknown);
  }
}

}  // namespace

// What matters most comes first: narrow terminals cut off the rest.
Line title_line(const Reading* reading, const Status& status, const Signs& signs) {
  const std::string dot = fmt::format(" {} ", signs.dot());
  Line line;
  line.add("tranche top", Style::kStrong);
  if (status.paused) {
    line.add(dot);
    line.add("paused", Style::kWarning);
  }
  if (status.age) {
    line.add(dot);
    const bool old = *status.age > 10 || !status.trouble.empty();
    line.add(seconds_text(*status.age) + " old", old ? Style::kBad : Style::kPlain);
  }
  if (reading != nullptr && reading->cluster) {
    line.add(dot);
    add_reporting(reading->fleet, line);
  }
  if (!status.note.empty()) {
    line.add(dot);
    line.add(printable(status.note, 200), Style::kWarning);
  }
  line.add(dot + printable(status.from, 200));
  if (reading != nullptr && !reading->cluster && !reading->fleet.nodes.empty()) {
    const auto& usage = reading->fleet.nodes.front().usage;
    if (!usage.node.empty()) line.add(dot + "node " + printable(usage.node, 100));
    if (!usage.driver_version.empty()) {
      line.add(dot + "driver " + printable(usage.driver_version, 40));
    }
  }
  return line;
}

Line sums_line(const Reading& reading, const Signs& signs) {
  const auto sums = sums_of(reading);
  const std::string dot = fmt::format(" {} ", signs.dot());
  Line line;
  line.add(counted(sums.gpus, "GPU") + dot);
  add_containers(sums, line);
  if (reading.cluster) add_waiting(reading.fleet, dot, line);
  if (sums.gpus > 0) {
    line.add(dot);
    add_memory(sums, line);
  }
  return line;
}

std::vector<Line> trouble_lines(const Reading* reading, const Status& status) {
  std::vector<Line> lines;
  if (!status.trouble.empty()) {
    lines.emplace_back().add(printable(status.trouble, 500), Style::kBad);
  }
  if (reading == nullptr) return lines;
  std::vector<std::string> silent;
  for (const auto& node : reading->fleet.nodes) {
    if (node.reporting == fleet::Reporting::kFresh) continue;
    silent.push_back(fmt::format("{} ({}{}{})", printable(node.name, 100),
                                 to_string(node.reporting), node.why.empty() ? "" : ": ",
                                 printable(node.why, 100)));
  }
  if (!silent.empty())
    lines.emplace_back().add("not reporting: " + first_few(silent, kMostNamed), Style::kBad);
  add_checks(*reading, lines);
  return lines;
}

}  // namespace tranche::top
