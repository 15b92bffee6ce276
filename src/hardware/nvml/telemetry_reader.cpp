#include "nvml/telemetry_reader.h"

#include <fmt/format.h>

#include "nvml/figure_calls.h"
#include "nvml/telemetry_fast.h"
#include "nvml/telemetry_slow.h"

namespace tranche::nvml {
namespace {

// Written by the task. After a hang the task may still write to it, so it is not read.
template <class Reading>
struct Telemetry {
  Return loss = kSuccess;
  std::string failure;  // if `loss` is not kSuccess
  Reading reading{};
};

template <class Reading>
Result<Reading> result_of(Telemetry<Reading>& answer) {
  if (answer.loss == kSuccess) return std::move(answer.reading);
  const bool absent = answer.loss == kNotFound || answer.loss == kInvalidArgument;
  return fail(absent ? Code::kNotFound : Code::kUnavailable, std::move(answer.failure));
}

}  // namespace

template <class Reading, class Work>
std::vector<Result<Reading>> TelemetryReader::read(std::span<const std::string> gpus,
                                                   std::shared_ptr<Session> session, Work work) {
  std::vector<std::shared_ptr<Telemetry<Reading>>> answers;
  std::vector<DeadlinePool::Task> tasks;
  for (const std::string& uuid : gpus) {
    const auto& answer = answers.emplace_back(std::make_shared<Telemetry<Reading>>());
    answer->reading.uuid = uuid;
    tasks.push_back({.key = "telemetry of " + uuid,
                     .work = [session, answer, step = work(uuid)](Progress& progress) {
                       Calls calls(session->api(), progress);
                       FigureCalls call(calls);
                       const auto device = call.find(answer->reading.uuid);
                       if (device) step(call, *device, answer->reading);
                       answer->loss = call.loss();
                       answer->failure = call.failure();
                     }});
  }
  session.reset();
  const auto outcomes = connection_->pool().run(std::move(tasks));
  std::vector<Result<Reading>> readings;
  bool gone = false;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].finished) {
      gone |= is_driver_gone(answers[i]->loss);
      readings.push_back(result_of(*answers[i]));
      continue;
    }
    trackers_.erase(gpus[i]);  // the task has it
    readings.push_back(
        fail(Code::kTimeout, outcomes[i].describe_hang(connection_->options().deadline)));
  }
  if (gone) connection_->restart();  // so that the next reading starts NVML afresh
  return readings;
}

Result<std::vector<Result<gpu::FastReading>>> TelemetryReader::read_fast(
    std::span<const std::string> gpus) {
  ASSIGN_OR_RETURN(auto current, connection_->session_of_present_driver());
  return read<gpu::FastReading>(gpus, std::move(current),
                                [](const std::string&) { return &read_fast_figures; });
}

Result<std::vector<Result<gpu::SlowReading>>> TelemetryReader::read_slow(
    std::span<const std::string> gpus) {
  ASSIGN_OR_RETURN(const auto current, connection_->session_of_present_driver());
  return read<gpu::SlowReading>(gpus, current, [&](const std::string& uuid) {
    return [current, tracker = tracker(uuid, current)](FigureCalls& call, Device device,
                                                       gpu::SlowReading& reading) {
      read_slow_figures(call, current, device, *tracker, reading);
    };
  });
}

std::shared_ptr<GpmTracker> TelemetryReader::tracker(const std::string& uuid,
                                                     const std::shared_ptr<Session>& session) {
  auto& tracker = trackers_[uuid];
  if (tracker == nullptr || !tracker->is_of(session)) {
    tracker = std::make_shared<GpmTracker>(session);
  }
  return tracker;
}

}  // namespace tranche::nvml
