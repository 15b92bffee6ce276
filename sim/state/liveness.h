#pragma once
// Record locks on the lock file beside a state: one byte for each process slot (state.h says why).

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "sim/state/state.h"

namespace tranche::sim {

// The lock file of the state at `path`, opened once in a process and never closed again.
Result<int> open_lock_file(const std::string& state_path);

// Takes the byte of `slot`; false when someone has it.
bool lock_slot(int fd, unsigned slot);
void unlock_slot(int fd, unsigned slot);
// Who has it: pid seen from here, 0 when out of sight, nullopt when nobody (or this process
// itself).
std::optional<pid_t> slot_owner(int fd, unsigned slot);

// How this process recognises its own slot, whichever of its libraries claimed it.
Self current_self();
bool operator==(const Self& a, const Self& b);

}  // namespace tranche::sim
