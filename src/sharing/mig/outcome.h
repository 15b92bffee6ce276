#pragma once
// What became of the wish for a layout, as the agent writes it on its Node beside the state label
// (mig-applied/v1, cluster::kMigAppliedAnnotation; agent/mig/mig_files.h has all of it). The pools
// (mig/pool_plan.h) read which layout the agent speaks of.

#include <optional>
#include <string>

#include "cluster/node.h"

namespace tranche::mig {

struct Outcome {
  std::string label;    // the layout's name
  std::string trouble;  // why it is not in force; empty: it is

  bool failed() const { return !trouble.empty(); }
};

// nullopt: there is none, or none that can be read.
std::optional<Outcome> outcome_on(const cluster::Node& node);

}  // namespace tranche::mig
