#pragma once
// The outcome of a layout wish, as the agent writes it on its Node next to the state label
// (mig-applied/v1, cluster::kMigAppliedAnnotation; agent/mig/mig_files.h has the full record). The
// pools (mig/pool_plan.h) read which layout the agent refers to.

#include <optional>
#include <string>

#include "cluster/node.h"

namespace tranche::mig {

struct Outcome {
  std::string label;    // the layout's name
  std::string trouble;  // why it is not in effect; empty: it is

  bool failed() const { return !trouble.empty(); }
};

// nullopt: there is none, or it cannot be read.
std::optional<Outcome> outcome_on(const cluster::Node& node);

}  // namespace tranche::mig
