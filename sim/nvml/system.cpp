// Initialisation and what concerns the whole machine.

#include <unistd.h>

#include <string>

#include "base/fs.h"
#include "fmt/format.h"
#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

const char* describe(nvmlReturn_t code) {
  switch (code) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
      return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
      return "GPU requires restart";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "The operating system has blocked the request.";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "RM has detected an NVML/RM version mismatch.";
    case NVML_ERROR_IN_USE:
      return "In use by another client";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
      return "No data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED:
      return "The requested vgpu operation is not available on target device, because ECC is "
             "enabled";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
      return "Insufficient Resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED:
      return "Requested Frequency Not Supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_DEPRECATED:
      return "The requested functionality has been deprecated";
    case NVML_ERROR_NOT_READY:
      return "System is not ready for the request";
    case NVML_ERROR_GPU_NOT_FOUND:
      return "No GPUs found";
    case NVML_ERROR_INVALID_STATE:
      return "Resource not in correct state to perform requested operation";
    case NVML_ERROR_RESET_TYPE_NOT_SUPPORTED:
      return "Reset type not supported";
    case NVML_ERROR_UNKNOWN:
      break;
  }
  return "Unknown Error";
}

// The slot's own name, else the command line's first word.
std::optional<std::string> process_name(const Session& session, unsigned int pid) {
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    if (!session.sim->is_taken(i)) continue;
    const ProcessSlot& slot = session.state().processes[i];
    if (slot.name[0] == '\0') continue;
    if (session.sim->holder(i) == static_cast<pid_t>(pid)) return slot.name;
  }
  const auto line = FsRoot().read(fmt::format("/proc/{}/cmdline", pid));
  if (!line) return std::nullopt;
  return line->substr(0, line->find('\0'));
}

}  // namespace

NVML_API nvmlReturn_t nvmlInit_v2() { return initialise(); }
NVML_API nvmlReturn_t nvmlInit() { return initialise(); }
NVML_API nvmlReturn_t nvmlInitWithFlags(unsigned int) { return initialise(); }
NVML_API nvmlReturn_t nvmlShutdown() { return shut_down(); }
NVML_API const char* nvmlErrorString(nvmlReturn_t code) { return describe(code); }

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return on_system(__func__, given(version), [&](const Session& session) {
    return copy_text(session.state().driver_version, version, length);
  });
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return on_system(__func__, given(version), [&](const Session& session) {
    return copy_text(session.state().nvml_version, version, length);
  });
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return on_system(__func__, given(version), [&](const Session& session) {
    *version = static_cast<int>(session.state().cuda_version);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

NVML_API nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  return on_system(__func__, given(name) && length > 0, [&](const Session& session) {
    const auto text = process_name(session, pid);
    if (!text) return NVML_ERROR_NOT_FOUND;
    return copy_text(text->substr(0, length - 1), name, length);
  });
}

}  // namespace tranche::sim
