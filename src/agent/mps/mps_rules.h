#pragma once
// tranche.mps as a node can have it: what NVIDIA's program is asked once, in this process' life,
// and what follows is said once. Used by one thread.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "agent/mps/mps_daemon.h"
#include "agent/node/node_reporter.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "mps/capability.h"
#include "offer/offer.h"

namespace tranche::agent {

class MpsRules {
 public:
  // `tools` outlives it; `tell` is called with what people should know of the node.
  MpsRules(const MpsTools& tools, std::function<void(const NodeNotice&)> tell)
      : tools_(tools), tell_(std::move(tell)) {}

  // The configuration's, less what this node cannot do. Where nothing is shared by MPS, or nothing
  // is asked for, the program is not asked.
  config::MpsControlRules settle(const config::MpsControlRules& wanted, const gpu::Machine& machine,
                                 const offer::Offer& offer);
  // The program was not there to say: settle() may say another thing next time.
  bool is_open() const { return is_open_; }

 private:
  std::optional<mps::Capability> ask_version();
  void fall_back(const std::string& line);

  const MpsTools& tools_;
  std::function<void(const NodeNotice&)> tell_;
  std::optional<mps::Capability> capability_;
  bool is_open_ = false;
  std::set<std::string> said_;
};

}  // namespace tranche::agent
