#pragma once
// The labels of a node as values. The files of this folder add to it.

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
