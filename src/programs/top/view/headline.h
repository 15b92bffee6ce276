#pragma once
// What stands above the table: where the figures come from and how old they are, sums, and what is
// not as it should be. Pure.

#include <optional>
#include <string>
#include <vector>

#include "top/view/line.h"
#include "top/view/reading.h"

namespace tranche::top {

// Of the source, beside its last reading.
struct Status {
  std::string from;             // "agent http://localhost:9400"
  std::optional<double> age{};  // seconds since the figures were read; nullopt: not told
  std::string trouble{};        // why the last reading failed; empty: it did not
  std::string note{};           // of a recording, or a replay
  bool paused = false;
};

Line title_line(const Reading* reading, const Status& status, const Signs& signs);
// Memory of all GPUs by what holds it, containers, Pods that wait.
Line sums_line(const Reading& reading, const Signs& signs);
// One for each trouble: readings that fail, nodes that do not report, attribution that is
// incomplete.
std::vector<Line> trouble_lines(const Reading* reading, const Status& status);

}  // namespace tranche::top
