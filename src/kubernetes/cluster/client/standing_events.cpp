#include "cluster/client/standing_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::cluster {

StandingEvents::StandingEvents(Objects& objects, std::string reporter, std::string instance,
                               const Clock& clock, const Log& log)
    : objects_(objects),
      reporter_(std::move(reporter)),
      instance_(std::move(instance)),
      clock_(clock),
      log_(log) {}

void StandingEvents::tell(const Events& events, const Call& call) {
  const auto now = clock_.now();
  std::erase_if(told_, [&](const auto& entry) {
    return !events.contains(entry.first) && now - entry.second.seen >= kRemember;
  });
  if (now < not_before_) return;
  for (const auto& [key, event] : events) {
    const auto done = tell_one(key, event, call);
    if (done) continue;
    not_before_ = now + kPause;
    const auto message = done.error().message();
    if (message != complaint_) {
      log_.warn(fmt::format("an Event is not recorded: {}; it is tried again", message));
    }
    complaint_ = message;
    return;
  }
  complaint_.clear();
}

Result<void> StandingEvents::tell_one(const std::string& key, const StandingEvent& event,
                                      const Call& call) {
  const auto now = clock_.now();
  auto known = told_.find(key);
  if (known == told_.end()) {
    if (told_.size() >= kMost) {
      if (!std::exchange(too_many_said_, true)) {
        log_.warn(fmt::format("more than {} events stand: the further ones are not told", kMost));
      }
      return {};
    }
    known = told_.emplace(key, Told{.event = event.event}).first;
    known->second.event.reporter = reporter_;
    known->second.event.instance = instance_;
  }
  auto& told = known->second;
  const auto news = std::ranges::count_if(
      event.instances, [&](const auto& one) { return !told.instances.contains(one); });
  told.count += static_cast<int>(news);
  told.instances = event.instances;
  told.seen = now;
  if (told.said_count == 0) return create(told, call);
  const bool counted = told.count > told.said_count && now - told.said >= kCountAtMost;
  return counted || now - told.said >= kSayAgain ? say_again(told, call) : Result<void>();
}

Result<void> StandingEvents::create(Told& told, const Call& call) {
  if (told.count > 1) told.event.series = {told.count, clock_.wall_now()};
  const auto created = objects_.create(kEvent, key_of(told.event).ns, to_json(told.event), call);
  // Exists already: reported by this reporter before it was restarted.
  if (!created && created.error().code != Code::kAlreadyExists) {
    return std::unexpected(created.error());
  }
  told.said = clock_.now();
  told.said_count = std::max(told.count, 1);
  return {};
}

Result<void> StandingEvents::say_again(Told& told, const Call& call) {
  const Event::Series series{std::max(told.count, 2), clock_.wall_now()};
  const auto patched =
      objects_.patch(kEvent, key_of(told.event), {.json = series_patch(series)}, call);
  if (!patched && patched.error().code == Code::kNotFound) {
    told.event.time = series.last;  // the API server has forgotten it: start again
    return create(told, call);
  }
  if (!patched) return std::unexpected(patched.error());
  told.said = clock_.now();
  told.said_count = std::max(told.count, 1);
  return {};
}

}  // namespace tranche::cluster
