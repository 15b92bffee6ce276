#pragma once
// Common parts of the NVML functions that report memory, processes and utilisation: which part of a
// device this container has, and which processes are its own.
//
// NVML's structures as in its ABI (nvml.h): only what is changed or read here.

#include <cstddef>
#include <cstdint>

#include "interpose/driver.h"
#include "interpose/tenants.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlNotSupported = 3;
inline constexpr int kNvmlNotFound = 6;
inline constexpr int kNvmlUnknown = 999;

struct ProcessV1 {
  unsigned pid;
  unsigned long long used;
};
struct ProcessV2 {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

// By NVML's handle.
View view_of_handle(void* device);
// Whether NVML's process `pid` is this container's.
bool is_own(const View& view, unsigned pid);

// Buffer for NVML's lists, not on the thread's stack. Unused pages take no memory.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  // nullptr: out of memory.
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  size_t bytes_;
  void* memory_;
};

// Keeps the container's own of `count` entries; returns how many these are.
template <class Entry>
unsigned keep_own(const View& view, Entry* entries, unsigned count) {
  const Uncancelled uncancelled;
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (is_own(view, entries[i].pid)) entries[kept++] = entries[i];
  }
  return kept;
}

// The same for the result of an NVML list function. Lists contain the processes of every tenant of
// the device; a container is shown only its own.
template <class Entry>
int keep_own(int status, void* device, void* count, void* list) {
  if (status != kNvmlSuccess || count == nullptr || list == nullptr) return status;
  const View view = view_of_handle(device);
  if (!view.is_part) return status;
  auto& length = *static_cast<unsigned*>(count);
  length = keep_own(view, static_cast<Entry*>(list), length);
  return status;
}

}  // namespace tranche::interpose
