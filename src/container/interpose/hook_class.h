#pragma once
// How the limiter handles a function of the driver API; the list is hooks.def.

#include <cstdint>

namespace tranche::interpose {

enum class HookClass : std::uint8_t {
  kLookup,      // returns other functions
  kAlloc,       // allocates device memory
  kFree,        // frees it
  kImport,      // opens memory of another process
  kHostMemory,  // pinned host memory
  kLaunch,      // kernels and graphs
  kCopy,        // copies and fills
  kContext,     // sets the device that a thread works on
  kCode,        // modules and libraries
  kView,        // reports the size of the device
  kCapture,     // stream capture
  kGraph,       // graphs under construction
  kStream,      // end of a stream
  kWait,        // waits for the device
  kStreamWait,  // makes a stream wait for work that may belong to another process
  kPass,        // nothing to do
};

}  // namespace tranche::interpose
