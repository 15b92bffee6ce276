#pragma once
// Keeps the node's CDI specification files in step with the offer, when a CDI strategy is
// configured. NVIDIA's plugin writes them once, at start. This one rewrites them when the devices
// or the driver's files change, removes classes that are no longer wanted, and restores files that
// somebody removed. Used from the agent's loop only.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"
#include "cdi/make_specs.h"
#include "cdi/writer.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

class CdiPublisher final : public Follower {
 public:
  CdiPublisher(config::AgentOptions options, const Log& log);

  // Writes the offer's specifications before it is advertised. Removes what this agent wrote if
  // there is no CDI strategy, or if the driver's files are gone: then the devices are unhealthy
  // (offer_what_cdi_can_name). Errors: the driver's files were missing from the beginning; the
  // folder cannot be written.
  Result<void> follow(const Round& round) override;
  Phase phase() const override { return Phase::kPrepare; }
  void tick(TimePoint now) override;
  void rest() override { files_on_node_.clear(); }
  // The modes (offer/grant.h, cdi_modes) whose class has a device now.
  const std::vector<std::string>& modes() const { return modes_; }

 private:
  Result<cdi::Specs> make(const Round& round) const;
  void say_what_is_gone(const std::shared_ptr<const cdi::DriverFiles>& files);
  Result<void> write(std::span<const cdi::SpecFile> files) const;

  config::AgentOptions options_;
  const Log& log_;
  FsRoot fs_;
  std::shared_ptr<const cdi::DriverFiles> files_;  // of the last specifications
  bool wrote_ = false;
  std::vector<cdi::SpecFile> files_on_node_;  // wanted there
  SaidOnce said_;
  std::vector<std::string> modes_;
  std::vector<std::string> warned_;
};

}  // namespace tranche::agent
