#pragma once
// Incidents as Events: on the victim, and on neighbours whose growth made the GPU full. An Event
// names Pods of its own namespace only. Pure.

#include <vector>

#include "cluster/client/standing_events.h"
#include "incidents/incident.h"

namespace tranche::agent {

// Of several incidents of a container one Event, which counts them. Containers whose Pod's uid is
// unknown have none.
cluster::StandingEvents::Events events_of(const std::vector<incidents::Incident>& all);

}  // namespace tranche::agent
