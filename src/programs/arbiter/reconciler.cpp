#include "arbiter/reconciler.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "host/cgroup.h"

namespace tranche::arbiter {

using namespace limit;

Result<std::unique_ptr<Reconciler>> Reconciler::open(gpu::ProcessReader& reader,
                                                     const Options& options,
                                                     process::Poller& poller, const Clock& clock,
                                                     const Log& log, Books books) {
  ASSIGN_OR_RETURN(auto scanner,
                   ProcessScanner::start(reader, options.host, {options.host, options.mps_dir}));
  std::unique_ptr<Reconciler> reconciler(
      new Reconciler(std::move(scanner), options, poller, clock, log, std::move(books)));
  TRY(poller.add(reconciler->scanner_->fd(), [r = reconciler.get()] { r->take(); }));
  return reconciler;
}

Reconciler::Reconciler(std::unique_ptr<ProcessScanner> scanner, const Options& options,
                       process::Poller& poller, const Clock& clock, const Log& log, Books books)
    : scanner_(std::move(scanner)),
      tenants_folder_(options.host, options.tenants),
      poller_(poller),
      clock_(clock),
      log_(log),
      books_(std::move(books)),
      findings_(clock, log) {}

Reconciler::~Reconciler() { poller_.remove(scanner_->fd()); }

void Reconciler::remember(const ArbiterStatus& before) {
  for (const TenantStatus& tenant : before.tenants) {
    for (const TenantDevice& device : tenant.devices) {
      remembered_[{tenant.id, device.limits.uuid}] = device.outside_bytes;
    }
  }
}

void Reconciler::admit(TenantSession& session) {
  const auto& limits = session.limits();
  auto& parts = records_[limits.id];
  parts.clear();
  for (unsigned i = 0; i < limits.devices.size(); ++i) {
    const auto known = remembered_.find({limits.id, limits.devices[i].uuid});
    parts.push_back({.untracked = UntrackedMemory(known == remembered_.end() ? 0 : known->second)});
    wire::DevicePolicy& policy = session.policy().devices[i];
    policy.outside = parts.back().untracked.bytes();
    if (policy.readings == 0) policy.readings = 1;  // readings will follow
  }
  hurry();
}

void Reconciler::hurry() { due_ = std::min(due_, std::max(clock_.now(), asked_ + kSoon)); }

std::chrono::nanoseconds Reconciler::left() const {
  if (scanner_->is_busy()) return kSeldom;  // fd() becomes readable when the answer is there
  return std::max<std::chrono::nanoseconds>(due_ - clock_.now(), std::chrono::nanoseconds(0));
}

void Reconciler::look() {
  const auto now = clock_.now();
  if (scanner_->is_busy() || now < due_) return;
  const Sessions sessions = books_.sessions();
  std::map<std::string, std::set<pid_t>> known;
  bool anybody = false;
  for (const TenantSession* session : sessions) {
    const auto registered = session->registered();
    anybody |= !registered.empty();
    // If a tenant's reports were found wrong, its processes are looked up in /proc for the finding.
    const bool trusted = is_trusted(*session);
    for (const DeviceLimits& device : session->limits().devices) {
      auto& pids = known[device.uuid];
      if (!trusted) continue;
      for (const auto& process : registered) pids.insert(process.pid);
    }
  }
  asked_ = now;
  due_ = now + (anybody ? kEach : kSeldom);
  std::vector<std::string> uuids;
  std::vector<ProcessScanner::Device> devices;
  for (auto& [uuid, pids] : known) {
    uuids.push_back(uuid);
    devices.push_back({uuid, std::move(pids)});
  }
  findings_.keep_only(uuids);
  std::erase_if(devices_, [&](const auto& device) { return !known.contains(device.first); });
  if (devices.empty()) return;
  before_ = charges_of(sessions);
  lost_before_.clear();
  for (const TenantSession* session : sessions) {
    for (const pid_t pid : session->lost()) lost_before_.emplace(session->limits().id, pid);
  }
  scanner_->ask(std::move(devices));
  ++count_.asked;
}

Reconciler::Charges Reconciler::charges_of(const Sessions& sessions) {
  Charges charges;
  for (TenantSession* session : sessions) {
    if (session->awaits_usage()) continue;  // what it charges is unknown
    for (const auto& process : session->registered()) {
      charges[{session->limits().id, process.pid}] = session->usage().kept(process.slot);
    }
  }
  return charges;
}

std::map<std::string, std::vector<Reconciler::Place>> Reconciler::places_of(
    const Sessions& sessions) {
  std::map<std::string, std::vector<Place>> places;
  for (TenantSession* session : sessions) {
    const auto& devices = session->limits().devices;
    for (unsigned i = 0; i < devices.size(); ++i) places[devices[i].uuid].push_back({session, i});
  }
  return places;
}

Reconciler::Part& Reconciler::part_of(const Place& place) {
  return records_.at(place.session->limits().id)[place.index];
}

void Reconciler::take() {
  const auto scan = scanner_->take();
  if (!scan) return;
  ++count_.taken;
  if (scan->devices) {
    note_failure("");
    take_devices(*scan, *scan->devices);
  } else {
    note_failure(scan->devices.error().message());
    for (auto& [id, parts] : records_) {
      for (Part& part : parts) {
        part.unread = true;
        part.compared.reset();
      }
    }
  }
  look();
}

std::map<std::string, std::set<std::string>> Reconciler::containers_of(const Charges& charges,
                                                                       const ProcessScan& scan) {
  std::map<std::string, std::set<std::string>> result;
  for (const auto& [key, charged] : charges) {
    const auto& [tenant, pid] = key;
    const auto group = scan.known_groups.find(pid);
    if (group == scan.known_groups.end()) continue;
    if (const auto container = host::container_of(group->second)) result[*container].insert(tenant);
  }
  return result;
}

void Reconciler::take_devices(const ProcessScan& scan,
                              const std::vector<gpu::DeviceProcesses>& devices) {
  const Sessions sessions = books_.sessions();
  const auto places = places_of(sessions);
  const Charges after = charges_of(sessions);
  const auto containers = containers_of(after, scan);
  for (const auto& [uuid, processes] : devices) {
    const auto here = places.find(uuid);
    if (here == places.end()) continue;  // the device's tenants ended since
    note_device(uuid, processes ? std::nullopt : std::optional(processes.error()), here->second);
    if (!processes) continue;
    DeviceAccount account{
        .device = uuid, .places = here->second, .before = before_, .after = after};
    for (const gpu::DeviceProcess& process : *processes) {
      if (account.book_registered(process)) continue;
      const auto facts = scan.strangers.find(process.pid);
      // A process without facts has ended.
      if (facts == scan.strangers.end()) continue;
      const auto container = host::container_of(facts->second.cgroup.value_or(""));
      const auto tenants = container ? containers.find(*container) : containers.end();
      account.book_stranger(process, facts->second,
                            tenants == containers.end() ? std::set<std::string>() : tenants->second,
                            tenants_folder_, scan.mps_servers.contains(process.pid), on_stray_);
    }
    compare_time(account);
    add_findings(account, scan);
    settle(account);
  }
  release_unlisted(sessions, devices);
}

void Reconciler::release_unlisted(const Sessions& sessions,
                                  const std::vector<gpu::DeviceProcesses>& devices) {
  std::set<std::string> read;
  std::set<pid_t> there;
  for (const auto& [uuid, processes] : devices) {
    if (!processes) continue;
    read.insert(uuid);
    for (const gpu::DeviceProcess& process : *processes) there.insert(process.pid);
  }
  const auto before = std::exchange(listed_, {});
  for (TenantSession* session : sessions) {
    const bool is_read =
        std::ranges::all_of(session->limits().devices,
                            [&](const DeviceLimits& device) { return read.contains(device.uuid); });
    for (const auto& process : session->registered()) {
      const std::pair key{session->limits().id, process.pid};
      if (!there.contains(process.pid) && !before.contains(key)) continue;
      listed_.insert(key);
      if (there.contains(process.pid) || !is_read || !lost_before_.contains(key)) continue;
      session->release_lost(process.pid);
    }
  }
}

// Facts about registered processes come with the reading after the one that shows the problem.
void Reconciler::add_findings(DeviceAccount& account, const ProcessScan& scan) {
  for (std::size_t i = 0; i < account.places.size(); ++i) {
    Part& part = part_of(account.places[i]);
    const auto add = [&](Finding::Kind kind, const auto& processes) {
      for (const gpu::DeviceProcess* process : processes) {
        const auto facts = scan.strangers.find(process->pid);
        if (facts == scan.strangers.end()) continue;
        account.find_registered(kind, *process, facts->second,
                                account.places[i].session->limits().id);
      }
    };
    const auto& forgers = account.booked[i].forgers;
    if (!std::exchange(part.forged, !forgers.empty()) && part.forged) hurry();
    if (part.forged) {
      add(Finding::Kind::kForgedCharge, forgers);
    } else if (part.under.is_found()) {
      add(Finding::Kind::kUnderReported, account.booked[i].suspects());
    }
  }
}

// The first call for a tenant only begins the comparison.
void Reconciler::compare_time(DeviceAccount& account) {
  for (std::size_t i = 0; i < account.places.size(); ++i) {
    const auto& [session, index] = account.places[i];
    Part& part = part_of(account.places[i]);
    const std::string& id = session->limits().id;
    const auto last = std::exchange(part.compared, clock_.now());
    const Ns before = std::exchange(part.charged, books_.charged(id, index));
    const bool was_found = part.under.is_found();
    if (session->is_held() && books_.is_false(id, index)) {
      part.under.accuse();
      if (!was_found) hurry();  // the next reading brings the facts of its processes
    }
    if (!last || !session->is_held() || session->awaits_usage() || !account.mps_servers.empty()) {
      part.under.pause();
      continue;
    }
    const Ns missing = part.under.take(std::chrono::duration_cast<Ns>(clock_.now() - *last),
                                       account.booked[i].busy, part.charged - before);
    if (missing == Ns{0}) continue;
    books_.correct(id, index, missing);
    part.charged += missing;
    if (!was_found) hurry();
  }
}

bool Reconciler::is_trusted(const TenantSession& session) const {
  const auto record = records_.find(session.limits().id);
  return record == records_.end() || std::ranges::none_of(record->second, [](const Part& part) {
           return part.forged || part.under.is_found();
         });
}

void Reconciler::settle(const DeviceAccount& account) {
  for (std::size_t i = 0; i < account.places.size(); ++i) {
    const Place& place = account.places[i];
    Part& part = part_of(place);
    if (place.session->awaits_usage()) continue;
    wire::DevicePolicy& policy = place.session->policy().devices[place.index];
    policy.outside = part.untracked.take(account.booked[i].held);
    if (part.untracked.is_certain()) policy.readings.fetch_add(1);
    part.memory_unreported = account.booked[i].unreported;
    if (!part.untracked.settled()) hurry();
  }
  Device& device = devices_[account.device];
  const bool unreported = std::ranges::any_of(account.booked, &DeviceAccount::Booked::unreported);
  if (unreported && !device.memory_unreported) {
    log_.warn(fmt::format(
        "{}: the driver does not tell what its processes hold; limits of memory hold by what they "
        "charge alone",
        account.device));
  }
  device.memory_unreported = unreported;
  device.others_bytes = account.others_bytes;
  device.mps_servers = account.mps_servers;
  findings_.take(account.device, account.strays);
}

void Reconciler::note_failure(const std::string& failure) {
  if (failure.empty() == failure_.empty()) {
    failure_ = failure;
    return;
  }
  failure_ = failure;
  if (failure.empty()) {
    log_.info("NVML answers: what tenants hold is compared with it again");
  } else {
    log_.warn(fmt::format("{}; until then limits of memory hold by what processes charge alone",
                          failure));
  }
}

void Reconciler::note_device(const std::string& uuid, const std::optional<Error>& failure,
                             const std::vector<Place>& places) {
  for (const Place& place : places) {
    part_of(place).unread = failure.has_value();
    if (failure) part_of(place).compared.reset();
  }
  Device& device = devices_[uuid];
  if (failure && !device.unread) {
    log_.warn(fmt::format(
        "{}: its processes cannot be read: {}; until then limits of memory hold by what processes "
        "charge alone",
        uuid, failure->message()));
  }
  device.unread = failure.has_value();
}

std::uint64_t Reconciler::others_bytes(const std::string& device) const {
  const auto known = devices_.find(device);
  return known == devices_.end() ? 0 : known->second.others_bytes;
}

void Reconciler::describe(ArbiterStatus& status) const {
  status.nvml_failure = failure_;
  status.findings = findings_.current();
  for (const auto& [uuid, device] : devices_) {
    for (const pid_t pid : device.mps_servers) status.mps_servers.push_back({uuid, pid});
  }
  for (TenantStatus& tenant : status.tenants) {
    const auto record = records_.find(tenant.id);
    if (record == records_.end()) continue;
    bool unreported = false;
    bool unread = false;
    for (std::size_t i = 0; i < tenant.devices.size(); ++i) {
      const Part& part = record->second[i];
      tenant.devices[i].outside_bytes = part.untracked.bytes();
      unreported |= part.memory_unreported;
      unread |= part.unread;
    }
    if (unreported) tenant.degraded.push_back(Degraded::kMemoryNotTold);
    if (unread) tenant.degraded.push_back(Degraded::kNotReconciled);
  }
}

}  // namespace tranche::arbiter
