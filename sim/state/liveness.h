#pragma once
// Record locks on the lock file next to a state: one byte per process slot (state.h explains why).

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/state/state.h"

namespace tranche::sim {

// The lock file of the state at `path`, opened once in a process and never closed again.
Result<int> open_lock_file(const std::string& state_path);

// Takes the byte of `slot`; false if another process has it.
bool lock_slot(int fd, unsigned slot);
void unlock_slot(int fd, unsigned slot);
// The owner: its pid as seen from here, 0 if invisible, nullopt if none (or this process
// itself).
std::optional<pid_t> slot_owner(int fd, unsigned slot);

// How this process recognises its own slot, whichever of its libraries took it.
Self current_self();
bool operator==(const Self& a, const Self& b);

}  // namespace tranche::sim
