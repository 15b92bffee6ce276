#include "nvml/control.h"

#include <fmt/format.h>

#include "nvml/calls.h"

namespace tranche::nvml {
namespace {

// Written by the task. After a hang the task may still write to it, so it is not read.
struct Answer {
  Return result = kSuccess;
  std::string failure;
};

void set(Calls& call, const std::string& uuid, unsigned mode, Answer& answer) {
  const Api& api = call.api();
  Device device = nullptr;
  const char* function = api.nvmlDeviceGetHandleByUUID.name;
  answer.result = call(api.nvmlDeviceGetHandleByUUID, uuid.c_str(), &device);
  if (answer.result == kSuccess) {
    function = api.nvmlDeviceSetComputeMode.name;
    answer.result = call(api.nvmlDeviceSetComputeMode, device, mode);
  }
  if (answer.result != kSuccess) answer.failure = call.describe(function, answer.result);
}

Error error_of(Return result, std::string failure) {
  switch (result) {
    case kNoPermission:
      return {Code::kPermission, std::move(failure), "run it as root, in a privileged container"};
    case kNotSupported:
    case kFunctionNotFound:
      return {Code::kUnsupported, std::move(failure), ""};
    case kNotFound:
    case kInvalidArgument:
    case kGpuNotFound:
      return {Code::kNotFound, std::move(failure), ""};
    default:
      return {Code::kUnavailable, std::move(failure), ""};
  }
}

}  // namespace

Result<void> Control::set_compute_mode(const std::string& uuid, gpu::ComputeMode mode) {
  ASSIGN_OR_RETURN(const auto session, connection_->session());
  const auto answer = std::make_shared<Answer>();
  const auto outcome = connection_->pool().run(
      {.key = "compute mode of " + uuid,
       .work = [session, answer, uuid, number = static_cast<unsigned>(mode)](Progress& progress) {
         Calls call(session->api(), progress);
         set(call, uuid, number, *answer);
       }});
  const std::string what = fmt::format("set the compute mode of {}", uuid);
  if (!outcome.finished) {
    return fail(
        Code::kTimeout,
        fmt::format("{}: {}", what, outcome.describe_hang(connection_->options().deadline)));
  }
  if (answer->result == kSuccess) return {};
  if (is_driver_gone(answer->result)) connection_->restart();
  return std::unexpected(error_of(answer->result, answer->failure).with_context(what));
}

}  // namespace tranche::nvml
