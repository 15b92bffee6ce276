#include "sim/state/simulation.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/state/liveness.h"

namespace tranche::sim {

Simulation::~Simulation() { ::munmap(state_, sizeof(State)); }

Simulation::Guard::Guard(State& state) : state_(state) {
  // Changes are published by their last store, so what a dead owner left is consistent.
  if (::pthread_mutex_lock(&state_.lock) == EOWNERDEAD) ::pthread_mutex_consistent(&state_.lock);
}

Simulation::Guard::~Guard() { ::pthread_mutex_unlock(&state_.lock); }

std::optional<pid_t> Simulation::holder(unsigned slot) const {
  if (!is_taken(slot)) return std::nullopt;
  if (const auto owner = slot_owner(lock_fd_, slot)) return owner;
  const ProcessSlot& process = state_->processes[slot];
  // Own locks are not reported. The pid is compared before the costly rest.
  if (process.self.pid != static_cast<std::uint64_t>(::getpid())) return std::nullopt;
  if (!(process.self == current_self())) return std::nullopt;
  return ::getpid();
}

Result<ProcessSlot*> Simulation::claim_slot(std::string_view name) {
  const Guard guard(*state_);
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    if (holder(i)) continue;
    // Between a death and this moment someone may wait for the byte; then it is his.
    if (!lock_slot(lock_fd_, i)) continue;
    ProcessSlot& slot = state_->processes[i];
    state_->process_used[i].store(0, std::memory_order_release);
    std::memset(static_cast<void*>(slot.uses), 0, sizeof slot.uses);
    slot.open_gpus.store(0);
    slot.self = current_self();
    slot.holder.fetch_add(1, std::memory_order_release);
    state_->wishes[i].until_ns.store(kNoWish, std::memory_order_release);
    const std::size_t length = std::min(name.size(), sizeof slot.name - 1);
    std::memset(slot.name, 0, sizeof slot.name);
    name.copy(slot.name, length);
    state_->process_used[i].store(1, std::memory_order_release);
    return &slot;
  }
  return fail(Code::kUnavailable, "all process slots of the simulated machine are taken",
              "end some of its processes");
}

void Simulation::release_slot(ProcessSlot* slot) {
  const Guard guard(*state_);
  const auto index = static_cast<unsigned>(slot - state_->processes);
  state_->process_used[index].store(0, std::memory_order_release);
  unlock_slot(lock_fd_, index);
}

void make_shared_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&lock, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

void futex_wait(const Shared<std::uint32_t>& word, std::uint32_t seen,
                std::optional<std::uint64_t> timeout_ns) {
  timespec limit = {};
  if (timeout_ns) {
    limit.tv_sec = static_cast<time_t>(*timeout_ns / 1'000'000'000U);
    limit.tv_nsec = static_cast<long>(*timeout_ns % 1'000'000'000U);
  }
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, timeout_ns ? &limit : nullptr, nullptr, 0);
}

void futex_bump(Shared<std::uint32_t>& word) {
  word.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 0x7FFFFFFF, nullptr, nullptr, 0);
}

}  // namespace tranche::sim
