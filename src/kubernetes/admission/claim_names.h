#pragma once
// Names a Pod's claims: DNS labels that no claim of the user has. The same Pod always gets the same
// names, and an existing claim of ours keeps its name.

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

  // The container keeps its claim.
  void take_those_of(const Container& container);
  // Undoes take_those_of() for these containers.
  void give_back(const std::vector<std::string>& containers);
  // "tranche-gpu-<container>" for one owner, "tranche-gpu" for several; numbered if the name is
  // taken.
  std::string name_for(const std::vector<std::string>& owners);

 private:
  bool may_take(const std::string& name) const;

  const Past& past_;
  std::set<std::string> claims_;  // of the Pod
  std::set<std::string> taken_;
};

}  // namespace tranche::admission
