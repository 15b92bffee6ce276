#include "offer/list_size.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace tranche::offer {
namespace {

constexpr std::string_view kUnhealthy = "Unhealthy";

// https://protobuf.dev/programming-guides/encoding: seven bits a byte.
constexpr std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7U) ++bytes;
  return bytes;
}

// A field with a length, and a number below 16.
constexpr std::size_t field_bytes(std::size_t length) { return 1 + varint_bytes(length) + length; }

// Device.topology = TopologyInfo{nodes: [NUMANode{ID}]}. A number that is 0 is not written.
std::size_t topology_bytes(const Device& device) {
  if (!device.numa_node) return 0;
  const auto id = static_cast<std::uint64_t>(*device.numa_node);
  return field_bytes(field_bytes(id == 0 ? 0 : 1 + varint_bytes(id)));
}

std::size_t tranche_bytes(const Device& device, std::size_t id_length) {
  return field_bytes(field_bytes(id_length) + field_bytes(kUnhealthy.size()) +
                     topology_bytes(device));
}

std::size_t device_bytes(const Device& device, int replicas) {
  if (replicas <= 1) return tranche_bytes(device, device.uuid.size());
  std::size_t sum = 0;
  std::size_t digits = 1;
  for (std::int64_t first = 0, next = 10; first < replicas; first = next, next *= 10, ++digits) {
    const auto count = std::min<std::int64_t>(replicas, next) - first;
    sum += static_cast<std::size_t>(count) *
           tranche_bytes(device, device.uuid.size() + std::string_view("::").size() + digits);
  }
  return sum;
}

}  // namespace

std::size_t list_bytes(std::span<const Listed> devices, int at_most) {
  std::size_t sum = 0;
  for (const auto& one : devices) sum += device_bytes(*one.device, std::min(one.replicas, at_most));
  return sum;
}

std::size_t list_bytes(std::span<const Listed> devices) {
  return list_bytes(devices, std::numeric_limits<int>::max());
}

int most_replicas(std::span<const Listed> devices) {
  int fits = 0;
  int fails = 1;
  for (const auto& one : devices) fails = std::max(fails, one.replicas);
  ++fails;
  while (fails - fits > 1) {
    const int middle = fits + (fails - fits) / 2;
    (list_bytes(devices, middle) <= kLongestList ? fits : fails) = middle;
  }
  return fits;
}

}  // namespace tranche::offer
