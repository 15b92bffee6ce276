#pragma once
// The labels of a node in values: what every file of this folder adds to.

#include <map>
#include <string>
#include <vector>

namespace tranche::labels {

using Labels = std::map<std::string, std::string>;

struct LabelSet {
  Labels labels;
  std::vector<std::string> warnings;  // one line each, with what to do
  bool operator==(const LabelSet&) const = default;
};

}  // namespace tranche::labels
