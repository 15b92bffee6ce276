#include "agent/incidents/incident_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/incidents/incident_events.h"
#include "agent/incidents/incident_names.h"

namespace tranche::agent {

using incidents::Ask;
using incidents::Incident;

IncidentReporter::IncidentReporter(Ports ports)
    : ports_(std::move(ports)),
      own_(ports_.state_dir / "incidents"),
      arbiters_(ports_.arbiter_dir / "incidents") {
  if (ports_.objects == nullptr) return;
  events_ = std::make_unique<cluster::StandingEvents>(*ports_.objects, "tranche.dev/agent",
                                                      ports_.node, ports_.clock, ports_.log);
}

void IncidentReporter::heard(std::vector<LastXids::Xid> xids, const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  for (const auto& xid : xids) {
    Ask ask{.id = {}, .gpu = xid.gpu, .devices = {xid.gpu}, .xid = xid.xid, .at = xid.at};
    const auto gpu = std::ranges::find(machine.gpus, xid.gpu,
                                       [](const gpu::Gpu& one) { return one.uuid.value; });
    if (gpu != machine.gpus.end()) {
      for (const auto& instance : gpu->mig_instances) ask.devices.push_back(instance.uuid.value);
    }
    if (heard_.size() < incidents::kMostAsks) heard_.push_back(std::move(ask));
  }
}

void IncidentReporter::look(const cluster::Call& call) {
  load();
  store_again();
  take_xids();
  ask();
  std::optional<holdings::Holdings> held;  // asked for once, if at all
  take_arbiters(held);
  give_up_waiting(held);
  const auto now = ports_.clock.wall_now();
  std::erase_if(standing_, [&](const Incident& one) { return now - one.at > kStands; });
  if (events_ != nullptr) events_->tell(events_of(standing_), call);
}

// What an earlier agent kept is not told again as something new.
void IncidentReporter::load() {
  if (std::exchange(is_loaded_, true)) return;
  const auto ids = own_.ids().value_or(std::vector<std::string>());
  for (const auto& id : ids) {
    taken_.insert(id);
    auto incident = own_.read(id);
    if (incident && ports_.clock.wall_now() - incident->at <= kStands) {
      standing_.push_back(*std::move(incident));
    }
  }
}

void IncidentReporter::take_xids() {
  std::vector<Ask> heard;
  {
    const std::scoped_lock lock(mutex_);
    heard.swap(heard_);
  }
  for (auto& ask : heard) {
    const auto [last, is_first] = last_xid_.try_emplace(ask.gpu, ask.at);
    if (!is_first && ask.at - last->second < kEachXid) continue;
    last->second = ask.at;
    for (unsigned number = 0; ask.id.empty(); ++number) {
      const auto id = incidents::make_id(ask.at, incidents::Cause::kXid, number);
      const bool is_used = asked_.contains(id) || answered_.contains(id) || own_.has(id);
      if (!is_used) ask.id = id;
    }
    asked_.emplace(ask.id, std::move(ask));
  }
}

// The file keeps what was answered for as long as an arbiter that just started would answer it.
void IncidentReporter::ask() {
  const auto now = ports_.clock.wall_now();
  std::erase_if(answered_, [&](const auto& entry) { return now - entry.second.at > kStands; });
  const auto folder = ports_.state_dir / "tenants";
  if (ports_.arbiter_dir.empty() || (asked_.empty() && written_.empty())) return;
  if (!fs_.is_directory(folder)) return;
  std::vector<Ask> asks;
  for (const auto* some : {&asked_, &answered_}) {
    for (const auto& [id, ask] : *some) {
      if (asks.size() < incidents::kMostAsks) asks.push_back(ask);
    }
  }
  std::ranges::sort(asks, {}, &Ask::id);
  auto text = encode(asks);
  if (text == written_) return;
  const auto done = fs_.write_atomic(folder / incidents::kAsksFile, text);
  if (!done)
    return complain(fmt::format("the arbiter cannot be asked: {}", done.error().message()));
  written_ = std::move(text);
}

void IncidentReporter::take_arbiters(std::optional<holdings::Holdings>& held) {
  if (ports_.arbiter_dir.empty()) return forget_gone({});
  const auto ids = arbiters_.ids();
  if (!ids) return complain(ids.error().message());
  forget_gone(*ids);
  for (const auto& id : *ids) {
    if (taken_.contains(id)) continue;
    auto incident = arbiters_.read(id);
    if (!incident) {
      // It is replaced in one step: what is torn stays so. What cannot be read now is tried again.
      if (incident.error().code == Code::kInvalidArgument) taken_.insert(id);
      complain(incident.error().message());
      continue;
    }
    name_holders(*incident, this->held(held));
    if (const auto devices = devices_of(*incident); !devices.empty()) {
      add_holders(*incident, this->held(held), devices);
    }
    if (is_named(*incident) || !is_young(*incident)) keep(*std::move(incident));
  }
}

// XIDs that no arbiter has told more of.
void IncidentReporter::give_up_waiting(std::optional<holdings::Holdings>& held) {
  for (auto it = asked_.begin(); it != asked_.end();) {
    const auto& [id, ask] = *it++;
    const bool waits = !ports_.arbiter_dir.empty() &&
                       ports_.clock.wall_now() - ask.at < kPatience &&
                       ask.at <= ports_.clock.wall_now();
    if (waits) continue;
    Incident incident{.id = id,
                      .cause = incidents::Cause::kXid,
                      .at = ask.at,
                      .device = ask.gpu,
                      .tenant = {},
                      .xid = ask.xid,
                      .holders = {}};
    add_holders(incident, this->held(held), {ask.devices.begin(), ask.devices.end()});
    keep(std::move(incident));
  }
}

bool IncidentReporter::is_young(const Incident& incident) const {
  const auto age = ports_.clock.wall_now() - incident.at;
  return age >= decltype(age)::zero() && age < kPatience;
}

const holdings::Holdings& IncidentReporter::held(std::optional<holdings::Holdings>& held) const {
  if (!held) held = ports_.held();
  return *held;
}

// Of an XID that was asked for; else none.
std::set<std::string> IncidentReporter::devices_of(const Incident& incident) const {
  const auto asked = asked_.find(incident.id);
  if (asked == asked_.end()) return {};
  return {asked->second.devices.begin(), asked->second.devices.end()};
}

void IncidentReporter::keep(Incident incident) {
  if (!store(incident) && unstored_.size() < incidents::IncidentFiles::kMost) {
    unstored_.push_back(incident);
  }
  taken_.insert(incident.id);
  if (const auto asked = asked_.find(incident.id); asked != asked_.end()) {
    answered_.insert(asked_.extract(asked));
  }
  if (ports_.clock.wall_now() - incident.at <= kStands) standing_.push_back(std::move(incident));
}

bool IncidentReporter::store(Incident& incident) {
  const auto stored = own_.put(incident);
  if (stored) return true;
  complain(fmt::format("an incident cannot be kept: {}; tried again", stored.error().message()));
  return false;
}

void IncidentReporter::store_again() {
  const auto failed = std::ranges::find_if(unstored_, [&](auto& one) { return !store(one); });
  unstored_.erase(unstored_.begin(), failed);
}

// Incidents come without end where a tenant causes them.
void IncidentReporter::forget_gone(const std::vector<std::string>& arbiters) {
  const std::set<std::string_view> there(arbiters.begin(), arbiters.end());
  std::erase_if(taken_,
                [&](const auto& id) { return !there.contains(id) && !answered_.contains(id); });
}

void IncidentReporter::complain(const std::string& what) {
  if (std::exchange(complaint_, what) != what) {
    ports_.log.warn(fmt::format("incidents: {}", what));
  }
}

}  // namespace tranche::agent
