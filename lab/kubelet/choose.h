#pragma once
// Which devices a container gets, as kubelet's device manager decides with topology policy "none":
// first what the pod's init containers left, then what the plugin prefers, then the lowest ids in
// string order (kubelet takes any; a stand-in should be repeatable). Pure functions.

#include <set>
#include <string>

#include "base/result.h"
#include "lab/kubelet/types.h"

namespace tranche::lab {

using IdSet = std::set<std::string>;

struct ChoiceInput {
  std::string resource;
  int count = 0;
  IdSet healthy;
  // Held by any container, those of `reusable` included.
  IdSet held;
  // Left over by the pod's init containers.
  IdSet reusable;
};

struct Candidates {
  // Chosen already: the answer must include them.
  IdSet taken;
  // Healthy and free, without `taken`.
  IdSet available;
  // How many more are needed from `available`.
  int missing = 0;
};

// Errors carry kubelet's words ("requested number of devices unavailable for ...").
Result<Candidates> find_candidates(const ChoiceInput& input);

// `taken`, then what is both preferred and available, then the lowest ids. Ascending.
Ids choose(const Candidates& candidates, const Ids& preferred);

}  // namespace tranche::lab
