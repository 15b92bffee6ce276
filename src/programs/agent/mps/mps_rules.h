#pragma once
// Reduces the configuration's tranche.mps to what this node supports. NVIDIA's program is asked for
// its version once in this process's life; each fallback is reported once. Used by one thread.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "agent/mps/mps_daemon.h"
#include "agent/node/node_reporter.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "mps/capability.h"
#include "mps/plan.h"
#include "offer/offer.h"

namespace tranche::agent {

class MpsRules {
 public:
  // `tell` receives what people should know of the node.
  MpsRules(const MpsTools& tools, std::function<void(const NodeNotice&)> tell)
      : tools_(tools), tell_(std::move(tell)) {}

  // The wanted rules that this node supports. The program is not asked if no resource is shared by
  // MPS or no rules are wanted.
  config::MpsControlRules settle(const config::MpsControlRules& wanted, const gpu::Machine& machine,
                                 const offer::Offer& offer);
  // Reports resources of the plan without static SM partitions because claims have them.
  void say_open(const config::MpsControlRules& rules, const mps::Plan& plan);
  // True: the program could not be asked, so the next settle() may return other rules.
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
