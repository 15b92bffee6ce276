#pragma once
// An opened simulated machine: the mapped state (state.h), its lock, and its live processes.
//
// Lifetime: open() maps the state, creating it from the machine's YAML if it does not exist. The
// object is held by shared_ptr for as long as a call may be running, and unmaps at the end. The
// lock file's descriptor is never closed: closing any descriptor of a file drops all of a process's
// record locks on it, including those of another library in the process. Thread-safe.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/state/state.h"

namespace tranche::sim {

struct OpenOptions {
  std::string machine;  // YAML; may be empty if the state exists already
  std::string state;    // empty: derived from user and machine, see default_state_path()
  std::string clock;    // "wall" or "virtual"; empty: the state's own, wall in a new one
};

// TRANCHE_SIM, TRANCHE_SIM_STATE and TRANCHE_SIM_CLOCK, else /run/tranche-sim/state if that
// exists.
OpenOptions options_from_environment();
// $XDG_RUNTIME_DIR or $TMPDIR or /tmp, then tranche-sim-<uid>/<machine>-<hash>.state: one state per
// user and version of a machine file, so that independently started programs agree.
Result<std::string> default_state_path(const std::string& machine);

class Simulation {
 public:
  // kFailedPrecondition: no machine named, or the state was created from another machine file or
  // with another clock; kInvalidArgument: the YAML is invalid, or the state has another version;
  // kIo.
  static Result<std::shared_ptr<Simulation>> open(const OpenOptions& options);
  Simulation(State* state, std::string path, int lock_fd)
      : state_(state), path_(std::move(path)), lock_fd_(lock_fd) {}
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  State& state() const { return *state_; }
  const std::string& path() const { return path_; }

  // Holds the machine's lock for its lifetime. Must not be held while waiting for anything else.
  class Guard {
   public:
    explicit Guard(State& state);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    State& state_;
  };

  // Cheap: process slot `slot` was taken and not released; its process may be dead.
  bool is_taken(unsigned slot) const {
    return state_->process_used[slot].load(std::memory_order_acquire) != 0;
  }
  // The holder of process slot `slot`: its pid as this process sees it, 0 if it is in an invisible
  // pid namespace, nullopt if there is none.
  std::optional<pid_t> holder(unsigned slot) const;

  // Takes a slot for this process, under `name` (may be empty: the command line is shown). The
  // caller must not hold a Guard. kUnavailable if all are taken.
  Result<ProcessSlot*> claim_slot(std::string_view name);
  void release_slot(ProcessSlot* slot);

 private:
  State* state_;
  std::string path_;
  int lock_fd_;
};

// A mutex in shared memory that survives the death of its owner.
void make_shared_lock(pthread_mutex_t& lock);

// Waits until `word` differs from `seen` or `timeout_ns` has passed (nullopt: forever). May return
// early.
void futex_wait(const Shared<std::uint32_t>& word, std::uint32_t seen,
                std::optional<std::uint64_t> timeout_ns);
// Changes `word` and wakes all waiters.
void futex_bump(Shared<std::uint32_t>& word);

}  // namespace tranche::sim
