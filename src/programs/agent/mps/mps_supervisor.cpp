#include "agent/mps/mps_supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/formats/reasons.h"
#include "mps/diff.h"

namespace tranche::agent {
namespace {

std::string described(const mps::Daemon& daemon) {
  std::string memory;
  for (const auto& device : daemon.devices) {
    if (!memory.empty()) memory += ", ";
    memory += device.limit_mib ? fmt::format("{}M of GPU {}", *device.limit_mib, device.index)
                               : fmt::format("all of GPU {}", device.index);
  }
  return fmt::format("{}% of the threads, memory {}", daemon.thread_percentage, memory);
}

// With namespaces the limits belong to them; with partitions the threads belong to the partitions.
std::string describe_service(const MpsDaemon& daemon) {
  std::string text;
  const auto& service = daemon.service();
  if (service.namespaces) {
    text += fmt::format(", protocol {}, {} namespaces", service.protocol,
                        daemon.daemon().namespaces.size());
  }
  if (!service.partitions.empty()) {
    text += fmt::format(", {} static SM partitions", service.partitions.size());
  }
  return text;
}

// Removes `.ready`, so no new client comes.
void withdraw_ready(const MpsTools& tools) {
  if (const auto done = FsRoot().remove(tools.root / ".ready"); !done) {
    tools.log.warn(done.error());
  }
}

}  // namespace

MpsSupervisor::MpsSupervisor(const MpsTools& tools, Options options,
                             std::function<void(const NodeNotice&)> tell)
    : tools_(tools), options_(options), tell_(std::move(tell)) {}

MpsSupervisor::~MpsSupervisor() {
  withdraw_ready(tools_);
  for (auto& [name, entry] : entries_) stop(entry);
}

mps::Plan MpsSupervisor::plan() const {
  mps::Plan plan;
  for (const auto& [name, entry] : entries_) plan.push_back(entry.wanted);
  return plan;
}

void MpsSupervisor::follow(const mps::Plan& wanted, TimePoint now) {
  const auto changes = mps::diff(plan(), wanted);
  followed_ = true;
  // Ending daemons first free their GPUs for those that start.
  for (const auto& change : changes) {
    const auto found = entries_.find(change.daemon.resource);
    if (change.step == mps::Step::kEnd) {
      stop(found->second);
      entries_.erase(found);
    } else if (change.step == mps::Step::kRestart) {
      stop(found->second);
      found->second = Entry{.wanted = change.daemon, .due = now, .backoff = options_.backoff};
    }
  }
  for (const auto& change : changes) {
    if (change.step == mps::Step::kStart) {
      entries_[change.daemon.resource] =
          Entry{.wanted = change.daemon, .due = now, .backoff = options_.backoff};
    } else if (change.step == mps::Step::kRetune) {
      retune(entries_.at(change.daemon.resource), change.daemon, now);
    }
  }
  tick(now);
}

void MpsSupervisor::hold(const std::set<std::string>& gpus) {
  holds_ = true;
  for (auto& [name, entry] : entries_) {
    const bool ends = std::ranges::any_of(
        entry.wanted.devices, [&](const auto& device) { return gpus.contains(device.uuid); });
    if (!ends || entry.daemon == nullptr) continue;
    tools_.log.info(fmt::format(
        "the MPS control daemon of {} is ended, for the MIG layout of a GPU of it is changed",
        name.value));
    stop(entry);
  }
}

void MpsSupervisor::release(TimePoint now) {
  holds_ = false;
  for (auto& [name, entry] : entries_) {
    if (entry.daemon == nullptr) {
      entry.due = now;
    } else if (const auto set = entry.daemon->claim_gpus(); !set) {
      tools_.log.warn(set.error());
    }
  }
}

void MpsSupervisor::suspect(TimePoint now) {
  for (auto& [name, entry] : entries_) {
    if (entry.daemon != nullptr) entry.due = now;
  }
}

void MpsSupervisor::tick(TimePoint now) {
  for (auto& [name, entry] : entries_) {
    if (entry.due > now) continue;
    if (entry.daemon != nullptr) ask(entry, now);
    if (entry.daemon == nullptr && entry.due <= now && !holds_) start(entry, now);
  }
  mark_ready();
}

std::optional<MpsSupervisor::TimePoint> MpsSupervisor::next_tick() const {
  std::optional<TimePoint> next;
  for (const auto& [name, entry] : entries_) {
    if (entry.daemon == nullptr && holds_) continue;
    if (!next || entry.due < *next) next = entry.due;
  }
  return next;
}

void MpsSupervisor::pass_on_logs() {
  for (auto& [name, entry] : entries_) {
    if (entry.daemon != nullptr) entry.daemon->pass_on_log();
  }
}

std::size_t MpsSupervisor::serving() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry.second.daemon != nullptr; }));
}

void MpsSupervisor::start(Entry& entry, TimePoint now) {
  auto daemon = MpsDaemon::start(tools_, entry.wanted);
  if (!daemon) {
    failed(entry, daemon.error(), "cannot be started", now);
    return;
  }
  entry.daemon = *std::move(daemon);
  entry.due = now + options_.ask_interval;
  tools_.log.info(fmt::format("the MPS control daemon of {} serves: {} for each client process{}",
                              entry.wanted.resource.value, described(entry.wanted),
                              describe_service(*entry.daemon)));
}

void MpsSupervisor::ask(Entry& entry, TimePoint now) {
  entry.due = now + options_.ask_interval;
  if (const auto answer = entry.daemon->ask(); !answer) {
    // Its clients have lost it and all that they had open, so it is replaced.
    replace(entry, answer.error(), "has ended or does not answer, and is started anew", now);
    return;
  }
  entry.backoff.reset();
  entry.complaint.clear();
}

void MpsSupervisor::retune(Entry& entry, const mps::Daemon& wanted, TimePoint now) {
  entry.wanted = wanted;
  if (entry.daemon == nullptr) return;
  if (const auto told = entry.daemon->retune(wanted); !told) {
    replace(entry, told.error(), "does not take its new limits, and is started anew", now);
    return;
  }
  tools_.log.info(
      fmt::format("the MPS control daemon of {} has new limits, for clients that begin "
                  "from now on: {} for each",
                  wanted.resource.value, described(wanted)));
}

// Restarts at once after a first failure, with back-off after repeated ones.
void MpsSupervisor::replace(Entry& entry, const Error& error, std::string_view what,
                            TimePoint now) {
  const bool was_well = entry.backoff.is_fresh();
  stop(entry);
  failed(entry, error, what, now);
  if (was_well) entry.due = now;
}

void MpsSupervisor::stop(Entry& entry) {
  if (entry.daemon == nullptr) return;
  withdraw_ready(tools_);
  entry.daemon.reset();
}

void MpsSupervisor::failed(Entry& entry, const Error& error, std::string_view what, TimePoint now) {
  entry.due = now + entry.backoff.next();
  if (entry.complaint == error.what) return;
  entry.complaint = error.what;
  const auto line = fmt::format("the MPS control daemon of {} {}: {}", entry.wanted.resource.value,
                                what, error.message());
  tools_.log.error(line);
  if (tell_) {
    tell_({.warning = true,
           .reason = cluster::reason::kMpsDaemonFailed,
           .action = "Supervise",
           .note = line});
  }
}

void MpsSupervisor::mark_ready() {
  const FsRoot fs;
  const auto file = tools_.root / ".ready";
  const bool ready = followed_ && serving() == entries_.size();
  if (ready == fs.exists(file)) return;
  const auto done = ready ? fs.write_atomic(file, "") : fs.remove(file);
  if (!done) tools_.log.error(done.error());
}

}  // namespace tranche::agent
