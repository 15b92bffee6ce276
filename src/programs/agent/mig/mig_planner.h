#pragma once
// Finds out what the Node's label asks for and what must be changed for it: reads the file of
// layouts and the hardware, and plans. A plan is kept until the wish or the loop's reading of the
// machine changes, or the GPUs do. Used by the manager's thread; it waits for NVML and for kubelet.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/mig/mig_holders.h"
#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_progress.h"
#include "agent/mig/mig_service.h"
#include "agent/mig/mig_view.h"
#include "agent/mig/mig_wish.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "gpu/mig_control.h"

namespace tranche::agent {

class MigPlanner {
 public:
  // All outlive it.
  struct Ports {
    gpu::MigControl& control;
    MigHolders& holders;
    const Clock& clock;
    const Log& log;
  };
  // `file`: of mig-parted; "": none.
  MigPlanner(std::string file, Ports ports) : file_(std::move(file)), ports_(ports) {}

  // Sets what the facts say of the wish, and without a change under way what they say of its plan.
  // `facts` has the Node's label.
  void look(const MigProgress& progress, const std::shared_ptr<const MigView>& view,
            MigFacts& facts);
  // The next plan is made of what the GPUs have then.
  void forget() { planned_.reset(); }

 private:
  // The loop does not see a mode that waits for a reset, so the GPUs are read again after this
  // time.
  static constexpr std::chrono::seconds kModesAge{10};

  struct Planned {
    std::string wish;  // its key
    std::shared_ptr<const MigView> view;
    Result<MigPlan> plan;
    MigStates states;  // of the GPUs of the wish
    std::chrono::steady_clock::time_point read;
  };

  bool do_all_answer(const gpu::Machine& machine);
  Result<std::optional<std::string>> read_file() const;
  void look_without_file(Error error, const MigProgress& progress, MigFacts& facts);
  void warn(const std::vector<std::string>& warnings);
  // Whether planned_ is the plan now; false: the hardware cannot be read.
  bool plan(const MigWish& wish, const std::shared_ptr<const MigView>& view);
  bool is_current(const MigWish& wish, const std::shared_ptr<const MigView>& view);
  std::optional<MigStates> read_gpus(const MigWish& wish);
  Result<MigPlan> make(const MigWish& wish, const MigStates& states, const MigView& view);
  void look_at_modes(const MigProgress& progress, const gpu::Machine& machine, MigFacts& facts);
  std::optional<MigPlan> lost(const MigOutcome& outcome, const gpu::Machine& machine);
  std::optional<std::vector<cluster::ObjectKey>> holders_of(const MigPlan& plan,
                                                            const MigView& view);

  std::string file_;
  Ports ports_;
  SaidOnce said_;
  std::optional<Planned> planned_;
};

}  // namespace tranche::agent
