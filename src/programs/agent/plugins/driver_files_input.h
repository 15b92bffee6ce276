#pragma once
// Looks at the driver's files in each round of the loop, at most every two seconds, so a driver
// that is mounted late, upgraded in place or removed is seen at the next reading of the hardware. A
// watch would miss mounts and changed links. Folders are listed only when stat(2) shows a change
// (cdi/driver_stamp.h), and each minute.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop/stage.h"
#include "agent/plugins/driver_standing.h"
#include "base/clock.h"
#include "base/file_identity.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

class DriverFilesInput final : public Input {
 public:
  // `always`: claims are served, whose containers get the files by CDI with any strategy.
  DriverFilesInput(config::AgentOptions options, bool always, const Clock& clock)
      : options_(std::move(options)), always_(always), clock_(clock) {}

  void look(const offer::Offer& wished, State& state) override;
  std::string trouble(const State& state) const override;

 private:
  // What else the files depend on.
  struct Asked {
    std::string driver_root, driver_on_host, version;
    std::vector<gpu::PciAddress> gpus;
    bool operator==(const Asked&) const = default;
  };
  static Asked asked(const State& state);
  // Whether the files need no listing: they were listed twice with this stamp, because changes
  // during a listing may not show.
  bool is_known(std::vector<FileIdentity> stamp);

  config::AgentOptions options_;
  bool always_;
  const Clock& clock_;
  std::optional<Asked> asked_;
  std::chrono::steady_clock::time_point looked_{}, listed_{};
  std::vector<FileIdentity> stamp_;
  bool confirmed_ = false;
};

// Without the files no container can be made: devices are unhealthy until they are there.
offer::Offer offer_what_cdi_can_name(const State& state, offer::Offer offer);

}  // namespace tranche::agent
