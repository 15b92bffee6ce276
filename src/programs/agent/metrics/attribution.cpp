#include "agent/metrics/attribution.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "agent/metrics/tranche_parts.h"

namespace tranche::agent {
namespace {

using holdings::Holding;

struct RowKey {
  std::string ns;
  std::string pod;
  std::string container;
  std::string device;
  std::string resource;
  auto operator<=>(const RowKey&) const = default;
};

struct Row {
  AttributedContainer made;
  std::string pod_uid;               // as the node's control groups name it
  std::vector<std::string> tenants;  // each once
  unsigned processes = 0;
  std::uint64_t memory = 0;
  bool is_told = true;     // the driver tells the memory of all its processes
  bool is_certain = true;  // no process may be its own or another container's of the Pod
};

using Rows = std::map<RowKey, Row>;

// A tenant may write any number, so that sums stay where they are most.
void add_to(std::optional<std::uint64_t>& sum, std::uint64_t more) {
  std::uint64_t all = 0;
  const bool is_too_much = __builtin_add_overflow(sum.value_or(0), more, &all);
  sum = is_too_much ? std::numeric_limits<std::uint64_t>::max() : all;
}

usage::ProcessUsage usage_of(const OwnedProcess& owned, const std::string& device) {
  return {.pid = owned.process.pid,
          .name = owned.name,
          .device = device,
          .memory = owned.process.memory ? std::optional<std::uint64_t>(owned.process.memory->value)
                                         : std::nullopt};
}

void add_time(std::optional<std::chrono::nanoseconds>& sum, std::uint64_t ns) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  std::optional<std::uint64_t> all = sum ? static_cast<std::uint64_t>(sum->count()) : 0;
  add_to(all, ns);
  sum = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(*all, kMost)));
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
    if (of_.arbiter == nullptr) return;
    for (const auto& tenant : of_.arbiter->tenants) tenants_.emplace(tenant.id, &tenant);
    for (const auto& server : of_.arbiter->mps_servers)
      mps_servers_.insert({server.device, server.pid});
  }

  Attribution make() {
    for (const auto& holding : of_.held) add(holding);
    for (auto& [key, row] : rows_) by_pod_[{row.pod_uid, key.device}].push_back(&row);
    for (const auto& [device, processes] : of_.processes) assign(device, processes);
    for (auto& [key, row] : rows_) finish(key, row);
    Attribution made;
    made.processes = std::move(processes_);
    std::ranges::sort(made.processes, {},
                      [](const auto& one) { return std::tie(one.device, one.pid); });
    for (const auto& gpu : of_.machine.gpus) account(gpu, made.memory);
    for (auto& [key, row] : rows_) made.containers.push_back(std::move(row.made));
    made.tranches = count_tranches(of_.offer, of_.held);
    return made;
  }

 private:
  void add(const Holding& holding) {
    if (holding.pod.empty() || holding.container.empty()) return;
    const auto place = places_.find(holding.device);
    if (place == places_.end()) return;
    const bool is_instance = place->second.instance != nullptr;
    RowKey key{holding.ns, holding.pod, holding.container, holding.device, holding.resource.value};
    const auto [at, is_new] = rows_.try_emplace(std::move(key));
    auto& row = at->second;
    auto& figures = row.made.figures;
    if (is_new) {
      figures = {.ns = holding.ns,
                 .pod = holding.pod,
                 .container = holding.container,
                 .resource = holding.resource.value,
                 .mechanism = mechanism_of(holding, is_instance),
                 .gpu = place->second.gpu->uuid.value,
                 .device = holding.device,
                 .mig_profile = is_instance ? place->second.instance->profile.name : "",
                 .gpus = 0};
      row.pod_uid = uid_on_node(holding);
    }
    figures.gpus += gpus_of(holding, place->second, of_.offer);
    add_part(holding, row);
  }

  // The limits of a container are one tenant's, whose part counts once.
  void add_part(const Holding& holding, Row& row) const {
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
    auto& device_sums = sums_[device];
    for (const auto& one : processes) {
      const auto& [process, owner, name] = one;
      if (owner.kind == Owner::Kind::kEnded) continue;
      const auto memory = process.memory.value_or(Bytes{}).value;
      Row* const row = row_of(device, owner);
      list(device, one, row);
      if (row != nullptr) {
        ++row->processes;
        row->memory += memory;
        row->is_told = row->is_told && process.memory.has_value();
        row->made.busy += process.busy;
      } else if (is_host(device, one)) {
        device_sums.host += memory;
      } else {
        device_sums.unknown += memory;
        // It may be anybody's.
        if (owner.kind == Owner::Kind::kUnknown) device_sums.has_unknown = true;
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

  // nullptr: it is no container's that is known to hold the device.
  Row* row_of(const std::string& device, const Owner& owner) {
    if (owner.kind != Owner::Kind::kContainer) return nullptr;
    const auto rows = by_pod_.find({owner.pod_uid, device});
    if (rows == by_pod_.end() || owner.pod_uid.empty()) return nullptr;
    const auto name = container_name(owner);
    // A container that holds a device by two resources has two rows; its processes are in one.
    for (Row* row : rows->second) {
      if (row->made.figures.container == name) return row;
    }
    // The Pod's status may lack a container that has just started.
    const auto& first = rows->second.front()->made.figures.container;
    const bool is_only = std::ranges::all_of(
        rows->second, [&](const Row* row) { return row->made.figures.container == first; });
    if (name.empty() && is_only) return rows->second.front();
    if (name.empty()) {
      for (Row* row : rows->second) row->is_certain = false;
    }
    return nullptr;
  }

  // Empty: unknown.
  std::string container_name(const Owner& owner) const {
    const auto pod = pods_on_node_.find(owner.pod_uid);
    if (pod == pods_on_node_.end()) return {};
    const auto name = pod->second->container_ids.find(owner.container);
    return name == pod->second->container_ids.end() ? "" : name->second;
  }

  void finish(const RowKey& key, Row& row) {
    auto& figures = row.made.figures;
    const auto sums = sums_.find(key.device);
    const bool is_read =
        sums != sums_.end() && !row.pod_uid.empty() && row.is_certain && !sums->second.has_unknown;
    if (is_read) {
      figures.attributed = true;
      figures.processes = row.processes;
      if (row.is_told) figures.memory_used = row.memory;
    }
    for (const auto& id : row.tenants) count(id, key.device, row, is_read);
  }

  // By the arbiter. Several containers of one tenant are not told apart there.
  void count(const std::string& id, const std::string& device, Row& row, bool is_read) {
    const auto tenant = tenants_.find(id);
    if (tenant == tenants_.end() || users_of(id) != 1) return;
    auto& figures = row.made.figures;
    const auto& devices = tenant->second->devices;
    const auto one =
        std::ranges::find(devices, device, [](const auto& of) { return of.limits.uuid; });
    if (one == devices.end()) return;
    add_time(figures.compute, one->gpu_ns);
    add_time(figures.compute_asked, one->asked_ns);
    add_time(figures.waited, one->waited_ns);
    add_to(figures.launches, one->launches);
    // These are the tenant's, which may have several devices: they count once.
    const bool is_first = one == devices.begin();
    add_to(figures.allocation_failures, is_first ? tenant->second->refused : 0);
    if (is_read) return;
    figures.attributed = true;
    const auto kept = one->charged_bytes - std::min(one->charged_bytes, one->released_bytes);
    add_to(figures.memory_used, kept);
    add_to(figures.memory_used, one->outside_bytes);
    if (is_first) figures.processes = figures.processes.value_or(0) + tenant->second->processes;
  }

  // Containers with this tenant.
  std::size_t users_of(const std::string& id) {
    if (users_.empty()) {
      for (const auto& [key, row] : rows_) {
        for (const auto& tenant : row.tenants)
          users_[tenant].insert({key.ns, key.pod, key.container});
      }
    }
    return users_[id].size();
  }

  void account(const gpu::Gpu& gpu, std::vector<usage::MemoryAccount>& accounts) const {
    const auto memory = of_.memory.find(gpu.uuid.value);
    if (memory == of_.memory.end()) return;
    const auto& [total, used, free, reserved] = memory->second;
    usage::MemoryAccount account{.gpu = gpu.uuid.value,
                                 .total = total.value,
                                 .free = free.value,
                                 .reserved = reserved.value_or(Bytes{}).value};
    bool is_read = true;
    for (const auto& device : used_devices(gpu)) {
      const auto sums = sums_.find(device);
      is_read = is_read && sums != sums_.end();
      if (sums == sums_.end()) continue;
      account.host_processes += sums->second.host;
      account.unknown += sums->second.unknown;
    }
    const auto rows = rows_of(gpu.uuid.value);
    for (const Row* row : rows) account.containers += row->memory;
    const auto told = account.containers + account.host_processes + account.unknown;
    const auto rest = used.value > told ? used.value - told : 0;
    // Without a list of processes, all that is used is of unknown processes.
    (is_read ? account.unattributed : account.unknown) += rest;
    account.excess = told > used.value ? told - used.value : 0;
    for (const Row* row : rows) add_told_by_arbiter(*row, account);
    accounts.push_back(std::move(account));
  }

  std::vector<const Row*> rows_of(const std::string& gpu) const {
    std::vector<const Row*> rows;
    for (const auto& [key, row] : rows_) {
      if (row.made.figures.gpu == gpu) rows.push_back(&row);
    }
    return rows;
  }

  // By the arbiter's word it is known whose some of the unknown memory is.
  static void add_told_by_arbiter(const Row& row, usage::MemoryAccount& account) {
    const auto told = row.made.figures.memory_used.value_or(0);
    if (told <= row.memory) return;
    const auto more = std::min(told - row.memory, account.unknown);
    account.containers += more;
    account.unknown -= more;
  }

  // Of a device's processes that are no container's.
  struct Sums {
    std::uint64_t host = 0;
    std::uint64_t unknown = 0;
    bool has_unknown = false;
  };

  const AttributionSources& of_;
  std::map<std::string, DevicePlace> places_;
  std::map<std::string, const cluster::Pod*> pods_;            // by uid
  std::map<std::string, const cluster::Pod*> pods_on_node_;    // by cluster::uid_on_node()
  std::map<std::string, const limit::TenantStatus*> tenants_;  // by id
  std::set<std::pair<std::string, pid_t>> mps_servers_;        // device, pid
  Rows rows_;
  std::vector<usage::ProcessUsage> processes_;
  std::map<std::pair<std::string, std::string>, std::vector<Row*>> by_pod_;  // uid, device
  std::map<std::string, Sums> sums_;                                         // by device
  std::map<std::string, std::set<std::tuple<std::string, std::string, std::string>>> users_;
};

}  // namespace

Attribution attribute(const AttributionSources& sources) { return Attributing(sources).make(); }

}  // namespace tranche::agent
