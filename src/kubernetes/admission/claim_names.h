#pragma once
// Gives names to a Pod's claims: DNS labels that no claim of the user has. The same Pod always gets
// the same names, and a claim that we made before keeps its own.

#include <set>
#include <string>
#include <vector>

#include "admission/past.h"
#include "admission/pod_parts.h"

namespace tranche::admission {

class ClaimNames {
 public:
  // Refers to `past`.
  ClaimNames(const PodParts& pod, const Past& past);

  // The container keeps the claim that it has.
  void take_those_of(const Container& container);
  // The containers do not, after all.
  void give_back(const std::vector<std::string>& containers);
  // "tranche-gpu-<container>" for one owner, "tranche-gpu" for several; with a number behind it
  // where that is another's.
  std::string name_for(const std::vector<std::string>& owners);

 private:
  bool may_take(const std::string& name) const;

  const Past& past_;
  std::set<std::string> claims_;  // of the Pod
  std::set<std::string> taken_;
};

}  // namespace tranche::admission
