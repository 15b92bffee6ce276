#pragma once
// `tranche limit set|get|reset`: writes the order into the annotation of the Pod's Node, waits for
// the agent's answer there (cluster/formats/limit_settings.h), and shows both. Uses the objects
// port.

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/limit/promises.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/objects.h"
#include "config/programs/limit_options.h"

namespace tranche::cli {

// The result of each setting of the command.
struct LimitReport {
  std::vector<cluster::LimitOutcome> outcomes;
  // A problem to look at (exit code 1): a setting was refused, or was not in force in time. "":
  // none.
  std::string finding;
  std::string node = {};   // on which the Pod runs
  Promises promises = {};  // only of `get`
};

// kNotFound: no such Pod. kInvalidArgument: the Pod has no such container or resource; it has
// several, and none is named. kFailedPrecondition: the Pod does not run.
// Other errors: those of the port. A setting that the agent refuses is removed again. A setting
// that is not in force in time stays.
Result<LimitReport> run_limit(cluster::Objects& objects, const config::LimitOptions& options,
                              const std::stop_token& stop = {});

}  // namespace tranche::cli
