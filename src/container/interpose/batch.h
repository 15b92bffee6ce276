#pragma once
// What the usual way of a launch reads (gate.h): the open batch of a stream, and what a thread
// knows of itself.

#include <atomic>
#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/estimates.h"

namespace tranche::interpose {

struct Batch {
  std::atomic<std::uintptr_t> key;  // of the stream, see stream_key; 0: free
  std::atomic<std::int64_t> left;   // ns that may still be launched
  std::atomic<std::uint32_t> launches;
  std::atomic<const void*> what;  // that all its launches are of; tranche_mixed
};

// What a thread knows of itself. In the thread's static block: the library is there from the start.
struct Thread {
  Batch* batch;  // that it launched into last
  std::uintptr_t
      default_key[2];  // of the current context's legacy and per-thread stream; 0: to be found
  Context context;     // the current one; nullptr: to be asked
};
extern Batch no_batch;  // its key is none's

// C names, for the launches' usual way is written in assembly too (launch_amd64.S).
extern "C" {
extern constinit thread_local Thread tranche_thread __attribute__((tls_model("initial-exec")));
extern std::atomic<bool> tranche_is_gated;  // there is a tenant: work is counted at least
extern Estimates tranche_estimates;
extern const char tranche_mixed;
}

}  // namespace tranche::interpose
