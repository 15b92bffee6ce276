#pragma once
// Calls NVML from a thread of the pool. Each call is stamped with its name and time for the waiting
// thread. A function that the library lacks behaves like NVML's own stubs.

#include <string>
#include <utility>

#include "nvml/deadline_pool.h"
#include "nvml/library.h"

namespace tranche::nvml {

class Calls {
 public:
  Calls(const Api& api, Progress& progress) : api_(api), progress_(progress) {}

  const Api& api() const { return api_; }

  // Calls `function`; FUNCTION_NOT_FOUND if the library lacks it.
  template <class... Parameters, class... Arguments>
  Return operator()(const Function<Return(Parameters...)>& function, Arguments... arguments) {
    if (function.pointer == nullptr) return kFunctionNotFound;
    progress_.enter(function.name);
    return function.pointer(arguments...);
  }

  std::string describe(const char* function, Return result) const {
    return nvml::describe(api_, function, result);
  }

 private:
  const Api& api_;
  Progress& progress_;
};

// Whether `result` means that the driver is gone, and NVML is to be started afresh.
inline bool is_driver_gone(Return result) {
  return result == kUninitialized || result == kDriverNotLoaded;
}
// Whether `result`, from a call about a device, means that the device is gone.
inline bool is_gone(Return result) {
  return result == kGpuIsLost || result == kGpuNotFound || result == kNotFound ||
         is_driver_gone(result);
}

// The text in an NVML output buffer. Safe if the terminating zero is missing.
template <std::size_t kSize>
std::string text(const char (&buffer)[kSize]) {
  std::size_t length = 0;
  while (length < kSize && buffer[length] != '\0') ++length;
  return std::string(buffer, length);
}

}  // namespace tranche::nvml
