#pragma once
// What kubelet offers in our place, as its last answer says.

#include <map>
#include <string>

namespace tranche::agent {

struct ServingStanding {
  // The resources that another plugin serves, and how many ids it has for each device: 1 where its
  // ids do not tell.
  std::map<std::string, int> others;
  bool operator==(const ServingStanding&) const = default;
};

}  // namespace tranche::agent
