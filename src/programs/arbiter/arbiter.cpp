#include "arbiter/arbiter.h"

#include <random>
#include <utility>

#include "base/short_slice.h"
#include "fmt/format.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

Batch batch_of(const wire::Interval& interval) {
  const auto time = [](std::uint64_t ns) { return Ns{static_cast<std::int64_t>(ns)}; };
  return {{time(interval.begin), time(interval.end)}, time(interval.asked_ns)};
}

void take(DeviceScheduler::Part& part, const wire::Interval& interval) {
  part.activity.ended.push_back(batch_of(interval));
  part.launches += interval.launches;
}

}  // namespace

Arbiter::Arbiter(ArbiterOptions options, TenantFiles files, process::Poller poller,
                 const Clock& clock, const Log& log)
    : options_(std::move(options)),
      alive_(options_.state_dir / process::LivenessFile::kArbiters, clock),
      files_(std::move(files)),
      poller_(std::move(poller)),
      clock_(clock),
      log_(log),
      epoch_(std::random_device{}()),
      status_file_(options_.state_dir, clock, log),
      recorder_({options_.state_dir, options_.tenants, options_.stall_after}, clock, log),
      lender_(log),
      foreign_files_(options_.host, clock) {}

Arbiter::~Arbiter() { poller_.remove(files_.fd()); }

Result<std::unique_ptr<Arbiter>> Arbiter::open(const ArbiterOptions& options, const Clock& clock,
                                               const Log& log, gpu::ProcessReader* processes,
                                               const std::vector<MakeExtension>& extensions) {
  std::error_code error;
  std::filesystem::create_directories(options.state_dir, error);
  if (error) return std::unexpected(errno_error(error.value(), options.state_dir.string()));
  ASSIGN_OR_RETURN(auto files, TenantFiles::open(options.tenants, clock, log));
  ASSIGN_OR_RETURN(auto poller, process::Poller::create());
  std::unique_ptr<Arbiter> arbiter(
      new Arbiter(options, std::move(files), std::move(poller), clock, log));
  TRY(arbiter->poller_.add(arbiter->files_.fd(), [a = arbiter.get()] {
    if (a->files_.drain()) a->scan();
  }));
  if (processes != nullptr) {
    ASSIGN_OR_RETURN(arbiter->reconciler_,
                     Reconciler::open(*processes, {options.tenants, options.mps_dir, options.host},
                                      arbiter->poller_, clock, log, arbiter->books()));
    arbiter->reconciler_->remember(arbiter->status_file_.before());
  }
  TRY(arbiter->extend(extensions));
  arbiter->scan();
  return arbiter;
}

Result<void> Arbiter::extend(const std::vector<MakeExtension>& extensions) {
  if (extensions.empty()) return {};
  const ArbiterStatus before = status_file_.before();
  const ExtensionContext context{.tenants = options_.tenants,
                                 .cgroup_root = options_.cgroup_root,
                                 .host = options_.host,
                                 .poller = poller_,
                                 .clock = clock_,
                                 .log = log_,
                                 .extensions = extensions_,
                                 .before = before,
                                 .sessions = [this] { return sessions(); }};
  for (const MakeExtension& make : extensions) {
    ASSIGN_OR_RETURN(auto extension, make(context));
    extensions_.add(std::move(extension));
  }
  if (reconciler_ != nullptr) {
    reconciler_->on_stray([this](const TenantSession& session, const tenant::ProcessId& id) {
      extensions_.saw(session, id);
    });
  }
  return {};
}

Ns Arbiter::now() const { return std::chrono::duration_cast<Ns>(clock_.now().time_since_epoch()); }

void Arbiter::run(const std::stop_token& stop) {
  ask_for_short_slices();
  while (!stop.stop_requested()) round(left());
}

std::chrono::milliseconds Arbiter::left() const {
  Ns time = kRest;
  if (awake_) time = std::min(time, next_step_ - now());
  if (lend_again_) time = std::min(time, kLendsIn);
  if (reconciler_ != nullptr) time = std::min(time, Ns{reconciler_->left()});
  return std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Ns{0}));
}

void Arbiter::round(std::chrono::milliseconds timeout) {
  look_around(poller_.wait(timeout));
  const bool due = !awake_ || now() >= next_step_;
  if (!due && !hurried_) return;
  if (due) hurried_left_ = kHurried;
  hurried_ = false;
  if (step()) {
    last_work_ = now();
    set_awake(true);
  } else if (awake_ && now() - last_work_ >= kLinger) {
    set_awake(false);
    // A process that began to work before `awake` was cleared did not call the arbiter: look once
    // more.
    if (step()) set_awake(true);
  }
}

// An awake arbiter steps anyway. Only a latency-critical tenant needs a step before the next one is
// due.
void Arbiter::notice(const std::string& id, wire::Message kind) {
  if (kind == wire::Message::kContext && reconciler_ != nullptr) reconciler_->hurry();
  if (kind != wire::Message::kWaiting) return;
  const auto entry = tenants_.find(id);
  if (entry == tenants_.end()) return;
  if (entry->second.session->limits().priority != Priority::kLatencyCritical) return;
  if (hurried_left_ == 0) return;
  --hurried_left_;
  hurried_ = true;
}

Ns Arbiter::charged(const std::string& id, unsigned index) const {
  const auto entry = tenants_.find(id);
  if (entry == tenants_.end()) return Ns{0};
  const Tenant& tenant = entry->second;
  return devices_.at(tenant.session->limits().devices[index].uuid).charged(tenant.id);
}

bool Arbiter::is_false(const std::string& id, unsigned index) const {
  const auto entry = tenants_.find(id);
  if (entry == tenants_.end()) return false;
  const Tenant& tenant = entry->second;
  return devices_.at(tenant.session->limits().devices[index].uuid).is_false(tenant.id);
}

void Arbiter::scan() {
  files_.scan(
      {[this](const std::string& id, TenantLimits limits) { return serve(id, std::move(limits)); },
       [this](const std::string& id) { release(id); },
       [this](const std::set<std::string>& there) {
         tenant::Usage::remove_others(options_.state_dir, there);
       }});
  lend();
  recorder_.answer();
  extensions_.look();
}

Result<void> Arbiter::serve(const std::string& id, TenantLimits limits) {
  const auto known = tenants_.find(id);
  if (known == tenants_.end()) return admit(id, std::move(limits));
  TRY(known->second.session->change(std::move(limits)));
  place(known->second);
  return {};
}

Result<void> Arbiter::admit(const std::string& id, TenantLimits limits) {
  ASSIGN_OR_RETURN(
      auto session,
      TenantSession::open(
          std::move(limits),
          {options_.tenants / id / "arbiter.sock", options_.state_dir, epoch_,
           [this](const TenantSession& of, const tenant::ProcessId& process) {
             return extensions_.may_answer(of, process);
           },
           [this, id](const tenant::ProcessId& process) { foreign_files_.note(id, process); }},
          {.poller = poller_,
           .clock = clock_,
           .log = log_,
           .places = places_,
           .on_notice = [this, id](wire::Message kind, unsigned) { notice(id, kind); }}));
  Tenant& tenant =
      tenants_.emplace(id, Tenant{TenantId{next_id_++}, std::move(session)}).first->second;
  tenant.session->policy().awake = awake_ ? 1 : 0;
  if (reconciler_ != nullptr) reconciler_->admit(*tenant.session);
  place(tenant);
  put_in_order();
  return {};
}

void Arbiter::place(Tenant& tenant) {
  const auto& devices = tenant.session->limits().devices;
  tenant.parts.clear();
  tenant.schedulers.clear();
  for (unsigned i = 0; i < devices.size(); ++i) {
    DeviceScheduler& device = devices_.try_emplace(devices[i].uuid, now()).first->second;
    tenant.parts.push_back(&device.put(tenant.id, *tenant.session, i));
    tenant.schedulers.push_back(&device);
  }
  next_step_ = now();  // a step must fill in its policy page
}

void Arbiter::release(const std::string& id) {
  const auto entry = tenants_.find(id);
  for (const auto& device : entry->second.session->limits().devices) {
    devices_.at(device.uuid).remove(entry->second.id);
  }
  std::erase_if(devices_, [](const auto& device) { return device.second.empty(); });
  if (reconciler_ != nullptr) reconciler_->forget(id);
  entry->second.session->retire();
  tenants_.erase(entry);
  put_in_order();
}

void Arbiter::put_in_order() {
  is_reading_ready_ = false;
  order_.clear();
  for (auto& [id, tenant] : tenants_) order_.push_back(&tenant);
}

// Reads every slot once, then steps every device.
bool Arbiter::step() {
  if (now() - beat_ >= kBeat) beat();  // first, because the step may take long
  read_slots();
  bool is_busy = false;
  Ns pace = kRest;
  for (auto& [uuid, device] : devices_) {
    is_busy |= device.step(now());
    pace = std::min(pace, device.pace());
  }
  next_step_ = now() + pace;
  return is_busy;
}

void Arbiter::beat() {
  beat_ = now();
  const auto time = static_cast<std::uint64_t>(beat_.count());
  for (Tenant* tenant : order_) tenant->session->policy().heartbeat = time;
}

void Arbiter::read_slots() {
  // The slots are in the caches of the cores that wrote them. They are prefetched kAhead tenants in
  // advance.
  constexpr std::size_t kAhead = 4;
  for (std::size_t next = 0; next < order_.size() + kAhead; ++next) {
    if (next < order_.size()) order_[next]->session->prefetch(order_[next]->next_slot, kMostSlots);
    if (next >= kAhead) read_slots(*order_[next - kAhead]);
  }
}

void Arbiter::read_slots(Tenant& tenant) {
  for (const wire::Interval& interval : tenant.session->take_left()) {
    take(*tenant.parts[interval.device], interval);
  }
  const auto& slots = tenant.session->slots();
  const Ns time = now();
  std::size_t intervals = 0;
  for (std::size_t i = 0; i < std::min(slots.size(), kMostSlots) && intervals < kMostIntervals;
       ++i) {
    tenant.next_slot %= slots.size();
    read_slot(tenant, slots[tenant.next_slot++], time);
    intervals += reading_.intervals.size();
  }
  add_up(tenant);
}

void Arbiter::read_slot(Tenant& tenant, unsigned slot, Ns time) {
  tenant.session->usage().read(slot, reading_);
  unsigned spoke = 0;  // devices with a batch that ended, one bit each
  for (const wire::Interval& interval : reading_.intervals) {
    take(*tenant.parts[interval.device], interval);
    spoke |= 1U << interval.device;
  }
  const std::size_t first = slot * tenant.parts.size();
  if (tenant.work.size() < first + tenant.parts.size()) {
    tenant.work.resize(first + tenant.parts.size());
  }
  for (unsigned i = 0; i < tenant.parts.size(); ++i) {
    SlotWork& work = tenant.work[first + i];
    work.unfinished = Ns{static_cast<std::int64_t>(reading_.unfinished[i])};
    work.waiting = reading_.waiting[i] > 0;
    work.stale.observe(time, work.unfinished, (spoke >> i & 1U) != 0);
    work.busy_since.reset();
    work.told_since.reset();
    if (reading_.busy_since[i] == 0) continue;
    work.told_since = Ns{static_cast<std::int64_t>(reading_.busy_since[i])};
    if (work.stale.is_charged()) work.busy_since = work.told_since;
  }
}

// Slots that were not read by this step count as they were read last.
void Arbiter::add_up(Tenant& tenant) {
  for (const unsigned slot : tenant.session->slots()) {
    const std::size_t first = slot * tenant.parts.size();
    if (tenant.work.size() < first + tenant.parts.size()) continue;  // not read yet
    for (unsigned i = 0; i < tenant.parts.size(); ++i) {
      const SlotWork& work = tenant.work[first + i];
      Activity& activity = tenant.parts[i]->activity;
      activity.waiting |= work.waiting;
      if (work.stale.is_believed()) activity.unfinished += work.unfinished;
      if (!work.busy_since) continue;
      activity.busy_since =
          std::min(activity.busy_since.value_or(*work.busy_since), *work.busy_since);
    }
  }
}

// The slow checks are made once a second. Ended processes are looked at in every round in which a
// descriptor was ready.
void Arbiter::look_around(bool something) {
  const bool rested = now() - looked_ >= kRest;
  if (something || rested || lend_again_) look_at_processes();
  if (reconciler_ != nullptr) reconciler_->look();
  if (recorder_.is_due()) recorder_.take(reading());
  if (!rested) return;
  looked_ = now();
  alive_.beat();
  if (files_.is_due()) scan();
  lend();
  for (auto& [id, tenant] : tenants_) tenant.session->tidy(now());
  recorder_.answer();
  extensions_.look();
  status_file_.put(status());
}

// Handles processes that came or ended since the last call.
void Arbiter::look_at_processes() {
  bool changed = false;
  for (Tenant* tenant : order_) {
    const auto changes = tenant->session->changes();
    changed |= std::exchange(tenant->changes, changes) != changes;
  }
  if (changed && reconciler_ != nullptr) reconciler_->hurry();
  lend_again_ |= changed;
  if (lend_again_ && may_lend()) lend();
}

bool Arbiter::may_lend() {
  if (now() - lends_since_ >= kLendsIn) {
    lends_since_ = now();
    lends_left_ = kLends;
  }
  if (lends_left_ == 0) return false;
  --lends_left_;
  return true;
}

void Arbiter::lend() {
  lend_again_ = false;
  lender_.lend(sessions(), [this](const std::string& device) {
    return reconciler_ == nullptr ? 0 : reconciler_->others_bytes(device);
  });
}

Reconciler::Books Arbiter::books() {
  return {[this] { return sessions(); },
          [this](const std::string& id, unsigned index) { return charged(id, index); },
          [this](const std::string& id, unsigned index) { return is_false(id, index); },
          [this](const std::string& id, unsigned index, Ns time) {
            const Tenant& tenant = tenants_.at(id);
            devices_.at(tenant.session->limits().devices[index].uuid).correct(tenant.id, time);
          }};
}

Sessions Arbiter::sessions() {
  Sessions result;
  for (auto& [id, tenant] : tenants_) result.push_back(tenant.session.get());
  return result;
}

ArbiterStatus Arbiter::status() const {
  ArbiterStatus status;
  for (const auto& [id, tenant] : tenants_) {
    const TenantLimits& limits = tenant.session->limits();
    const auto totals = tenant.session->totals();
    TenantStatus& told = status.tenants.emplace_back(
        TenantStatus{.id = id,
                     .resource = limits.resource,
                     .enforcement = limits.enforcement,
                     .priority = limits.priority,
                     .processes = static_cast<unsigned>(tenant.session->registered().size()),
                     .refused = totals.refused,
                     .longest_ns = totals.longest_ns});
    for (unsigned i = 0; i < limits.devices.size(); ++i) {
      told.devices.push_back(
          {.limits = limits.devices[i],
           .charged_bytes = tenant.session->usage().charged(i),
           .released_bytes = tenant.session->usage().released(i),
           .gpu_ns = static_cast<std::uint64_t>(charged(id, i).count()),
           .asked_ns = tenant.session->usage().spent_ns(i),
           .waited_ns = static_cast<std::uint64_t>(tenant.parts[i]->waited.count()),
           .launches = tenant.parts[i]->launches});
    }
  }
  status.refused = files_.refused();
  if (reconciler_ != nullptr) reconciler_->describe(status);
  lender_.describe(status);
  foreign_files_.describe(status);
  extensions_.describe(status);
  for (TenantStatus& tenant : status.tenants) {
    const auto& page = tenants_.at(tenant.id).session->policy();
    for (std::size_t i = 0; i < tenant.devices.size(); ++i) {
      const TenantDevice& device = tenant.devices[i];
      const std::uint64_t limit = page.devices[i].memory_limit;
      // Written as two comparisons because the sum may overflow: a tenant may write any charge.
      if (device.outside_bytes <= limit && device.charged_bytes <= limit - device.outside_bytes) {
        continue;
      }
      tenant.degraded.insert(tenant.degraded.begin(), Degraded::kMemoryOverLimit);
      break;
    }
  }
  return status;
}

void Arbiter::set_awake(bool awake) {
  if (awake_ == awake) return;
  awake_ = awake;
  for (auto& [name, tenant] : tenants_) tenant.session->policy().awake = awake ? 1 : 0;
}

}  // namespace tranche::arbiter
