// Queries that report the tenant's part in place of the whole device. The driver answers first: its
// errors are its own.

#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/memory.h"

using namespace tranche::interpose;

namespace {

template <class Size>
Size shown(std::uint64_t bytes) {
  constexpr std::uint64_t kLargest{static_cast<Size>(~Size{0})};
  return static_cast<Size>(bytes < kLargest ? bytes : kLargest);
}

// `free` and `total`, if the program asked for them, as reported by the driver. Before an arbiter
// has answered nothing is charged.
template <class Size>
void show(int device, Size* free, Size* total) {
  const View view = view_of_device(device);
  if (!view.is_part || view.memory == tranche::limit::wire::kNoLimit) return;
  if (total != nullptr && view.memory < *total) *total = shown<Size>(view.memory);
  if (free == nullptr) return;
  const std::uint64_t held = view.part != nullptr ? view.part->ledger().held(view.part->device) : 0;
  const std::uint64_t left = held < view.memory ? view.memory - held : 0;
  if (left < *free) *free = shown<Size>(left);
}

template <class Size>
int memory_info(int status, void* free, void* total) {
  const int device = status == kSuccess ? current_device() : -1;
  if (device >= 0) show(device, static_cast<Size*>(free), static_cast<Size*>(total));
  return status;
}

template <class Size>
int total_memory(int status, void* total, int device) {
  if (status == kSuccess) show<Size>(device, nullptr, static_cast<Size*>(total));
  return status;
}

}  // namespace

int cuMemGetInfo(void* free, void* total) {
  return memory_info<unsigned>(driver.cuMemGetInfo(free, total), free, total);
}
int cuMemGetInfo_v2(void* free, void* total) {
  return memory_info<size_t>(driver.cuMemGetInfo_v2(free, total), free, total);
}
int cuDeviceTotalMem(void* total, int device) {
  return total_memory<unsigned>(driver.cuDeviceTotalMem(total, device), total, device);
}
int cuDeviceTotalMem_v2(void* total, int device) {
  return total_memory<size_t>(driver.cuDeviceTotalMem_v2(total, device), total, device);
}
