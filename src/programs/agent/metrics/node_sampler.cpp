#include "agent/metrics/node_sampler.h"

#include <algorithm>
#include <utility>

#include "agent/config/config_standing.h"
#include "agent/hardware/last_xids.h"
#include "agent/metrics/attribution.h"
#include "agent/metrics/tranche_parts.h"
#include "gpu/devices.h"
#include "holdings/users.h"

namespace tranche::agent {
namespace {

constexpr const char* kDriver = "driver";

template <class Reading>
void keep(Result<std::vector<Result<Reading>>> readings, std::chrono::steady_clock::time_point now,
          auto& kept) {
  if (!readings) return;
  for (auto& reading : *readings) {
    if (!reading) continue;
    auto uuid = reading->uuid;
    kept.insert_or_assign(std::move(uuid), typename std::decay_t<decltype(kept)>::mapped_type{
                                               .reading = *std::move(reading), .at = now});
  }
}

std::optional<metrics::Configuration> configuration_of(const State& state) {
  switch (state.get<ConfigStanding>().is) {
    case ConfigStanding::Is::kCurrent:
      return metrics::Configuration::kCurrent;
    case ConfigStanding::Is::kOlder:
      return metrics::Configuration::kOlder;
    case ConfigStanding::Is::kDefault:
      return metrics::Configuration::kDefault;
    case ConfigStanding::Is::kUnknown:
      break;
  }
  return std::nullopt;
}

// Pods that have ended hold nothing, even if kubelet still lists them.
holdings::Holdings without_ended(const holdings::Holdings& held,
                                 const std::vector<cluster::Pod>& pods) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const auto& pod : pods) {
    if (!cluster::has_ended(pod)) names.emplace(pod.ns, pod.name);
  }
  std::vector<holdings::Holding> left;
  for (const auto& one : held) {
    if (one.pod.empty() || names.contains({one.ns, one.pod})) left.push_back(one);
  }
  return holdings::Holdings(std::move(left));
}

}  // namespace

NodeSampler::NodeSampler(Ports ports)
    : ports_(std::move(ports)), owners_(ports_.host), arbiter_(ports_.arbiter_dir, ports_.clock) {}

void NodeSampler::follow(const State& state, std::shared_ptr<const offer::Offer> offer) {
  if (!state.machine) return;
  auto seen = std::make_shared<const Seen>(Seen{.machine = *state.machine,
                                                .xids = state.get<LastXids>().by_gpu,
                                                .configuration = configuration_of(state),
                                                .offer = std::move(offer)});
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(seen);
}

void NodeSampler::sample() {
  std::shared_ptr<const Seen> seen;
  {
    const std::scoped_lock lock(mutex_);
    seen = seen_;
  }
  if (seen == nullptr) return;
  read_fast(seen->machine);
  if (turn_++ % kSlowEvery == 0) read_slow(seen->machine);
  const bool driver_answers = read_processes(seen->machine);
  arbiter_runs_ = arbiter_.refresh();
  const bool kubelet_answers = ports_.ask_kubelet();
  forget_old(ports_.clock.now());
  std::vector<usage::Check> checks{{kDriver, driver_answers},
                                   {"host-processes", owners_.sees_node()},
                                   {"kubelet", kubelet_answers}};
  // Without the node's processes none was looked at.
  if (owners_.sees_node()) checks.push_back({"control-groups", groups_tell_});
  if (!ports_.arbiter_dir.empty()) checks.push_back({"arbiter", arbiter_runs_});
  auto made = std::make_shared<const Made>(make(*seen, std::move(checks), kubelet_answers));
  const std::scoped_lock lock(mutex_);
  made_ = std::move(made);
}

void NodeSampler::read_fast(const gpu::Machine& machine) {
  keep(ports_.telemetry.read_fast(gpu::present_gpus(machine)), ports_.clock.now(), fast_);
}

void NodeSampler::read_slow(const gpu::Machine& machine) {
  keep(ports_.telemetry.read_slow(gpu::present_gpus(machine)), ports_.clock.now(), slow_);
}

bool NodeSampler::read_processes(const gpu::Machine& machine) {
  processes_.clear();
  groups_tell_ = true;
  const auto before = std::exchange(processes_at_, ports_.clock.now());
  since_last_ = before ? *processes_at_ - *before : std::chrono::nanoseconds(0);
  const auto devices = gpu::present_devices(machine);
  const auto answers = ports_.processes.read(devices);
  if (!answers) return false;
  std::set<pid_t> pids;
  bool is_whole = true;
  for (const auto& [uuid, processes] : *answers) {
    if (!processes) {
      is_whole = false;
      continue;
    }
    // A list without the node's process ids may lack any process, and names others' ids.
    if (!owners_.sees_node()) continue;
    auto& owned = processes_[uuid];
    for (const auto& process : *processes) {
      auto seen = owners_.look(process.pid);
      groups_tell_ = groups_tell_ && seen.owner.kind != host::Owner::Kind::kUnknown;
      owned.push_back({process, std::move(seen.owner), std::move(seen.name)});
      pids.insert(process.pid);
    }
  }
  owners_.keep_only(pids);
  return is_whole;
}

void NodeSampler::forget_old(TimePoint now) {
  const auto is_old = [&](const auto& one) { return now - one.second.at > kLongest; };
  std::erase_if(fast_, is_old);
  std::erase_if(slow_, is_old);
}

// Where nothing has changed since the last sample, as in nearly every second, nothing is joined.
const holdings::Holdings& NodeSampler::join(std::shared_ptr<const std::vector<cluster::Pod>> pods) {
  // In this order: what changes between these calls makes the next sample join once more.
  auto granted = ports_.book.granted();
  auto ungranted = ports_.book.ungranted();
  auto claimed = ports_.book.claimed();
  const bool is_same = claimed && joined_.granted == granted && joined_.ungranted == ungranted &&
                       joined_.claimed == *claimed && joined_.pods == pods;
  if (is_same) return joined_.held;
  auto held = ports_.book.all();
  if (pods != nullptr) held = without_ended(holdings::with_users(held, *pods), *pods);
  // Claims that are not all known are read anew each time.
  joined_ = {.pods = std::move(pods),
             .granted = claimed ? std::move(granted) : nullptr,
             .ungranted = std::move(ungranted),
             .claimed = std::move(claimed).value_or(std::vector<holdings::Holding>()),
             .held = std::move(held)};
  return joined_.held;
}

NodeSampler::Made NodeSampler::make(const Seen& seen, std::vector<usage::Check> checks,
                                    bool kubelet_answers) {
  const auto pods = ports_.pods ? ports_.pods() : nullptr;
  checks.push_back({"pods", pods != nullptr});
  const auto& held = join(pods);

  Made made{.figures = {}, .at = ports_.clock.now()};
  std::map<std::string, gpu::MemoryFigures> memory;
  auto& figures = made.figures;
  figures.node = ports_.node;
  figures.driver_version = seen.machine.driver_version;
  for (const auto& gpu : seen.machine.gpus) {
    auto& one = figures.gpus.emplace_back(metrics::GpuFigures{.gpu = gpu});
    const auto& uuid = gpu.uuid.value;
    if (const auto fast = fast_.find(uuid); fast != fast_.end()) {
      one.fast = fast->second.reading;
      made.fast_at = std::min(made.fast_at.value_or(fast->second.at), fast->second.at);
      if (one.fast->figures.memory) memory.emplace(uuid, *one.fast->figures.memory);
    }
    if (const auto slow = slow_.find(uuid); slow != slow_.end()) {
      one.slow = slow->second.reading;
      made.slow_at = std::min(made.slow_at.value_or(slow->second.at), slow->second.at);
    }
    if (const auto xid = seen.xids.find(uuid); xid != seen.xids.end()) one.last_xid = xid->second;
  }
  auto attributed =
      attribute({.machine = seen.machine,
                 .offer = *seen.offer,
                 .held = held,
                 .pods = pods != nullptr ? std::span(*pods) : std::span<const cluster::Pod>(),
                 .processes = processes_,
                 .memory = memory,
                 .is_held_known = kubelet_answers && pods != nullptr,
                 .arbiter = arbiter_runs_ ? &arbiter_.status() : nullptr,
                 .since_last = since_last_});
  figures.containers = history_.take(std::move(attributed.containers), made.at);
  if (ports_.set_tiers) ports_.set_tiers(figures.containers, seen.machine);
  figures.processes = std::move(attributed.processes);
  figures.memory = std::move(attributed.memory);
  figures.tranches = std::move(attributed.tranches);
  figures.checks = std::move(checks);
  figures.configuration = seen.configuration;
  return made;
}

// The driver has hung since.
void NodeSampler::withdraw(metrics::NodeFigures& figures) {
  for (auto& gpu : figures.gpus) {
    gpu.fast.reset();
    gpu.slow.reset();
  }
  figures.containers.clear();
  figures.processes.clear();
  figures.memory.clear();
  for (auto& check : figures.checks) check.works = check.works && check.name != kDriver;
}

std::vector<usage::Check> NodeSampler::checks() const {
  const std::scoped_lock lock(mutex_);
  return made_ == nullptr ? std::vector<usage::Check>() : made_->figures.checks;
}

std::shared_ptr<const metrics::NodeFigures> NodeSampler::figures() const {
  std::shared_ptr<const Made> made;
  {
    const std::scoped_lock lock(mutex_);
    made = made_;
  }
  if (made == nullptr) return nullptr;
  const auto now = ports_.clock.now();
  auto figures = std::make_shared<metrics::NodeFigures>(made->figures);
  if (made->fast_at) figures->fast_age = now - *made->fast_at;
  if (made->slow_at) figures->slow_age = now - *made->slow_at;
  if (now - made->at > kLongest) withdraw(*figures);
  return figures;
}

}  // namespace tranche::agent
