#pragma once
// What kubelet offers in our place, by its last answer.

#include <map>
#include <string>

namespace tranche::agent {

struct ServingStanding {
  // The resources that another plugin serves, and its number of ids for each device: 1 if unknown.
  std::map<std::string, int> others;
  bool operator==(const ServingStanding&) const = default;
};

}  // namespace tranche::agent
