#pragma once
// Keeps the node's CDI specification files in step with the offer, when a CDI strategy is
// configured. NVIDIA's plugin writes them at start and leaves them; here a changed device set is
// written anew and classes no longer wanted are removed. Used from the agent's loop only.

#include <filesystem>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "cdi/make_specs.h"
#include "config/config.h"
#include "config/programs/agent_options.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::agent {

class CdiPublisher {
 public:
  CdiPublisher(config::AgentOptions options, const Log& log);

  // Writes the specifications of `offer`, before it is advertised; returns the modes
  // (offer/grant.h, cdi_modes) whose class has a device. `imex_channels`: those that exist. Without
  // a CDI strategy removes what this agent had written. Errors: the driver's files are missing; the
  // folder cannot be written.
  Result<std::vector<std::string>> update(const offer::Offer& offer, const gpu::Machine& machine,
                                          const config::Config& config,
                                          const std::vector<int>& imex_channels);

 private:
  Result<cdi::Specs> make(const offer::Offer& offer, const gpu::Machine& machine,
                          const config::Config& config,
                          const std::vector<int>& imex_channels) const;

  config::AgentOptions options_;
  const Log& log_;
  FsRoot fs_;
  bool wrote_ = false;
  std::vector<std::string> warned_;
};

}  // namespace tranche::agent
