#include "agent/metrics/attribution.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "agent/metrics/tranche_parts.h"
#include "agent/metrics/usage_row.h"

namespace tranche::agent {
namespace {

using holdings::Holding;
using host::Owner;
using Row = UsageRow;

// Containers that use a device which nobody gave them; more of them stay unknown.
constexpr std::size_t kMostUngranted = 64;

usage::ProcessUsage usage_of(const OwnedProcess& owned, const std::string& device) {
  return {.pid = owned.process.pid,
          .name = owned.name,
          .device = device,
          .memory = owned.process.memory ? std::optional(owned.process.memory->value)
                                         : std::optional<std::uint64_t>()};
}

// What containers share; empty: the holding is one container's alone.
using Shared = std::tuple<std::string, std::string, std::string, std::string>;
std::optional<Shared> shared_of(const Holding& holding) {
  if (holding.wire != holdings::Wire::kClaim) return std::nullopt;
  return Shared(holding.ns, holding.claim, holding.id, holding.device);
}

class Attributing {
 public:
  explicit Attributing(const AttributionSources& sources) : of_(sources) {
    for (const auto& gpu : of_.machine.gpus) {
      places_.emplace(gpu.uuid.value, DevicePlace{&gpu, nullptr});
      for (const auto& instance : gpu.mig_instances) {
        places_.emplace(instance.uuid.value, DevicePlace{&gpu, &instance});
      }
    }
    for (const auto& pod : of_.pods) {
      pods_.emplace(pod.uid, &pod);
      pods_on_node_.emplace(cluster::uid_on_node(pod), &pod);
    }
    for (const auto& holding : of_.held) {
      if (const auto shared = shared_of(holding)) ++sharers_[*shared];
    }
    if (of_.arbiter == nullptr) return;
    for (const auto& server : of_.arbiter->mps_servers) {
      mps_servers_.insert({server.device, server.pid});
    }
  }

  Attribution make() {
    for (const auto& holding : of_.held) add(holding);
    for (auto& [key, row] : rows_) by_pod_[{row.pod_uid, key.device}].push_back(&row);
    for (const auto& [device, processes] : of_.processes) assign(device, processes);
    for (auto& [key, row] : rows_) finish(key, row);
    add_arbiters_counts(rows_, of_.arbiter);
    Attribution made{.containers = {},
                     .processes = std::move(processes_),
                     .memory = memory_accounts(of_.machine, of_.memory, rows_, sums_),
                     .tranches = count_tranches(of_.offer, of_.held)};
    std::ranges::sort(made.processes, {},
                      [](const auto& one) { return std::tie(one.device, one.pid); });
    for (auto& [key, row] : rows_) made.containers.push_back(std::move(row.made));
    return made;
  }

 private:
  void add(const Holding& holding) {
    if (holding.pod.empty() || holding.container.empty()) return;
    const auto place = places_.find(holding.device);
    if (place == places_.end()) return;
    const bool is_instance = place->second.instance != nullptr;
    auto& row =
        row_at({holding.ns, holding.pod, holding.container, holding.device, holding.resource.value},
               place->second, mechanism_of(holding, is_instance));
    row.pod_uid = uid_on_node(holding);
    const auto shared = shared_of(holding);
    const double users = shared ? sharers_.at(*shared) : 1;
    row.made.figures.gpus += gpus_of(holding, place->second, of_.offer) / users;
    add_part(holding, row);
  }

  // Made where it is not there yet.
  Row& row_at(const RowKey& key, const DevicePlace& place, usage::Mechanism mechanism) {
    const auto [at, is_new] = rows_.try_emplace(key);
    if (!is_new) return at->second;
    at->second.made.figures = {
        .ns = key.ns,
        .pod = key.pod,
        .container = key.container,
        .resource = key.resource,
        .mechanism = mechanism,
        .gpu = place.gpu->uuid.value,
        .device = key.device,
        .mig_profile = place.instance != nullptr ? place.instance->profile.name : "",
        .gpus = 0};
    return at->second;
  }

  // The limits of a container are one tenant's, whose part counts once.
  static void add_part(const Holding& holding, Row& row) {
    if (holding.tenant.empty()) return;
    if (std::ranges::find(row.tenants, holding.tenant) != row.tenants.end()) return;
    row.tenants.push_back(holding.tenant);
    if (!holding.part) return;
    auto& figures = row.made.figures;
    const auto& part = *holding.part;
    if (part.memory) figures.memory_limit = figures.memory_limit.value_or(0) + part.memory->value;
    if (part.permille) {
      figures.compute_promised = figures.compute_promised.value_or(0) + *part.permille / 1000.0;
    }
  }

  std::string uid_on_node(const Holding& holding) const {
    const auto pod = pods_.find(holding.pod_uid);
    return pod == pods_.end() ? holding.pod_uid : cluster::uid_on_node(*pod->second);
  }

  void assign(const std::string& device, const std::vector<OwnedProcess>& processes) {
    auto& sums = sums_[device];
    for (const auto& one : processes) {
      if (one.owner.kind == Owner::Kind::kEnded) continue;
      const auto memory = one.process.memory.value_or(Bytes{}).value;
      const bool is_host = this->is_host(device, one);
      Row* const row = is_host ? nullptr : row_of(device, one.owner);
      list(device, one, row);
      if (row != nullptr) {
        ++row->processes;
        row->memory += memory;
        row->is_told = row->is_told && one.process.memory.has_value();
        row->made.busy += one.process.busy;
      } else if (is_host) {
        sums.host += memory;
      } else {
        sums.unknown += memory;
        sums.has_unknown = sums.has_unknown || one.owner.kind == Owner::Kind::kUnknown;
      }
    }
  }

  bool is_host(const std::string& device, const OwnedProcess& one) const {
    return one.owner.kind == Owner::Kind::kHost || mps_servers_.contains({device, one.process.pid});
  }

  void list(const std::string& device, const OwnedProcess& one, const Row* row) {
    auto usage = usage_of(one, device);
    const auto place = places_.find(device);
    // The driver samples no process of a MIG instance.
    const bool is_sampled = place != places_.end() && place->second.instance == nullptr;
    if (is_sampled && of_.since_last.count() > 0) {
      const std::chrono::duration<double> busy = one.process.busy;
      usage.busy = std::clamp(busy / of_.since_last, 0.0, 1.0);
    }
    if (row != nullptr) {
      const auto& of = row->made.figures;
      std::tie(usage.ns, usage.pod, usage.container) = std::tie(of.ns, of.pod, of.container);
      usage.owner = usage::ProcessOwner::kContainer;
    } else if (is_host(device, one)) {
      usage.owner = usage::ProcessOwner::kHost;
    } else if (const auto pod = pods_on_node_.find(one.owner.pod_uid); pod != pods_on_node_.end()) {
      std::tie(usage.ns, usage.pod) = std::tie(pod->second->ns, pod->second->name);
      usage.container = container_name(one.owner);
      usage.owner = usage::ProcessOwner::kContainer;
    }
    processes_.push_back(std::move(usage));
  }

  // nullptr: it is not known which container's it is.
  Row* row_of(const std::string& device, const Owner& owner) {
    if (owner.kind != Owner::Kind::kContainer || owner.pod_uid.empty()) return nullptr;
    const auto name = container_name(owner);
    const auto rows = by_pod_.find({owner.pod_uid, device});
    if (rows == by_pod_.end()) return ungranted(device, owner, name);
    // A container that holds a device by two resources has two rows; its processes are in one.
    for (Row* row : rows->second) {
      if (row->made.figures.container == name) return row;
    }
    // The Pod's status may lack a container that has just started.
    const auto& first = rows->second.front()->made.figures.container;
    const bool is_only = std::ranges::all_of(
        rows->second, [&](const Row* row) { return row->made.figures.container == first; });
    if (name.empty() && is_only) return rows->second.front();
    if (!name.empty()) return ungranted(device, owner, name);
    for (Row* row : rows->second) row->is_certain = false;
    return nullptr;
  }

  // The row of a container that uses a device which nobody gave it. nullptr: its name is not known,
  // or what is held is not, or there are too many.
  Row* ungranted(const std::string& device, const Owner& owner, const std::string& name) {
    const auto pod = pods_on_node_.find(owner.pod_uid);
    const auto place = places_.find(device);
    if (!of_.is_held_known || name.empty()) return nullptr;
    if (pod == pods_on_node_.end() || place == places_.end()) return nullptr;
    // What it was given may have been taken back before its last process is gone.
    if (cluster::has_ended(*pod->second) || pod->second->deleting) return nullptr;
    if (ungranted_ == kMostUngranted) return nullptr;
    ++ungranted_;
    auto& row = row_at({pod->second->ns, pod->second->name, name, device, ""}, place->second,
                       usage::Mechanism::kNone);
    row.pod_uid = owner.pod_uid;
    by_pod_[{row.pod_uid, device}].push_back(&row);
    return &row;
  }

  // Empty: unknown.
  std::string container_name(const Owner& owner) const {
    const auto pod = pods_on_node_.find(owner.pod_uid);
    if (pod == pods_on_node_.end()) return {};
    const auto name = pod->second->container_ids.find(owner.container);
    return name == pod->second->container_ids.end() ? "" : name->second;
  }

  void finish(const RowKey& key, Row& row) const {
    const auto sums = sums_.find(key.device);
    row.is_read =
        sums != sums_.end() && !row.pod_uid.empty() && row.is_certain && !sums->second.has_unknown;
    if (!row.is_read) return;
    auto& figures = row.made.figures;
    figures.attributed = true;
    figures.processes = row.processes;
    if (row.is_told) figures.memory_used = row.memory;
  }

  const AttributionSources& of_;
  std::map<std::string, DevicePlace> places_;
  std::map<std::string, const cluster::Pod*> pods_;          // by uid
  std::map<std::string, const cluster::Pod*> pods_on_node_;  // by cluster::uid_on_node()
  std::set<std::pair<std::string, pid_t>> mps_servers_;      // device, pid
  std::map<Shared, unsigned> sharers_;                       // containers of what they share
  UsageRows rows_;
  std::size_t ungranted_ = 0;
  std::vector<usage::ProcessUsage> processes_;
  std::map<std::pair<std::string, std::string>, std::vector<Row*>> by_pod_;  // uid, device
  SumsByDevice sums_;
};

}  // namespace

Attribution attribute(const AttributionSources& sources) { return Attributing(sources).make(); }

}  // namespace tranche::agent
