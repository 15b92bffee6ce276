#pragma once
// Which of our own functions stands before each of the driver's, for programs that look the
// driver's up. It knows every function that the library exports (exports.h), and none of these
// knows it.

#include <cstdint>

namespace tranche::interpose {

// As bind_cuda() and bind_nvml() (driver.h); and from then on hook_of() knows what stands before
// the functions of the library.
bool hook_cuda(void* handle);
bool hook_nvml(void* handle);

// What stands before the real function `address`; nullptr: nothing does.
void* hook_of(void* address);

}  // namespace tranche::interpose
