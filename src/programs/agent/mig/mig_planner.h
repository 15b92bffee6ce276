#pragma once
// Finds out what the Node's label asks for and which changes it needs: reads the file of layouts
// and the hardware, and plans. A plan is kept until the wish, the loop's reading of the machine, or
// the GPUs change. Used by the manager's thread; waits for NVML and kubelet.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/config/reading_mark.h"
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
  struct Ports {
    gpu::MigControl& control;
    MigHolders& holders;
    const Clock& clock;
    const Log& log;
  };
  // `file`: of mig-parted; "": none. `mark`: where its reading is marked.
  MigPlanner(std::string file, ReadingMark mark, Ports ports)
      : file_(std::move(file)), mark_(std::move(mark)), ports_(ports) {}

  // Fills in the facts about the wish, and without a change in progress about its plan. `facts` has
  // the Node's label.
  void look(const MigProgress& progress, const std::shared_ptr<const MigView>& view,
            MigFacts& facts);
  // The next plan is made from a new reading of the GPUs.
  void forget() { planned_.reset(); }

 private:
  // How often GPUs are read again: the loop does not see a mode that waits for a reset.
  static constexpr std::chrono::seconds kModesAge{10};

  struct Planned {
    std::string wish;  // its key
    std::shared_ptr<const MigView> view;
    Result<MigPlan> plan;
    MigStates states;  // of the wish's GPUs
    std::chrono::steady_clock::time_point read;
  };

  bool do_all_answer(const gpu::Machine& machine);
  Result<std::optional<std::string>> read_file() const;
  Result<MigWish> read(const std::string& label, const std::optional<std::string>& text,
                       const gpu::Machine& machine);
  void look_without_file(Error error, const MigProgress& progress, MigFacts& facts);
  void warn(const std::vector<std::string>& warnings);
  // Makes planned_ up to date; false: the hardware cannot be read.
  bool plan(const MigWish& wish, const std::shared_ptr<const MigView>& view);
  bool is_current(const MigWish& wish, const std::shared_ptr<const MigView>& view);
  std::optional<MigStates> read_gpus(const MigWish& wish);
  Result<MigPlan> make(const MigWish& wish, const MigStates& states, const MigView& view);
  void look_at_modes(const MigProgress& progress, const gpu::Machine& machine, MigFacts& facts);
  std::optional<MigPlan> lost(const MigOutcome& outcome, const gpu::Machine& machine);
  std::optional<std::vector<cluster::ObjectKey>> holders_of(const MigPlan& plan,
                                                            const MigView& view);

  std::string file_;
  ReadingMark mark_;
  std::optional<std::string> survived_;  // the last text whose reading this process survived
  Ports ports_;
  SaidOnce said_;
  std::optional<Planned> planned_;
};

}  // namespace tranche::agent
