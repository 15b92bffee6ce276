#include "arbiter/kernel/nvml_memory_limiter.h"

#include <fmt/format.h>

#include "nvml/device.h"

namespace tranche::arbiter {

using namespace nvml;

namespace {

Code code_of(Return result) {
  switch (result) {
    case kNoPermission:
      return Code::kPermission;
    case kNotSupported:
    case kFunctionNotFound:
      return Code::kUnsupported;
    case kNotFound:
    case kOperatingSystem:
      return Code::kNotFound;
    case kInvalidArgument:
      return Code::kInvalidArgument;
    default:
      return Code::kUnavailable;
  }
}

std::string remedy_of(Return result) {
  switch (result) {
    case kNoPermission:
      return "let the arbiter be root on the node, with CAP_SYS_ADMIN";
    case kNotSupported:
    case kFunctionNotFound:
      return "install a driver of branch r615 or later, take the GPU out of MIG mode, or remove "
             "kernelLimits";
    case kNotFound:
      return "let the container's control group have the dmem controller (+dmem in "
             "cgroup.subtree_control of those above it), or start the kernel with "
             "cgroup_disable=dmem, so that the driver counts by itself";
    case kOperatingSystem:
      return "let the arbiter see the node's cgroup v2 tree, writable, at --cgroup-root";
    default:
      return "see the kernel log (dmesg) for NVRM messages; it is tried again";
  }
}

}  // namespace

// The task's result. A task that hung may still write to it later, so then it is not read.
struct NvmlMemoryLimiter::Answer {
  Return result = kSuccess;
  std::string failure;  // if result is not kSuccess
  CgroupMemory memory;

  bool succeeded(Calls& call, Return returned, const char* function) {
    if (returned == kSuccess) return true;
    result = returned;
    failure = call.describe(function, returned);
    return false;
  }
};

// Runs `work` with the device's handle on a thread of the pool.
template <class Work>
Result<std::shared_ptr<NvmlMemoryLimiter::Answer>> NvmlMemoryLimiter::ask(const std::string& uuid,
                                                                          Work work) {
  ASSIGN_OR_RETURN(const auto session, connection_->session());
  auto answer = std::make_shared<Answer>();
  const auto outcome = connection_->pool().run(
      {.key = "memory limits of " + uuid,
       .work = [session, answer, uuid, work = std::move(work)](Progress& progress) {
         Calls call(session->api(), progress);
         Device device = nullptr;
         const auto& lookup = call.api().nvmlDeviceGetHandleByUUID;
         if (!answer->succeeded(call, call(lookup, uuid.c_str(), &device), lookup.name)) return;
         work(call, device, *answer);
       }});
  if (!outcome.finished) {
    return fail(Code::kTimeout, outcome.describe_hang(connection_->options().deadline));
  }
  if (is_driver_gone(answer->result))
    connection_->restart();  // the next call initialises NVML again
  if (answer->result != kSuccess) {
    return fail(code_of(answer->result), answer->failure, remedy_of(answer->result));
  }
  return answer;
}

Result<void> NvmlMemoryLimiter::set(const std::string& uuid, const std::filesystem::path& cgroup,
                                    std::optional<Bytes> hard) {
  const auto set = [path = cgroup.string(), hard](Calls& call, Device device, Answer& answer) {
    SetMemoryLimits limits = {
        .name_space = path.c_str(), .soft_limit = 0, .hard_limit = kMemoryLimitMax};
    if (hard) {
      // The driver refuses a limit above the GPU's memory as an invalid argument, so no such limit
      // is set.
      Memory memory = {};
      const auto& total = call.api().nvmlDeviceGetMemoryInfo;
      if (!answer.succeeded(call, call(total, device, &memory), total.name)) return;
      if (hard->value < memory.total) limits.hard_limit = hard->value;
    }
    const auto& function = call.api().nvmlDeviceSetMemoryLimits_v1;
    if (!answer.succeeded(call, call(function, device, &limits), function.name)) return;
    if (limits.hard_limit == kMemoryLimitMax) return;
    GetMemoryLimits kept = {.name_space = path.c_str()};
    const auto& reading = call.api().nvmlDeviceGetMemoryLimits_v1;
    const Return result = call(reading, device, &kept);
    if (result == kSuccess && kept.hard_limit != kMemoryLimitMax) return;
    answer.result = kUnknown;
    answer.failure = result == kSuccess
                         ? fmt::format("the driver took a limit on {} and does not keep it", path)
                         : call.describe(reading.name, result);
  };
  ASSIGN_OR_RETURN([[maybe_unused]] const auto answer, ask(uuid, set));
  return {};
}

Result<CgroupMemory> NvmlMemoryLimiter::read(const std::string& uuid,
                                             const std::filesystem::path& cgroup) {
  const auto read = [path = cgroup.string()](Calls& call, Device device, Answer& answer) {
    GetMemoryLimits limits = {.name_space = path.c_str()};
    const auto& function = call.api().nvmlDeviceGetMemoryLimits_v1;
    const Return result = call(function, device, &limits);
    if (result == kNotFound) return;  // no limit is set
    if (!answer.succeeded(call, result, function.name)) return;
    if (limits.hard_limit != kMemoryLimitMax) answer.memory.hard = Bytes{limits.hard_limit};
    answer.memory.used = Bytes{limits.current_used};
  };
  ASSIGN_OR_RETURN(const auto answer, ask(uuid, read));
  return answer->memory;
}

}  // namespace tranche::arbiter
