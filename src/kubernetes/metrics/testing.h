#pragma once
// A strict reader of both text formats, for the tests of metrics/. It knows of the formats what
// their specifications say, and nothing of how metrics/exposition.h writes them.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/format.h"

namespace tranche::metrics {

struct ReadSeries {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;  // as written
  bool operator==(const ReadSeries&) const = default;
};

struct ReadFamily {
  std::string name;
  std::string type;
  std::string unit;
  std::vector<ReadSeries> series;
};

struct ReadPage {
  std::vector<ReadFamily> families;
  std::vector<std::string> faults;  // what the format forbids; empty: a good page

  // Those with this name, in all families.
  std::vector<ReadSeries> named(std::string_view name) const;
  // The value of the only series with this name and, among others, these labels; otherwise how many
  // there are, as "2 series".
  std::string value(std::string_view name, const std::map<std::string, std::string>& labels) const;
  std::size_t size() const;
};

ReadPage read_page(std::string_view text, Format format);

}  // namespace tranche::metrics
