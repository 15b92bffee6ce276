// Questions whose answer is the tenant's part and not the whole device. The driver answers first:
// its errors are its own.

#include "interpose/driver.h"
#include "interpose/memory.h"

using namespace tranche::interpose;

namespace {

template <class Size>
Size shown(std::uint64_t bytes) {
  constexpr std::uint64_t kLargest{static_cast<Size>(~Size{0})};
  return static_cast<Size>(bytes < kLargest ? bytes : kLargest);
}

// `free` and `total`, where the program asked for them, as the driver told them.
template <class Size>
void show(const Part& part, Size* free, Size* total) {
  if (part.rule != Part::Rule::kTenant) return;
  const std::uint64_t view = part.policy().memory_view.load(std::memory_order_relaxed);
  if (total != nullptr && view < *total) *total = shown<Size>(view);
  if (free == nullptr || view == tranche::limit::wire::kNoLimit) return;
  const std::uint64_t held = part.ledger().held(part.device);
  const std::uint64_t left = held < view ? view - held : 0;
  if (left < *free) *free = shown<Size>(left);
}

template <class Size>
int memory_info(int status, void* free, void* total) {
  const Part* part = status == kSuccess ? current_part() : nullptr;
  if (part != nullptr) show(*part, static_cast<Size*>(free), static_cast<Size*>(total));
  return status;
}

template <class Size>
int total_memory(int status, void* total, int device) {
  if (status == kSuccess) show<Size>(part_of_device(device), nullptr, static_cast<Size*>(total));
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
