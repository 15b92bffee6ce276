#include "arbiter/kernel/kernel_limits.h"

#include <algorithm>

#include "fmt/format.h"
#include "host/cgroup.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

bool is_by_kernel(const DeviceLimits& device) { return device.enforcer == MemoryEnforcer::kKernel; }

bool takes_part(const TenantSession& session) {
  return std::ranges::any_of(session.limits().devices, is_by_kernel);
}

TenantSession* session_of(const Sessions& sessions, const std::string& tenant) {
  const auto found = std::ranges::find_if(
      sessions, [&](const TenantSession* session) { return session->limits().id == tenant; });
  return found == sessions.end() ? nullptr : *found;
}

}  // namespace

Result<std::unique_ptr<KernelLimits>> KernelLimits::open(std::shared_ptr<MemoryLimiter> limiter,
                                                         const ExtensionContext& context) {
  ASSIGN_OR_RETURN(auto finder, process::TaskThread::start(context.poller));
  return std::unique_ptr<KernelLimits>(
      new KernelLimits(std::move(limiter), std::move(finder), context));
}

KernelLimits::KernelLimits(std::shared_ptr<MemoryLimiter> limiter,
                           std::unique_ptr<process::TaskThread> finder,
                           const ExtensionContext& context)
    : limiter_(std::move(limiter)),
      cgroup_root_(context.cgroup_root),
      host_(context.host),
      poller_(context.poller),
      clock_(context.clock),
      log_(context.log),
      extensions_(context.extensions),
      sessions_(context.sessions),
      finder_(std::move(finder)) {}

bool KernelLimits::may_answer(const TenantSession& session, const tenant::ProcessId& id) {
  if (!takes_part(session)) return true;
  know(session, id);
  return outcome(session, id).has_value();
}

std::optional<std::string> KernelLimits::outcome(const TenantSession& session,
                                                 const tenant::ProcessId& id) const {
  if (!takes_part(session)) return "";
  const auto known = processes_.find({id.pid, id.start_time});
  if (known == processes_.end()) return std::nullopt;
  const Process& process = known->second;
  if (process.cgroup.empty()) {
    return process.failure.empty() ? std::nullopt : std::optional(process.failure);
  }
  std::string why;
  for (const DeviceLimits& device : session.limits().devices) {
    if (!is_by_kernel(device)) continue;
    const auto limit = limits_.find({process.cgroup, device.uuid});
    if (limit == limits_.end() || !limit->second.settled) return std::nullopt;
    if (why.empty()) why = limit->second.failure;
  }
  return why;
}

void KernelLimits::saw(const TenantSession& session, const tenant::ProcessId& id) {
  if (!takes_part(session)) return;
  know(session, id).stray_until = clock_.now() + kStraysStay;
}

// Records the process as one of the tenant's. A new tenant in a container changes the container's
// limit.
KernelLimits::Process& KernelLimits::know(const TenantSession& session,
                                          const tenant::ProcessId& id) {
  const Key key{id.pid, id.start_time};
  Process& process = processes_[key];
  const bool is_new = process.tenants.insert(session.limits().id).second;
  if (process.cgroup.empty()) {
    if (process.failure.empty()) find(key, process);
  } else if (is_new) {
    containers_[process.cgroup].insert(session.limits().id);
    demand(sessions_());
  }
  return process;
}

void KernelLimits::find(const Key& key, Process& process) {
  if (process.asked) return;
  process.asked = true;
  finder_->post([this, key, host = host_, root = cgroup_root_]() -> process::TaskThread::Done {
    auto cgroup =
        host::is_cgroup_v2(root)
            ? host::find_container_cgroup(host, root, key.pid, key.start_time)
            : fail(Code::kNotFound, fmt::format("{} is no tree of cgroup v2", root.string()),
                   "mount the node's there, or name it with --cgroup-root");
    return [this, key, cgroup = std::move(cgroup)] { found(key, cgroup); };
  });
}

void KernelLimits::found(const Key& key, const Result<std::filesystem::path>& cgroup) {
  const auto entry = processes_.find(key);
  if (entry == processes_.end()) return;
  Process& process = entry->second;
  process.asked = false;
  process.due = clock_.now() + kAgain;
  process.failure = cgroup ? "" : cgroup.error().message();
  if (cgroup) {
    process.cgroup = *cgroup;
    containers_[process.cgroup].insert(process.tenants.begin(), process.tenants.end());
    demand(sessions_());
  }
  settle();
}

void KernelLimits::look() {
  const Sessions sessions = sessions_();
  for (const TenantSession* session : sessions) {
    if (!takes_part(*session)) continue;
    session->each_process([&](const tenant::ProcessId& id) { know(*session, id); });
  }
  forget(sessions);
  demand(sessions);
  const auto now = clock_.now();
  for (auto& [key, process] : processes_) {
    if (process.cgroup.empty() && now >= process.due) find(key, process);
  }
  for (auto& [place, limit] : limits_) {
    if (now < limit.due) continue;
    if (limit.failure.empty()) {
      check(place, limit);
    } else {
      ask(place, limit);
    }
  }
  settle();
}

// Forgets processes that ended, and containers and tenants that are gone.
void KernelLimits::forget(const Sessions& sessions) {
  std::set<Key> registered;
  for (const TenantSession* session : sessions) {
    session->each_process(
        [&](const tenant::ProcessId& id) { registered.insert({id.pid, id.start_time}); });
  }
  const auto now = clock_.now();
  std::erase_if(processes_, [&](const auto& entry) {
    return !registered.contains(entry.first) && now >= entry.second.stray_until;
  });
  for (auto& [cgroup, holders] : containers_) {
    std::erase_if(holders, [&](const std::string& tenant) {
      return session_of(sessions, tenant) == nullptr;
    });
  }
  std::erase_if(containers_, [](const auto& entry) {
    std::error_code ignored;
    return entry.second.empty() || !std::filesystem::exists(entry.first, ignored);
  });
  std::erase_if(limits_, [&](const auto& entry) {
    return !entry.second.asked && !containers_.contains(entry.first.first);
  });
  std::erase_if(failures_, [&](const auto& entry) {
    return session_of(sessions, entry.first.first) == nullptr;
  });
  for (auto& [key, process] : processes_) {
    // Its control group is gone, so the process has moved: look it up again.
    if (!containers_.contains(process.cgroup)) process.cgroup.clear();
  }
}

// Computes the limit of each container and GPU: the sum of what its tenants were promised.
void KernelLimits::demand(const Sessions& sessions) {
  std::map<Place, std::optional<std::uint64_t>> sums;
  for (const auto& [cgroup, tenants] : containers_) {
    for (const auto& tenant : tenants) {
      const TenantSession* session = session_of(sessions, tenant);
      if (session == nullptr) continue;
      for (const DeviceLimits& device : session->limits().devices) {
        const Place place{cgroup, device.uuid};
        if (!is_by_kernel(device) && !limits_.contains(place)) continue;
        const auto most =
            is_by_kernel(device) ? most_memory(session->limits(), device) : std::nullopt;
        const auto bytes = most ? std::optional(most->value) : std::nullopt;
        const auto [sum, is_first] = sums.try_emplace(place, bytes);
        if (is_first || !sum->second) continue;
        sum->second = bytes ? std::optional(*sum->second + *bytes) : std::nullopt;
      }
    }
  }
  for (const auto& [place, bytes] : sums) want(place, bytes);
}

void KernelLimits::want(const Place& place, std::optional<std::uint64_t> bytes) {
  const auto [entry, is_new] = limits_.try_emplace(place);
  Limit& limit = entry->second;
  if (!is_new && limit.wanted == bytes) return;
  limit.wanted = bytes;
  limit.settled = false;
  ask(place, limit);
}

// Holds the memory of tenants whose kernel limit failed, and answers the processes that may be
// answered now.
void KernelLimits::settle() {
  for (TenantSession* session : sessions_()) {
    const auto& devices = session->limits().devices;
    for (unsigned i = 0; i < devices.size(); ++i) {
      const auto failure = failure_of(*session, devices[i].uuid);
      session->hold_memory(i, !failure.empty());
      note(*session, devices[i].uuid, failure);
    }
    session->answer_held();
  }
  extensions_.settled();
}

// Why the kernel does not limit one of the tenant's containers; "": it limits them all.
std::string KernelLimits::failure_of(const TenantSession& session, const std::string& uuid) const {
  const auto& devices = session.limits().devices;
  const auto device = std::ranges::find(devices, uuid, &DeviceLimits::uuid);
  if (!is_by_kernel(*device) || !most_memory(session.limits(), *device)) return {};
  const std::string& tenant = session.limits().id;
  for (const auto& [key, process] : processes_) {
    if (process.tenants.contains(tenant) && process.cgroup.empty() && !process.failure.empty()) {
      return process.failure;
    }
  }
  for (const auto& [cgroup, tenants] : containers_) {
    if (!tenants.contains(tenant)) continue;
    const auto limit = limits_.find({cgroup, uuid});
    if (limit != limits_.end() && !limit->second.failure.empty()) return limit->second.failure;
  }
  return {};
}

void KernelLimits::note(const TenantSession& session, const std::string& uuid,
                        const std::string& failure) {
  const std::pair key{session.limits().id, uuid};
  const auto told = failures_.find(key);
  if (failure.empty()) {
    if (told == failures_.end()) return;
    failures_.erase(told);
    log_.info(fmt::format("tenant {}: the kernel limits its memory of {} now", key.first, uuid));
  } else {
    if (told == failures_.end()) {
      log_.error(fmt::format(
          "tenant {}: the kernel does not limit its memory of {}: {}; until it does the tenant "
          "gets no more of it (tried each second; docs/limits.md)",
          key.first, uuid, failure));
    }
    failures_[key] = failure;
  }
}

void KernelLimits::describe(ArbiterStatus& status) const {
  for (TenantStatus& tenant : status.tenants) {
    const bool failed = std::ranges::any_of(
        failures_, [&](const auto& failure) { return failure.first.first == tenant.id; });
    if (failed) tenant.degraded.push_back(Degraded::kKernelLimitFailed);
  }
  for (const auto& [place, limit] : limits_) {
    if (!limit.changed_at || clock_.now() - *limit.changed_at >= kChangeStays) continue;
    const auto holders = containers_.find(place.first);
    if (holders == containers_.end() || holders->second.empty()) continue;
    status.findings.push_back({.kind = Finding::Kind::kKernelLimitChanged,
                               .tenant = *holders->second.begin(),
                               .name = "",
                               .cgroup = place.first,
                               .device = place.second,
                               .since = limit.changed});
  }
}

}  // namespace tranche::arbiter
