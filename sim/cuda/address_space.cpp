#include "sim/cuda/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace tranche::sim::cuda {
namespace {

constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 44U;
constexpr std::uint64_t kFewestAddresses = std::uint64_t{1} << 38U;

}  // namespace

Result<std::unique_ptr<AddressSpace>> AddressSpace::make() {
  for (std::uint64_t size = kMostAddresses; size >= kFewestAddresses; size /= 2) {
    void* const memory =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(memory);  // NOLINT: addresses are numbers here
    const std::uint64_t first = round_up(begin, kPage);
    return std::make_unique<AddressSpace>(Arena(first, begin + size - first));
  }
  return std::unexpected(errno_error(errno, "reserve device addresses"));
}

std::optional<std::uint64_t> AddressSpace::reserve(std::uint64_t size, std::uint64_t alignment,
                                                   std::uint64_t wanted) {
  if (wanted != 0 && wanted % alignment == 0 && addresses_.take_at(wanted, size)) return wanted;
  return addresses_.take(size, alignment);
}

Range& AddressSpace::add(Range range) {
  range.id = ++last_id_;
  const std::uint64_t base = range.base;
  return ranges_[base] = std::move(range);
}

Range* AddressSpace::find(std::uint64_t address) {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  Range& range = std::prev(after)->second;
  return address - range.base < range.size ? &range : nullptr;
}

std::optional<std::vector<std::span<std::byte>>> AddressSpace::bytes(std::uint64_t address,
                                                                     std::uint64_t size,
                                                                     bool write) {
  std::vector<std::span<std::byte>> parts;
  const unsigned needed = write ? 3U : 1U;
  while (size > 0) {
    Range* const range = find(address);
    if (range == nullptr) {
      if (is_device(address) || !parts.empty()) return std::nullopt;
      parts.emplace_back(reinterpret_cast<std::byte*>(address), size);  // NOLINT: the caller's
      return parts;
    }
    if ((range->access & needed) != needed) return std::nullopt;
    const std::uint64_t offset = address - range->base;
    const std::uint64_t length = std::min(size, range->size - offset);
    parts.emplace_back(range->bytes() + offset, length);
    if (length < size) {
      const Range* const next = find(address + length);
      // Registered memory may continue in unregistered memory; only mappings merge several into
      // one.
      if (next == nullptr && range->is_host()) {
        parts.back() = {parts.back().data(), size};
        return parts;
      }
      const bool joined =
          next != nullptr && range->kind == RangeKind::kMapped && next->kind == RangeKind::kMapped;
      if (!joined) return std::nullopt;
    }
    address += length;
    size -= length;
  }
  return parts;
}

bool AddressSpace::has_any(std::uint64_t address, std::uint64_t size) {
  const auto after = ranges_.lower_bound(address);
  if (after != ranges_.end() && after->first < address + size) return true;
  return find(address) != nullptr;
}

}  // namespace tranche::sim::cuda
