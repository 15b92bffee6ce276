#pragma once
// An opened simulated machine: the mapped state (state.h), its lock, and who is alive.
//
// Life: open() maps the state, making it from the machine's YAML when it is not there; the object
// is held by shared_ptr for as long as a call may be running, and unmaps at the end. The lock
// file's descriptor is never closed: closing any descriptor of a file drops all of a process's
// record locks on it, also those of another library in the process. Thread-safe.

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
  std::string machine;  // YAML; may be empty when the state is there already
  std::string state;    // empty: derived from user and machine, see default_state_path()
  std::string clock;    // "wall" or "virtual"; empty: whatever the state has, wall in a new one
};

// TRANCHE_SIM, TRANCHE_SIM_STATE and TRANCHE_SIM_CLOCK, else /run/tranche-sim/state where that
// exists.
OpenOptions options_from_environment();
// $XDG_RUNTIME_DIR or $TMPDIR or /tmp, then tranche-sim-<uid>/<machine>-<hash>.state: one state for
// each user and version of a machine file, so that programs started apart agree.
Result<std::string> default_state_path(const std::string& machine);

class Simulation {
 public:
  // kFailedPrecondition: no machine named, or the state was made from another machine file or with
  // another clock; kInvalidArgument: the YAML is wrong, or the state has another version; kIo.
  static Result<std::shared_ptr<Simulation>> open(const OpenOptions& options);
  Simulation(State* state, std::string path, int lock_fd)
      : state_(state), path_(std::move(path)), lock_fd_(lock_fd) {}
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  State& state() const { return *state_; }
  const std::string& path() const { return path_; }

  // Holds the machine's lock for its lifetime. Never held while waiting for anything else.
  class Guard {
   public:
    explicit Guard(State& state);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    State& state_;
  };

  // Cheap: somebody took process slot `slot` and did not give it back; he may be dead.
  bool is_taken(unsigned slot) const {
    return state_->process_used[slot].load(std::memory_order_acquire) != 0;
  }
  // Whoever holds process slot `slot`: its pid as this process sees it, 0 when it lives in a pid
  // namespace out of sight, nullopt when nobody does.
  std::optional<pid_t> holder(unsigned slot) const;

  // A slot for this process, under `name` (may be empty: the command line is shown). The caller
  // holds no Guard. kUnavailable when all are taken.
  Result<ProcessSlot*> claim_slot(std::string_view name);
  void release_slot(ProcessSlot* slot);

 private:
  State* state_;
  std::string path_;
  int lock_fd_;
};

// A mutex in shared memory that survives the death of its owner.
void make_shared_lock(pthread_mutex_t& lock);

// Waits until `word` differs from `seen` or `timeout_ns` passed (nullopt: for ever). May return
// early.
void futex_wait(const Shared<std::uint32_t>& word, std::uint32_t seen,
                std::optional<std::uint64_t> timeout_ns);
// Changes `word` and wakes everyone who waits for that.
void futex_bump(Shared<std::uint32_t>& word);

}  // namespace tranche::sim
