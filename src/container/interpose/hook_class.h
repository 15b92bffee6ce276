#pragma once
// What the limiter has to do with a function of the driver API; the list is hooks.def.

#include <cstdint>

namespace tranche::interpose {

enum class HookClass : std::uint8_t {
  kLookup,      // answers with other functions
  kAlloc,       // takes device memory
  kFree,        // gives it back
  kImport,      // opens what another process holds
  kHostMemory,  // pinned host memory
  kLaunch,      // kernels and graphs
  kCopy,        // copies and fills
  kContext,     // which device a thread works on
  kCode,        // modules and libraries
  kView,        // tells how large the device is
  kCapture,     // stream capture
  kGraph,       // graphs in the making
  kStream,      // end of a stream
  kWait,        // waits for the device
  kStreamWait,  // has a stream wait for what may be no work of this process
  kPass,        // nothing
};

}  // namespace tranche::interpose
