#include "agent/dra/class_watch.h"

#include <utility>

#include "base/json.h"
#include "cluster/kinds.h"

namespace tranche::agent {
namespace {

bool lost_its_name(const std::string& text) {
  const auto object = json::parse(text);
  if (!object || !object->at({"metadata", "annotations", kExtendedNameAnnotation})) return false;
  return !object->at({"spec", "extendedResourceName"});
}

}  // namespace

ClassWatch::ClassWatch(cluster::Objects& objects, std::function<void()> changed, Backoff backoff,
                       const Log& log)
    : changed_(std::move(changed)),
      classes_(
          objects, {.kind = cluster::kDeviceClass, .kind_may_be_missing = true, .backoff = backoff},
          [this](const cluster::CacheChange& change) { take(change); }, log) {}

bool ClassWatch::names_are_dropped() const {
  const std::scoped_lock lock(mutex_);
  return !without_.empty();
}

void ClassWatch::take(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kSynced) return;
  const auto& name = change.object.key.name;
  const bool lost =
      change.type != cluster::ChangeType::kDeleted && lost_its_name(change.object.json);
  {
    const std::scoped_lock lock(mutex_);
    const bool before = !without_.empty();
    if (lost) {
      without_.insert(name);
    } else {
      without_.erase(name);
    }
    if (before == !without_.empty()) return;
  }
  changed_();
}

}  // namespace tranche::agent
