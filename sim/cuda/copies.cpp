#include "sim/cuda/copies.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/cuda/arrays.h"
#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

using Parts = std::vector<std::span<std::byte>>;

constexpr std::uint64_t kDeviceBytesPerUs = 1'000'000;  // 1 TB/s, invented
constexpr std::uint64_t kShortest = 1000;               // ns; anything shorter takes no time

// PCI Express as it is in practice: four fifths of the lanes' rate.
std::uint64_t bus_bytes_per_us(const Model& model) {
  static constexpr auto kLane =
      std::to_array<std::uint64_t>({250, 250, 500, 985, 1969, 3938, 7563});
  const std::uint64_t generation = std::min<std::uint64_t>(model.pcie_generation, kLane.size() - 1);
  return std::max<std::uint64_t>(1, kLane[generation] * model.pcie_width * 4 / 5);
}

std::uint64_t time_for(std::uint64_t bytes, std::uint64_t bytes_per_us) {
  const std::uint64_t ns = bytes * 1000 / bytes_per_us;
  return ns < kShortest ? 0 : ns;
}

bool is_host_side(Driver& driver, const CopySide& side) {
  if (side.array) return false;
  if (side.is_host) return true;
  const Range* const range = driver.space->find(side.address);
  return range == nullptr ? !driver.space->is_device(side.address) : range->is_host();
}

// Ordinary host memory, which only a waiting caller keeps as it is.
bool is_pageable(Driver& driver, const CopySide& side) {
  return !side.array && driver.space->find(side.address) == nullptr;
}

struct Rows {
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
};

// The bytes of one row of a side. nullopt: not all there.
std::optional<Parts> row_of(Driver& driver, const CopySide& side, std::size_t row,
                            std::size_t layer, std::size_t width, bool write) {
  const std::size_t rows = side.array ? side.array->rows() : side.height;
  const std::size_t pitch = side.array ? side.array->pitch() : side.pitch;
  const std::size_t offset = side.x_bytes + ((side.z + layer) * rows + side.y + row) * pitch;
  if (!side.array) return driver.space->bytes(side.address + offset, width, write);
  if (side.array->is_sparse() || offset + width > side.array->bytes() ||
      side.x_bytes + width > pitch)
    return std::nullopt;
  return Parts{{side.array->piece.bytes() + offset, width}};
}

// All rows, joined. nullopt: not all there.
std::optional<Parts> parts_of(Driver& driver, const CopySide& side, const Rows& rows, bool write) {
  Parts all;
  for (std::size_t layer = 0; layer < rows.depth; ++layer) {
    for (std::size_t row = 0; row < rows.height; ++row) {
      const auto one = row_of(driver, side, row, layer, rows.width, write);
      if (!one) return std::nullopt;
      all.insert(all.end(), one->begin(), one->end());
    }
  }
  return all;
}

void move_bytes(const Parts& to, const Parts& from) {
  std::size_t to_at = 0;
  std::size_t from_at = 0;
  auto target = to.begin();
  auto source = from.begin();
  while (target != to.end() && source != from.end()) {
    const std::size_t count = std::min(target->size() - to_at, source->size() - from_at);
    std::memmove(target->data() + to_at, source->data() + from_at, count);
    to_at += count;
    from_at += count;
    if (to_at == target->size()) {
      ++target;
      to_at = 0;
    }
    if (from_at == source->size()) {
      ++source;
      from_at = 0;
    }
  }
}

void fill(std::span<std::byte> bytes, unsigned value, unsigned element_bytes) {
  if (element_bytes == 1) {
    std::memset(bytes.data(), static_cast<int>(value & 0xFFU), bytes.size());
    return;
  }
  for (std::size_t at = 0; at + element_bytes <= bytes.size(); at += element_bytes) {
    std::memcpy(bytes.data() + at, &value, element_bytes);
  }
}

CopySide side_of(const SetWork& set) {
  return {.address = set.address, .pitch = set.pitch, .height = set.height};
}
Rows rows_of(const SetWork& set) { return {set.width * set.element_bytes, set.height, 1}; }
Rows rows_of(const CopyWork& copy) { return {copy.width, copy.height, copy.depth}; }

// A linear part of managed memory that the device touches comes to it.
void touch(Call& call, Device& device, const CopySide& side, std::size_t bytes) {
  if (side.array) return;
  if (Range* const range = call.driver.space->find(side.address)) {
    make_resident(call, device, *range, bytes);
  }
}

}  // namespace

CUresult check(Driver& driver, const CopyWork& copy) {
  if (copy.bytes() == 0) return CUDA_SUCCESS;
  for (const auto& [side, write] : {std::pair(&copy.source, false), {&copy.destination, true}}) {
    const bool flat = !side->array && copy.height * copy.depth > 1;
    if (flat && side->pitch < copy.width) return CUDA_ERROR_INVALID_VALUE;
    if (!side->array && side->address == 0) return CUDA_ERROR_INVALID_VALUE;
    // Checks the first and the last row.
    if (!row_of(driver, *side, 0, 0, copy.width, write) ||
        !row_of(driver, *side, copy.height - 1, copy.depth - 1, copy.width, write)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check(Driver& driver, const SetWork& set) {
  if (set.width == 0 || set.height == 0) return CUDA_SUCCESS;
  const std::size_t width = set.width * set.element_bytes;
  if (set.address % set.element_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (set.height > 1 && set.pitch < width) return CUDA_ERROR_INVALID_VALUE;
  const CopySide side = side_of(set);
  const Range* const range = driver.space->find(set.address);
  const bool there = range != nullptr && row_of(driver, side, 0, 0, width, true) &&
                     row_of(driver, side, set.height - 1, 0, width, true);
  return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

std::uint64_t duration_ns(Driver& driver, const Device& device, const CopyWork& copy) {
  const bool crosses = is_host_side(driver, copy.source) || is_host_side(driver, copy.destination);
  return time_for(copy.bytes(), crosses ? bus_bytes_per_us(*device.model) : kDeviceBytesPerUs);
}

std::uint64_t duration_ns(const SetWork& set) {
  return time_for(set.width * set.element_bytes * set.height, kDeviceBytesPerUs);
}

std::function<void()> plan(Driver& driver, const CopyWork& copy) {
  if (copy.bytes() == 0) return nullptr;
  auto from = parts_of(driver, copy.source, rows_of(copy), false);
  auto to = parts_of(driver, copy.destination, rows_of(copy), true);
  if (!from || !to) return nullptr;
  return
      [from = *std::move(from), to = *std::move(to), kept = copy.staged] { move_bytes(to, from); };
}

std::function<void()> plan(Driver& driver, const SetWork& set) {
  if (set.width == 0 || set.height == 0) return nullptr;
  auto parts = parts_of(driver, side_of(set), rows_of(set), true);
  if (!parts) return nullptr;
  return [parts = *std::move(parts), set] {
    for (const auto part : parts) fill(part, set.value, set.element_bytes);
  };
}

CopyWork linear_copy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
  CopyWork copy;
  copy.source.address = source;
  copy.destination.address = destination;
  copy.source.pitch = copy.destination.pitch = bytes;
  copy.source.height = copy.destination.height = 1;
  copy.width = bytes;
  return copy;
}

namespace {

CUresult run_and_wait(Call& call, const StreamPtr& stream, const CopyWork& copy) {
  OpPtr op;
  const CUresult queued = run(call, stream, copy, &op);
  if (queued != CUDA_SUCCESS) return queued;
  call.driver.executor.wait(call.lock, [&] { return op->is_done(); });
  return CUDA_SUCCESS;
}

// The caller may change ordinary memory as soon as he has control again: its bytes are taken now.
void stage(CopyWork& copy) {
  const auto* const bytes =
      reinterpret_cast<const std::byte*>(copy.source.address);  // NOLINT: the caller's memory
  copy.staged = std::make_shared<std::vector<std::byte>>(bytes + copy.source.x_bytes,
                                                         bytes + copy.source.x_bytes + copy.width);
  copy.source = {.address = reinterpret_cast<std::uintptr_t>(copy.staged->data()),  // NOLINT
                 .is_host = true,
                 .pitch = copy.width,
                 .height = 1};
}

}  // namespace

CUresult copy_now(Call& call, const StreamPtr& stream, const CopyWork& copy) {
  if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
  if (const CUresult good = check(call.driver, copy); good != CUDA_SUCCESS) return good;
  touch(call, call.context->device, copy.source, copy.bytes());
  touch(call, call.context->device, copy.destination, copy.bytes());
  return run_and_wait(call, stream, copy);
}

CUresult copy_later(Call& call, const StreamPtr& stream, CopyWork copy) {
  if (const CUresult good = check(call.driver, copy); good != CUDA_SUCCESS) return good;
  if (stream->capture || copy.bytes() == 0) return perform(call, stream, std::move(copy));
  touch(call, call.context->device, copy.source, copy.bytes());
  touch(call, call.context->device, copy.destination, copy.bytes());
  if (is_pageable(call.driver, copy.destination)) return run_and_wait(call, stream, copy);
  if (!is_pageable(call.driver, copy.source)) return run(call, stream, copy);
  if (copy.height * copy.depth > 1) return run_and_wait(call, stream, copy);
  stage(copy);
  return run(call, stream, copy);
}

}  // namespace tranche::sim::cuda
