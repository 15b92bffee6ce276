#pragma once
// How the view shows a reading: what a user sets by flags and keys.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "top/view/filter.h"
#include "top/view/line.h"

namespace tranche::top {

// The largest first; names from a. Unknown amounts come last in either direction.
enum class Sort { kMemory, kCompute, kWait, kName };
constexpr std::string_view to_string(Sort sort) {
  switch (sort) {
    case Sort::kMemory:
      return "memory";
    case Sort::kCompute:
      return "compute";
    case Sort::kWait:
      return "wait";
    case Sort::kName:
      break;
  }
  return "name";
}

struct Settings {
  Sort sort = Sort::kName;
  bool reverse = false;
  bool tree = true;       // false: containers and processes alone, in one list
  bool processes = true;  // show those of containers too
  std::optional<Filter> filter{};
  std::set<std::string> closed{};  // ids of rows whose children are not shown
  Signs signs{};
};

}  // namespace tranche::top
