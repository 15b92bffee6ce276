#include "arbiter/flight_recorder.h"

#include <utility>

#include "fmt/format.h"
#include "incidents/asks.h"
#include "incidents/incident_words.h"

namespace tranche::arbiter {

using incidents::Ns;

FlightRecorder::FlightRecorder(const Options& options, const Clock& clock, const Log& log)
    : asked_file_(options.tenants / incidents::kAsksFile),
      clock_(clock),
      log_(log),
      recorder_(options.stall_after),
      files_(options.state_dir / "incidents") {}

Ns FlightRecorder::now() const {
  return std::chrono::duration_cast<Ns>(clock_.now().time_since_epoch());
}

bool FlightRecorder::is_due() const { return !taken_ || now() - *taken_ >= kEach; }

void FlightRecorder::take(const incidents::NodeReading& node) {
  taken_ = now();
  auto found = recorder_.take(node, *taken_, clock_.wall_now());
  for (auto& incident : found) {
    if (unstored_.size() < kMostUnstored) unstored_.push_back(std::move(incident));
  }
  store();
}

void FlightRecorder::answer() {
  const auto identity = identify(asked_file_);
  if (identity == asked_) return;
  asked_ = identity;
  const auto text = fs_.read(asked_file_, incidents::kLongestAsks);
  if (text) return answer(*text);
  if (text.error().code != Code::kNotFound) log_.warn(text.error());
}

void FlightRecorder::answer(const std::string& text) {
  const auto asks = incidents::decode_asks(text);
  if (!asks) {
    log_.warn(fmt::format("{}: {}; nothing is recorded of these XIDs", asked_file_.string(),
                          asks.error().message()));
    return;
  }
  std::set<std::string> answered;
  const auto wall = clock_.wall_now();
  for (const auto& ask : *asks) {
    answered.insert(ask.id);
    if (answered_.contains(ask.id) || files_.has(ask.id)) continue;
    if (ask.at > wall || wall - ask.at > kLongestPast) continue;
    auto incident = recorder_.describe_xid(ask.gpu, ask.devices, ask.xid, ask.at, now(), wall);
    incident.id = ask.id;
    if (unstored_.size() < kMostUnstored) unstored_.push_back(std::move(incident));
  }
  answered_ = std::move(answered);
  store();
}

void FlightRecorder::store() {
  while (!unstored_.empty()) {
    auto& incident = unstored_.front();
    const auto stored = files_.put(incident);
    const auto words = fmt::format(
        "{}{}", incident.tenant.empty() ? "" : fmt::format("tenant {}: ", incident.tenant),
        victim_words(incident));
    if (!stored) {
      if (std::exchange(told_full_, true)) return;
      log_.warn(fmt::format("an incident cannot be stored: {}; tried again ({})",
                            stored.error().message(), words));
      return;
    }
    told_full_ = false;
    log_.info(fmt::format("incident {}: {}", incident.id, words));
    unstored_.erase(unstored_.begin());
  }
}

}  // namespace tranche::arbiter
