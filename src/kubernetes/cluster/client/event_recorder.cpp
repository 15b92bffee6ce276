#include "cluster/client/event_recorder.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::cluster {

EventRecorder::EventRecorder(Objects& objects, Options options, const Clock& clock, const Log& log)
    : objects_(objects), options_(std::move(options)), clock_(clock), log_(log) {}

void EventRecorder::record(Event event, const Call& call) {
  event.reporter = options_.reporter;
  event.instance = options_.instance;
  if (event.time == Event::Time()) event.time = clock_.wall_now();
  const auto created = objects_.create(kEvent, key_of(event).ns, to_json(event), call);
  // There already: an attempt whose answer was lost.
  if (created || created.error().code == Code::kAlreadyExists) return;
  if (std::exchange(refused_, true)) return;
  log_.warn(fmt::format("no Event is recorded: {}", created.error().message()));
}

}  // namespace tranche::cluster
