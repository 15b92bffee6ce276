#pragma once
// The data that the fast path of a launch reads (gate.h): the open batch of a stream, and each
// thread's cached state.

#include <atomic>
#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/estimates.h"

namespace tranche::interpose {

struct Batch {
  std::atomic<std::uintptr_t> key;  // of the stream, see stream_key; 0: free
  std::atomic<std::int64_t> left;   // ns that may still be launched
  std::atomic<std::uint32_t> launches;
  std::atomic<const void*> what;  // function of all its launches; tranche_mixed
};

// A thread's cached state. In the thread's static TLS block: the library is loaded from the start.
struct Thread {
  Batch* batch;  // the last one launched into
  std::uintptr_t
      default_key[2];  // of the current context's legacy and per-thread stream; 0: to be found
  Context context;     // the current one; nullptr: ask
};
extern Batch no_batch;  // its key matches no stream

// C names, because the fast path of launches is also written in assembly (launch_amd64.S).
extern "C" {
extern constinit thread_local Thread tranche_thread __attribute__((tls_model("initial-exec")));
extern std::atomic<bool> tranche_is_gated;  // there is a tenant: work is at least counted
extern Estimates tranche_estimates;
extern const char tranche_mixed;
}

}  // namespace tranche::interpose
