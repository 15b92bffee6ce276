#pragma once
// Executes what the manager's state machine decides: stores journal and outcome, takes devices out
// of service, has the node's own programs release the GPUs, and changes the hardware. The journal
// is on the disk or on the Node before a phase begins, so a new manager continues where this one
// ended.
//
// standing() may be called from any thread, everything else only from the manager's. execute()
// waits for NVML, and in kChanging and kUndoing until the hardware is changed.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_out_of_service.h"
#include "agent/mig/mig_progress.h"
#include "agent/mig/mig_records.h"
#include "agent/mig/mig_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/node.h"
#include "gpu/mig_control.h"
#include "mig/apply.h"

namespace tranche::agent {

struct MigQuiet {
  std::set<std::string> gpus;  // UUIDs of the GPUs that leave service
  bool reset = false;          // one is to be reset, so nobody may have it open
};

class MigExecutor {
 public:
  struct Options {
    std::filesystem::path state_dir;
    std::chrono::nanoseconds changing;  // how long a change of the hardware may take
    mig::Retries retries = {};
  };
  struct Ports {
    gpu::MigControl& control;
    gpu::GpuReset& reset;
    std::string boot;  // this boot's id
    // mig::Hardware::users and quiet; both may be empty.
    std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> instance)> users;
    std::function<Result<std::shared_ptr<void>>(const MigQuiet&, const std::stop_token&)> quiet;
    // Writes progress() on the Node, the journal's second place. True: written.
    std::function<bool(const std::stop_token&)> publish;
    std::function<void()> read_hardware;  // has the agent read the hardware at once
    std::function<void()> look_again;     // has the agent make a new offer
    const Clock& clock;
    const Log& log;
  };
  // Reads the disk: what a stored change takes out of service is out of service from here on.
  MigExecutor(Options options, Ports ports);

  // Takes up what an earlier agent left, from disk or Node, whichever got further: either may have
  // failed to store the text. `node`: nullopt if unknown. True: it is known now what was in
  // progress.
  bool restore(const std::optional<cluster::Node>& node, const MigView& view);

  const MigProgress& progress() const { return progress_; }
  const MigLeaving& leaving() const { return service_.leaving(); }
  MigStanding standing(const gpu::Machine& machine) const { return service_.standing(machine); }

  // Updates what leaves service, and allows a retry some time after a failure.
  void refresh(const MigView& view);
  // False: nothing more to do now.
  bool execute(const MigMove& move, const MigFacts& facts, const MigView& view,
               const std::stop_token& stop);
  // Called once the Node says that the change is over. False: the journal cannot be removed.
  bool close();
  // From here on a missing state label means that a person removed it.
  void note_told(const cluster::Node& node);

 private:
  bool take(const mig::Journal& journal, const MigView& view, const std::stop_token& stop);
  bool store(const mig::Journal& journal, const MigView& view, const std::stop_token& stop);
  void set_journal(std::optional<mig::Journal> journal, const MigView& view);
  void serve();
  void settle(MigOutcome outcome);
  void note_kept(const MigFacts& facts);
  void forget(const MigFacts& facts);
  MigEnd end_of(const mig::Journal& journal) const;
  bool apply(const MigView& view, const std::stop_token& stop);
  Result<void> apply_layout(const MigView& view, const std::stop_token& stop);
  std::function<Result<std::shared_ptr<void>>(bool, const std::stop_token&)> quiet() const;

  Options options_;
  Ports ports_;
  MigRecords records_;
  MigProgress progress_;
  MigOutOfService service_;
  std::chrono::steady_clock::time_point apply_again_{};
};

}  // namespace tranche::agent
