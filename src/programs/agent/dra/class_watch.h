#pragma once
// Whether Kubernetes keeps the resource names of DeviceClasses, by which plain Pods get whole GPUs
// on nodes in mode dra. With feature gate DRAExtendedResource off the API server drops them
// silently, so the chart also writes each name in an annotation. Watches while it lives.

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "cluster/client/watch_cache.h"

namespace tranche::agent {

// On a DeviceClass: the spec.extendedResourceName that was written with it.
inline constexpr std::string_view kExtendedNameAnnotation = "tranche.dev/extended-resource-name";

class ClassWatch {
 public:
  // `changed` is called from the watch's thread.
  ClassWatch(cluster::Objects& objects, std::function<void()> changed, Backoff backoff,
             const Log& log);

  // False while unknown.
  bool names_are_dropped() const;

 private:
  void take(const cluster::CacheChange& change);

  std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::set<std::string> without_;  // classes without their name
  cluster::WatchCache classes_;    // last: its thread uses the others
};

}  // namespace tranche::agent
