#include "lab/kubelet/device_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::lab {

namespace {

// The grace time ends without an event: look again at least this often.
constexpr auto kLookAgain = std::chrono::milliseconds(50);

IdSet healthy_ids(const std::map<std::string, Device>& devices) {
  IdSet ids;
  for (const auto& [id, device] : devices)
    if (device.healthy) ids.insert(id);
  return ids;
}

std::vector<Device> values_of(const std::map<std::string, Device>& devices) {
  std::vector<Device> out;
  for (const auto& [id, device] : devices) out.push_back(device);
  return out;
}

}  // namespace

DeviceTable::DeviceTable(const Clock& clock, std::chrono::nanoseconds grace)
    : clock_(clock), grace_(grace) {}

void DeviceTable::changed_locked() {
  ++version_;
  changed_.notify_all();
}

void DeviceTable::stop_locked(Resource& resource) {
  resource.plugin = {};
  resource.stopped = false;
  make_unhealthy_locked(resource);
}

void DeviceTable::make_unhealthy_locked(Resource& resource) {
  resource.stopped_at = clock_.now();
  for (auto& [id, device] : resource.devices) device.healthy = false;
}

bool DeviceTable::expired_locked(const Resource& resource) const {
  const bool connected = resource.plugin.endpoint && !resource.stopped;
  return !connected && clock_.now() - resource.stopped_at > grace_;
}

const DeviceTable::Resource* DeviceTable::find_locked(const std::string& resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() || expired_locked(found->second) ? nullptr : &found->second;
}

DeviceTable::Resource* DeviceTable::served_by_locked(const std::string& resource,
                                                     const Endpoint* endpoint) {
  const auto found = resources_.find(resource);
  if (found == resources_.end() || found->second.plugin.endpoint.get() != endpoint) return nullptr;
  return &found->second;
}

std::shared_ptr<Endpoint> DeviceTable::take_replaced_locked(const std::string& resource,
                                                            const Endpoint* endpoint) {
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return nullptr;
  auto& replaced = found->second.replaced;
  const auto at = std::ranges::find(replaced, endpoint, &std::shared_ptr<Endpoint>::get);
  if (at == replaced.end()) return nullptr;
  auto taken = std::move(*at);
  replaced.erase(at);
  return taken;
}

void DeviceTable::record(Registration registration) {
  const std::scoped_lock lock(mutex_);
  ++counts_[registration.resource].registrations;
  registrations_.push_back(std::move(registration));
  changed_locked();
}

std::vector<std::shared_ptr<Endpoint>> DeviceTable::attach(const std::string& resource,
                                                           Plugin plugin) {
  const std::scoped_lock lock(mutex_);
  ++counts_[resource].streams_opened;
  auto replaced = std::exchange(gone_, {});
  Resource& entry = resources_[resource];
  if (expired_locked(entry)) entry.devices.clear();
  Plugin old = std::exchange(entry.plugin, std::move(plugin));
  entry.stopped = false;
  if (old.endpoint) entry.replaced.push_back(std::move(old.endpoint));
  changed_locked();
  return replaced;
}

void DeviceTable::receive(const std::string& resource, const Endpoint* sender,
                          std::vector<Device> devices) {
  const std::scoped_lock lock(mutex_);
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return;
  Resource& entry = found->second;
  const auto& replaced = entry.replaced;
  const bool stayed =
      std::ranges::find(replaced, sender, &std::shared_ptr<Endpoint>::get) != replaced.end();
  if (!stayed && entry.plugin.endpoint.get() != sender) return;
  ++counts_[resource].lists_received;
  entry.devices.clear();
  for (Device& device : devices) entry.devices.insert_or_assign(device.id, device);
  changed_locked();
}

void DeviceTable::detach(const std::string& resource, const Endpoint* sender) {
  const std::scoped_lock lock(mutex_);
  if (auto replaced = take_replaced_locked(resource, sender)) {
    gone_.push_back(std::move(replaced));
    resources_[resource].stopped = true;
    make_unhealthy_locked(resources_[resource]);
  } else if (Resource* entry = served_by_locked(resource, sender); entry != nullptr) {
    gone_.push_back(entry->plugin.endpoint);
    stop_locked(*entry);
  }
  changed_locked();
}

void DeviceTable::restore(Checkpoint checkpoint) {
  const std::scoped_lock lock(mutex_);
  resources_.clear();
  for (const auto& [resource, ids] : checkpoint.registered) stop_locked(resources_[resource]);
  ledger_ = std::move(checkpoint.ledger);
  changed_locked();
}

Checkpoint DeviceTable::checkpoint() const {
  const std::scoped_lock lock(mutex_);
  Checkpoint out{.ledger = ledger_, .registered = {}};
  for (const auto& [name, resource] : resources_) {
    if (expired_locked(resource)) continue;
    const IdSet ids = healthy_ids(resource.devices);
    out.registered[name] = {ids.begin(), ids.end()};
  }
  return out;
}

std::vector<std::shared_ptr<Endpoint>> DeviceTable::release_plugins() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<Endpoint>> out = std::exchange(gone_, {});
  for (auto& [name, resource] : resources_) {
    for (auto& replaced : std::exchange(resource.replaced, {})) out.push_back(std::move(replaced));
    if (!resource.plugin.endpoint) continue;
    out.push_back(resource.plugin.endpoint);
    stop_locked(resource);
  }
  changed_locked();
  return out;
}

bool DeviceTable::knows(const std::string& resource) const {
  const std::scoped_lock lock(mutex_);
  return find_locked(resource) != nullptr;
}

std::optional<DeviceTable::Plugin> DeviceTable::plugin(const std::string& resource) const {
  const std::scoped_lock lock(mutex_);
  const Resource* found = find_locked(resource);
  if (found == nullptr || !found->plugin.endpoint || found->stopped) return std::nullopt;
  return found->plugin;
}

Result<Candidates> DeviceTable::candidates(const std::string& resource, int count,
                                           IdSet reusable) const {
  const std::scoped_lock lock(mutex_);
  const Resource* found = find_locked(resource);
  if (found == nullptr)
    return fail(Code::kNotFound, fmt::format("cannot allocate unregistered device {}", resource));
  return find_candidates({.resource = resource,
                          .count = count,
                          .healthy = healthy_ids(found->devices),
                          .held = ledger_.held(resource),
                          .reusable = std::move(reusable)});
}

void DeviceTable::add_pod(const Pod& pod) {
  const std::scoped_lock lock(mutex_);
  ledger_.add_pod(pod);
  changed_locked();
}

void DeviceTable::hold(const std::string& pod_uid, const std::string& container,
                       const std::string& resource, Holding holding) {
  const std::scoped_lock lock(mutex_);
  ledger_.insert(pod_uid, container, resource, std::move(holding));
  changed_locked();
}

bool DeviceTable::remove_pod(const std::string& pod_uid) {
  const std::scoped_lock lock(mutex_);
  const bool removed = ledger_.remove(pod_uid);
  changed_locked();
  return removed;
}

std::optional<Ledger::Entry> DeviceTable::find_pod(const std::string& pod_uid) const {
  const std::scoped_lock lock(mutex_);
  return ledger_.find(pod_uid);
}

NodeStatus DeviceTable::status() const {
  const std::scoped_lock lock(mutex_);
  NodeStatus out;
  for (const auto& [name, resource] : resources_) {
    if (expired_locked(resource)) continue;
    const auto counts = counts_.find(name);
    const Counts count = counts == counts_.end() ? Counts{} : counts->second;
    out[name] = {.capacity = static_cast<int>(resource.devices.size()),
                 .allocatable = static_cast<int>(healthy_ids(resource.devices).size()),
                 .allocated = static_cast<int>(ledger_.held(name).size()),
                 .connected = resource.plugin.endpoint != nullptr && !resource.stopped,
                 .registrations = count.registrations,
                 .streams_opened = count.streams_opened,
                 .lists_received = count.lists_received};
  }
  return out;
}

std::vector<Device> DeviceTable::devices(const std::string& resource) const {
  const std::scoped_lock lock(mutex_);
  const Resource* found = find_locked(resource);
  return found == nullptr ? std::vector<Device>{} : values_of(found->devices);
}

std::vector<Registration> DeviceTable::registrations() const {
  const std::scoped_lock lock(mutex_);
  return registrations_;
}

PodResourcesServer::Snapshot DeviceTable::snapshot() const {
  const std::scoped_lock lock(mutex_);
  PodResourcesServer::Snapshot out;
  for (const auto& [uid, entry] : ledger_.pods()) out.pods.push_back(entry);
  for (const auto& [name, resource] : resources_)
    if (!expired_locked(resource)) out.devices[name] = values_of(resource.devices);
  return out;
}

bool DeviceTable::wait_for(const std::function<bool()>& done,
                           std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    std::unique_lock lock(mutex_);
    const std::uint64_t seen = version_;
    lock.unlock();
    const auto now = std::chrono::steady_clock::now();
    if (done()) return true;
    if (now >= deadline) return false;
    lock.lock();
    changed_.wait_until(lock, std::min(deadline, now + kLookAgain),
                        [&] { return version_ != seen; });
  }
}

}  // namespace tranche::lab
