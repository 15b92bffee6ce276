#include "sim/gpu/memory_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fs.h"
#include "sim/gpu/shared_memory.h"

namespace tranche::sim {
namespace {

namespace fs = std::filesystem;

void add_members(const fs::path& folder, std::set<pid_t>& members) {
  const auto text = FsRoot().read(folder / "cgroup.procs");
  if (!text) return;
  const char* at = text->c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return;
    members.insert(static_cast<pid_t>(pid));
    at = end + std::strspn(end, "\n");
  }
}

// The members of the group and of those below it.
std::set<pid_t> members_of(const fs::path& cgroup) {
  std::set<pid_t> members;
  add_members(cgroup, members);
  std::error_code error;
  // Groups come and go: a removed one has no members.
  for (auto at = fs::recursive_directory_iterator(cgroup, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) add_members(at->path(), members);
  }
  return members;
}

std::uint64_t used_by(const Simulation& sim, std::uint32_t gpu, const std::set<pid_t>& members) {
  std::uint64_t used = 0;
  for (const LiveUse& live : live_uses(sim, gpu)) {
    if (members.contains(live.pid)) used += memory_of(sim, live);
  }
  return used;
}

std::string key_of(const fs::path& cgroup) {
  std::string text = cgroup.lexically_normal();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_there(const char* cgroup) {
  std::error_code error;
  return fs::is_directory(cgroup, error);
}

// The entry of a group; nullptr: there is none. The machine's lock is held.
MemoryLimit* find(State& state, std::uint32_t gpu, const std::string& key) {
  for (MemoryLimit& entry : state.memory_limits) {
    if (entry.used.load(std::memory_order_acquire) != 0 && entry.gpu == gpu &&
        key == entry.cgroup) {
      return &entry;
    }
  }
  return nullptr;
}

// One that is free, or whose group is gone. The machine's lock is held.
MemoryLimit* find_room(State& state) {
  for (MemoryLimit& entry : state.memory_limits) {
    if (entry.used.load() != 0 && is_there(entry.cgroup)) continue;
    if (entry.used.exchange(0) != 0) state.memory_limit_count.fetch_sub(1);
    return &entry;
  }
  return nullptr;
}

}  // namespace

bool has_memory_limits(const State& state) {
  return std::strtoul(state.driver_version, nullptr, 10) >= kMemoryLimitsSince;
}

Result<void> set_memory_limit(const Simulation& sim, std::uint32_t gpu, const fs::path& cgroup,
                              std::uint64_t soft, std::uint64_t hard) {
  State& state = sim.state();
  const std::uint64_t total = state.models[state.gpus[gpu].model].memory_bytes;
  if (soft > hard || soft > total || (hard != kNoMemoryLimit && hard > total)) {
    return fail(Code::kInvalidArgument,
                fmt::format("limits {} and {} on a GPU of {} bytes", soft, hard, total));
  }
  const std::string key = key_of(cgroup);
  if (!cgroup.is_absolute() || key.size() >= sizeof(MemoryLimit::cgroup) ||
      !is_there(key.c_str())) {
    return fail(Code::kNotFound, key + ": no such control group");
  }
  const Simulation::Guard guard(state);
  MemoryLimit* entry = find(state, gpu, key);
  if (soft == 0 && hard == kNoMemoryLimit) {
    if (entry != nullptr && entry->used.exchange(0) != 0) state.memory_limit_count.fetch_sub(1);
    return {};
  }
  if (entry == nullptr) {
    entry = find_room(state);
    if (entry == nullptr) return fail(Code::kUnavailable, "no room for one more memory limit");
    entry->gpu = gpu;
    key.copy(entry->cgroup, key.size());
    entry->cgroup[key.size()] = '\0';
  }
  entry->soft.store(soft);
  entry->hard.store(hard);
  if (entry->used.exchange(1) == 0) state.memory_limit_count.fetch_add(1);
  return {};
}

Result<CgroupMemory> memory_limit(const Simulation& sim, std::uint32_t gpu,
                                  const fs::path& cgroup) {
  const std::string key = key_of(cgroup);
  const auto members = members_of(key);
  const Simulation::Guard guard(sim.state());
  const MemoryLimit* entry = find(sim.state(), gpu, key);
  if (entry == nullptr || !is_there(key.c_str())) {
    return fail(Code::kNotFound, key + ": no memory limit");
  }
  return CgroupMemory{
      .soft = entry->soft.load(), .hard = entry->hard.load(), .used = used_by(sim, gpu, members)};
}

OwnLimits OwnLimits::look(const Simulation& sim, std::uint32_t gpu) {
  OwnLimits own;
  own.gpu_ = gpu;
  State& state = sim.state();
  if (state.memory_limit_count.load(std::memory_order_acquire) == 0) return own;
  struct Seen {
    std::string cgroup;
    std::uint64_t soft;
    std::uint64_t hard;
  };
  std::vector<Seen> seen;
  {
    const Simulation::Guard guard(state);
    for (const MemoryLimit& entry : state.memory_limits) {
      if (entry.used.load() == 0 || entry.gpu != gpu) continue;
      seen.push_back({entry.cgroup, entry.soft.load(), entry.hard.load()});
    }
  }
  // The deepest first: it is the nearest.
  std::ranges::sort(seen, std::ranges::greater(),
                    [](const Seen& one) { return one.cgroup.size(); });
  for (const Seen& one : seen) {
    auto members = members_of(one.cgroup);
    if (members.contains(::getpid())) {
      own.entries_.push_back({one.soft, one.hard, std::move(members)});
    }
  }
  return own;
}

std::uint64_t OwnLimits::room(const Simulation& sim) const {
  std::uint64_t room = kNoMemoryLimit;
  for (const Entry& entry : entries_) {
    const std::uint64_t used = used_by(sim, gpu_, entry.members);
    room = std::min(room, entry.hard - std::min(entry.hard, used));
  }
  return room;
}

CgroupMemory OwnLimits::nearest(const Simulation& sim) const {
  const Entry& entry = entries_.front();
  return {.soft = entry.soft, .hard = entry.hard, .used = used_by(sim, gpu_, entry.members)};
}

}  // namespace tranche::sim
