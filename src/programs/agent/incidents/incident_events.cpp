#include "agent/incidents/incident_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cluster/formats/reasons.h"
#include "incidents/incident_words.h"

namespace tranche::agent {
namespace {

using incidents::Cause;
using incidents::Holder;
using incidents::Incident;
using Events = cluster::StandingEvents::Events;

const char* reason_of(const Incident& incident) {
  if (incident.cause == Cause::kXid) return cluster::reason::kGpuXid;
  return is_out_of_memory(incident.cause) ? cluster::reason::kGpuOutOfMemory
                                          : cluster::reason::kGpuStall;
}

std::string_view remedy_of(Cause cause) {
  switch (cause) {
    case Cause::kLimit:
      return "Raise its limit (tranche limit set, or the configuration), or have it use less";
    case Cause::kDevice:
      return "Limit its neighbours, or promise less of the GPU (oversubscribe)";
    case Cause::kStarved:
      return "Look at what its neighbours launch";
    case Cause::kLongLaunch:
      return "Others of the GPU wait for it";
    case Cause::kXid:
      break;
  }
  return "Look the number up in NVIDIA's list of XIDs";
}

struct Text {
  const char* reason;
  bool warning;
  std::string words;
  std::string remedy;
};

void add(const Incident& incident, const Holder& holder, const Text& text, Events& events) {
  if (holder.pod.uid.empty()) return;
  const auto key = fmt::format("{} {} {} {}", text.reason, holder.pod.uid, holder.pod.container,
                               incident.device);
  auto& standing = events[key];
  standing.instances.insert(incident.id);
  // The first one's, so that a later one is the same Event and is counted.
  if (!standing.event.reason.empty() && standing.event.time <= incident.at) return;
  standing.event = {
      .regarding = {.api_version = "v1",
                    .kind = "Pod",
                    .ns = holder.pod.ns,
                    .name = holder.pod.pod,
                    .uid = holder.pod.uid},
      .warning = text.warning,
      .reason = text.reason,
      .action = "Record",
      .note = fmt::format(
          "{}{}{}{} (tranche incident show {} on its node)",
          holder.pod.container.empty() ? "" : fmt::format("container {}: ", holder.pod.container),
          text.words, text.remedy.empty() ? "" : ". ", text.remedy, incident.id),
      .reporter = {},
      .instance = {},
      .time = incident.at};
}

void add(const Incident& incident, Events& events) {
  if (incident.cause == Cause::kXid) {
    for (const Holder& holder : incident.holders) {
      add(incident, holder,
          {.reason = reason_of(incident),
           .warning = true,
           .words = holder_words(incident, holder, holder.pod.ns),
           .remedy = std::string(remedy_of(incident.cause))},
          events);
    }
    return;
  }
  if (const Holder* const victim = incident.victim()) {
    add(incident, *victim,
        {.reason = reason_of(incident),
         .warning = true,
         .words = victim_words(incident, victim->pod.ns),
         .remedy = std::string(remedy_of(incident.cause))},
        events);
  }
  for (const Holder* const culprit : culprits(incident)) {
    add(incident, *culprit,
        {.reason = cluster::reason::kGpuMemoryTaken,
         .warning = false,
         .words = holder_words(incident, *culprit, culprit->pod.ns),
         .remedy = {}},
        events);
  }
}

}  // namespace

Events events_of(const std::vector<Incident>& all) {
  Events events;
  for (const Incident& incident : all) add(incident, events);
  return events;
}

}  // namespace tranche::agent
