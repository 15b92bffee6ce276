#pragma once
// What `tranche top` shows: the cluster at one moment, or one node as a cluster of one.

#include <utility>

#include "fleet/fleet.h"
#include "usage/node_usage.h"

namespace tranche::top {

struct Reading {
  fleet::Fleet fleet;
  bool cluster = false;  // it is the controller's; false: one node, with its processes
  bool operator==(const Reading&) const = default;
};

inline Reading reading_of(usage::NodeUsage usage) {
  Reading reading;
  reading.fleet.taken_at = usage.taken_at;
  reading.fleet.nodes.push_back({.name = usage.node, .reporting = fleet::Reporting::kFresh});
  reading.fleet.nodes.back().usage = std::move(usage);
  return reading;
}

inline Reading reading_of(fleet::Fleet fleet) { return {std::move(fleet), true}; }

}  // namespace tranche::top
