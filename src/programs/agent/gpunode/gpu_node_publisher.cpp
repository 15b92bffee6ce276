#include "agent/gpunode/gpu_node_publisher.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::agent {
namespace {

std::chrono::milliseconds wait_after(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return GpuNodePublisher::kNoKind;
    case Code::kPermission:
    case Code::kInvalidArgument:
      return GpuNodePublisher::kRefused;
    default:
      return {};
  }
}

bool is_away(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

}  // namespace

GpuNodePublisher::TimePoint GpuNodePublisher::turn(TimePoint now, const std::stop_token& stop) {
  const auto wanted = source_.status(now);
  const auto soon = now + kLookHere;
  if (wanted == nullptr || now < pacer_.not_before()) return soon;
  if (const auto looked = look(now, stop); !looked) {
    failed(looked.error(), now);
    return soon;
  }
  pacer_.see(change_of(object_.status(), *wanted), now);
  const auto due = pacer_.due();
  if (!due || now < *due) return std::min(soon, due.value_or(soon));
  if (const auto written = write(now, stop); !written) failed(written.error(), now);
  return soon;
}

Result<void> GpuNodePublisher::look(TimePoint now, const std::stop_token& stop) {
  if (now < look_due_) return {};
  TRY(object_.read(stop));
  look_due_ = now + kLookThere;
  return {};
}

// Kubelet is asked for names now, because later ones wait for the next write.
Result<void> GpuNodePublisher::write(TimePoint now, const std::stop_token& stop) {
  source_.ask_names();
  const auto wanted = source_.status(now);
  if (object_.status() == *wanted) {
    pacer_.see(StatusChange::kNone, now);
    return {};
  }
  TRY(object_.write(*wanted, stop));
  pacer_.wrote(now);
  look_due_ = now + kLookThere;
  if (!complaint_.empty()) log_.info(fmt::format("GPUNode {} is written again", object_.name()));
  complaint_.clear();
  failing_since_.reset();
  return {};
}

void GpuNodePublisher::failed(const Error& error, TimePoint now) {
  pacer_.failed(now, wait_after(error));
  look_due_ = now;
  if (!failing_since_) failing_since_ = now;
  if (is_away(error) && now - *failing_since_ < kPatience) return;
  auto message = error.message();
  if (message == complaint_) return;
  complaint_ = std::move(message);
  log_.warn(fmt::format("GPUNode {} is not written: {}; trying again", object_.name(), complaint_));
}

}  // namespace tranche::agent
