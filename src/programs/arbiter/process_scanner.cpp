#include "arbiter/process_scanner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/cgroup.h"

namespace tranche::arbiter {
namespace {

host::ProcessFacts unread(const Error& error) {
  return {.name = "", .cgroup = std::unexpected(error), .mounts = std::unexpected(error)};
}

}  // namespace

Result<std::unique_ptr<ProcessScanner>> ProcessScanner::start(gpu::ProcessReader& reader,
                                                              FsRoot host, MpsDaemons mps) {
  Descriptor ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.is_open()) return std::unexpected(errno_error(errno, "eventfd"));
  return std::unique_ptr<ProcessScanner>(
      new ProcessScanner(reader, std::move(host), std::move(mps), std::move(ready)));
}

ProcessScanner::ProcessScanner(gpu::ProcessReader& reader, FsRoot host, MpsDaemons mps,
                               Descriptor ready)
    : reader_(reader),
      host_(std::move(host)),
      mps_(std::move(mps)),
      ready_(std::move(ready)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

ProcessScanner::~ProcessScanner() = default;

void ProcessScanner::ask(std::vector<Device> devices) {
  busy_ = true;
  {
    const std::scoped_lock lock(mutex_);
    question_ = std::move(devices);
  }
  asked_.notify_one();
}

std::optional<ProcessScan> ProcessScanner::take() {
  std::uint64_t count = 0;
  (void)!::read(ready_.get(), &count, sizeof(count));
  const std::scoped_lock lock(mutex_);
  if (answer_) busy_ = false;
  return std::exchange(answer_, std::nullopt);
}

void ProcessScanner::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!asked_.wait(lock, stop, [this] { return question_.has_value(); })) return;
    const auto question = *std::exchange(question_, std::nullopt);
    lock.unlock();
    ProcessScan result = scan(question);
    lock.lock();
    answer_ = std::move(result);
    const std::uint64_t one = 1;
    (void)!::write(ready_.get(), &one, sizeof(one));
  }
}

ProcessScan ProcessScanner::scan(const std::vector<Device>& devices) {
  std::vector<std::string> uuids;
  for (const Device& device : devices) uuids.push_back(device.uuid);
  ProcessScan result{reader_.read(uuids), {}};
  if (!result.devices) return result;
  std::optional<MpsDaemons::Serving> serving;  // read when there is a candidate server
  for (std::size_t i = 0; i < result.devices->size(); ++i) {
    const auto& processes = (*result.devices)[i].processes;
    if (!processes) continue;
    for (const gpu::DeviceProcess& process : *processes) {
      if (devices[i].known.contains(process.pid) || result.strangers.contains(process.pid)) {
        continue;
      }
      auto facts = host::read_process(host_, process.pid);
      if (!facts && facts.error().code == Code::kNotFound) continue;
      if (!facts) facts = unread(facts.error());
      const auto ancestors = add_ancestors(*facts);
      if (!serving) serving = mps_.serving();
      const auto is_supervisor = [&](pid_t pid) { return pid == serving->supervisor; };
      if (is_supervisor(process.pid) || std::ranges::any_of(ancestors, is_supervisor) ||
          (serving->is_foreign && mps_.is_mounted(*facts))) {
        result.mps_servers.insert(process.pid);
      }
      result.strangers.emplace(process.pid, *std::move(facts));
    }
  }
  read_known_groups(devices, result);
  return result;
}

// Adds the mounts visible to its ancestors in its container. Returns these processes.
std::vector<pid_t> ProcessScanner::add_ancestors(host::ProcessFacts& facts) const {
  constexpr int kMost = 64;
  constexpr std::size_t kMostMounts = 50'000;  // of all together: a container may have many
  const auto container = host::container_of(facts.cgroup.value_or(""));
  std::vector<pid_t> ancestors;
  if (!container) return ancestors;
  auto mounts = facts.mounts.value_or(std::vector<host::Mount>());
  pid_t next = facts.parent;
  for (int i = 0; i < kMost && next > 1 && mounts.size() < kMostMounts; ++i) {
    const auto ancestor = host::read_process(host_, next);
    if (!ancestor || host::container_of(ancestor->cgroup.value_or("")) != container) break;
    const auto seen = ancestor->mounts.value_or(std::vector<host::Mount>());
    mounts.insert(mounts.end(), seen.begin(), seen.end());
    ancestors.push_back(std::exchange(next, ancestor->parent));
  }
  facts.mounts = std::move(mounts);
  return ancestors;
}

void ProcessScanner::read_known_groups(const std::vector<Device>& devices,
                                       ProcessScan& result) const {
  const bool is_needed = std::ranges::any_of(result.strangers, [](const auto& stranger) {
    return !stranger.second.cgroup || host::is_in_pod(*stranger.second.cgroup);
  });
  if (!is_needed) return;
  for (const Device& device : devices) {
    for (const pid_t pid : device.known) {
      if (result.known_groups.contains(pid)) continue;
      if (auto group = host::read_cgroup(host_, pid)) {
        result.known_groups.emplace(pid, *std::move(group));
      }
    }
  }
}

}  // namespace tranche::arbiter
