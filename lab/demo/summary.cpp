#include "lab/demo/summary.h"

#include <fmt/format.h>

#include "lab/demo/text.h"

namespace tranche::demo {

std::vector<std::string> summary_lines(const Summary& summary) {
  using enum Table::Align;
  Table table({kLeft, kLeft, kRight, kRight, kRight});
  const auto number = [](int value) { return fmt::format("{}", value); };
  Summary::Row total;
  table.add({"node", "simulated GPU", "before", "key any", "keys l20, t4"});
  for (const auto& row : summary.nodes) {
    table.add({row.node, row.gpu, number(row.before), number(row.any), number(row.sized)});
    total.before += row.before;
    total.any += row.any;
    total.sized += row.sized;
  }
  table.add({"total", "", number(total.before), number(total.any), number(total.sized)});
  table.add(
      {"Pods running", "", number(summary.running_before), "", number(summary.running_after)});
  table.add(
      {"Pods Pending", "", number(summary.pending_before), "", number(summary.pending_after)});
  return table.lines();
}

}  // namespace tranche::demo
