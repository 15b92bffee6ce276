#pragma once
// Which of our functions is called before each of the driver's, for programs that look the driver's
// up. It knows every function that the library exports (exports.h), and none of these knows it.

#include <cstdint>

namespace tranche::interpose {

// As bind_cuda() and bind_nvml() (driver.h); afterwards hook_of() knows the hooks for the library's
// functions.
bool hook_cuda(void* handle);
bool hook_nvml(void* handle);

// Our function for the real function `address`; nullptr: none.
void* hook_of(void* address);

}  // namespace tranche::interpose
