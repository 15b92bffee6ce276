#pragma once
// How NVML is called: on a thread of the pool, each call stamped so that the waiter sees where it
// is, and an absent function answering as NVML's own stubs do.

#include <string>
#include <utility>

#include "nvml/deadline_pool.h"
#include "nvml/library.h"

namespace tranche::nvml {

class Calls {
 public:
  Calls(const Api& api, Progress& progress) : api_(api), progress_(progress) {}

  const Api& api() const { return api_; }

  // FUNCTION_NOT_FOUND when the library lacks it.
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

// Whether a call about a device answered that the device is gone.
inline bool is_gone(Return result) {
  return result == kGpuIsLost || result == kGpuNotFound || result == kNotFound ||
         result == kUninitialized || result == kDriverNotLoaded;
}

// What an output string of NVML holds; safe when the library forgot the terminating zero.
template <std::size_t kSize>
std::string text(const char (&buffer)[kSize]) {
  std::size_t length = 0;
  while (length < kSize && buffer[length] != '\0') ++length;
  return std::string(buffer, length);
}

}  // namespace tranche::nvml
