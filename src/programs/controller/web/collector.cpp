#include "controller/web/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "base/printable.h"
#include "usage/node_usage_json.h"

namespace tranche::controller {

Collector::Collector(Ports ports, const Clock& clock, Options options)
    : ports_(std::move(ports)), clock_(clock), options_(options) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Collector::~Collector() {
  thread_.request_stop();
  thread_.join();
}

void Collector::want(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const bool was_wanted = looked_ && clock_.now() - *looked_ < options_.wanted_for;
  looked_ = clock_.now();
  changed_.notify_all();
  // Two, as the round under way may have begun before.
  const auto enough = rounds_ + (was_wanted && rounds_ > 0 ? 0 : 1);
  changed_.wait_for(lock, patience, [&] { return rounds_ >= enough; });
}

bool Collector::is_wanted() const {
  const std::scoped_lock lock(mutex_);
  return looked_ && clock_.now() - *looked_ < options_.wanted_for;
}

fleet::Reports Collector::reports() const {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.now();
  fleet::Reports reports;
  for (const auto& [node, known] : known_) {
    auto& report = reports[node];
    report.usage = known.usage;
    const bool fresh = known.usage != nullptr && now - known.answered <= options_.fresh_for;
    if (fresh) {
      report.reporting = fleet::Reporting::kFresh;
      continue;
    }
    report.reporting =
        known.usage == nullptr ? fleet::Reporting::kSilent : fleet::Reporting::kStale;
    report.why = known.why.empty() ? "its agent has not answered yet" : known.why;
    if (known.usage == nullptr) continue;
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - known.answered);
    report.why += fmt::format("; these figures are {} s old", age.count());
  }
  return reports;
}

void Collector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const auto wanted = [this] {
        return looked_ && clock_.now() - *looked_ < options_.wanted_for;
      };
      if (!changed_.wait(lock, stop, wanted)) return;
    }
    round(stop);
    std::unique_lock lock(mutex_);
    ++rounds_;
    changed_.notify_all();
    changed_.wait_for(lock, stop, options_.every, [] { return false; });
  }
}

void Collector::round(const std::stop_token& stop) {
  const auto places = due(ports_.agents());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> askers;
  for (std::size_t i = 0; i < std::min(kAtOnce, places.size()); ++i) {
    askers.emplace_back([&] {
      for (auto one = next++; one < places.size() && !stop.stop_requested(); one = next++) {
        ask(places[one], stop);
      }
    });
  }
}

// Who answered the last time comes first, so that those who hang delay nobody else. Who has no
// place any more is forgotten.
std::vector<AgentPlace> Collector::due(const std::vector<AgentPlace>& places) {
  const std::scoped_lock lock(mutex_);
  std::set<std::string_view> there;
  std::vector<std::pair<unsigned, AgentPlace>> order;
  for (const auto& place : places) {
    if (!there.insert(place.node).second) continue;
    const auto& known = known_[place.node];
    const bool rests = known.failures >= kFailures && clock_.now() - known.asked < options_.rest;
    if (!rests) order.emplace_back(known.failures, place);
  }
  for (auto& [node, known] : known_) {
    if (!there.contains(node)) known.why = "no agent runs on it";
  }
  std::erase_if(known_, [&](const auto& entry) {
    const auto& known = entry.second;
    const bool goes = !there.contains(entry.first) &&
                      (known.usage == nullptr || clock_.now() - known.answered > options_.kept_for);
    if (goes) bytes_ -= known.bytes;
    return goes;
  });
  std::ranges::stable_sort(order, {}, &std::pair<unsigned, AgentPlace>::first);
  std::vector<AgentPlace> due;
  for (auto& [failures, place] : order) due.push_back(std::move(place));
  return due;
}

void Collector::ask(const AgentPlace& place, const std::stop_token& stop) {
  auto answer = answer_of(place, stop);
  if (!stop.stop_requested()) keep(place, std::move(answer));
}

Result<usage::NodeUsage> Collector::answer_of(const AgentPlace& place,
                                              const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto text, ports_.ask(place, options_.longest_answer, stop));
  const std::scoped_lock lock(parsing_);
  ASSIGN_OR_RETURN(auto usage, usage::parse_node_usage(text));
  std::vector<usage::ProcessUsage>().swap(usage.processes);  // nobody shows them
  if (usage.node == place.node) return usage;
  return fail(Code::kInvalidArgument,
              fmt::format("its agent says that it is node \"{}\"", printable(usage.node, 80)));
}

void Collector::keep(const AgentPlace& place, Result<usage::NodeUsage> answer) {
  const auto bytes = answer ? usage::bytes_of(*answer) : 0;
  const std::scoped_lock lock(mutex_);
  auto& known = known_[place.node];
  known.asked = clock_.now();
  const auto weighed = answer ? weigh(known, bytes) : std::unexpected(answer.error());
  if (!weighed) {
    ++known.failures;
    known.why = printable(weighed.error().what, 300);
    return;
  }
  known.usage = std::make_shared<const usage::NodeUsage>(*std::move(answer));
  known.answered = known.asked;
  known.failures = 0;
  known.why.clear();
}

// A node within its part is always taken, so that no other node keeps it out.
Result<void> Collector::weigh(Known& known, std::size_t bytes) {
  const auto others = bytes_ - known.bytes;
  const auto part = options_.most_bytes / std::max<std::size_t>(known_.size(), 1);
  if (bytes > part && others + bytes > options_.most_bytes) {
    return fail(Code::kUnsupported,
                fmt::format("its agent tells {} bytes, where {} have room", bytes, part));
  }
  bytes_ = others + bytes;
  known.bytes = bytes;
  return {};
}

}  // namespace tranche::controller
