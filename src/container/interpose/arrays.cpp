// Arrays: the driver does not report their size, so it is computed from the requested shape.

#include "interpose/arrays.h"

#include <initializer_list>

#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/memory.h"

using namespace tranche::interpose;

namespace tranche::interpose {
namespace {

Blocks<Held> arrays;

constexpr std::uint64_t at_least_one(std::uint64_t n) { return n == 0 ? 1 : n; }

// Half-bytes of one element: block formats have less than a byte.
std::uint64_t nibbles(int format, unsigned channels) {
  switch (format) {
    case 0x01:  // UNSIGNED_INT8
    case 0x08:  // SIGNED_INT8
      return std::uint64_t{2} * channels;
    case 0x02:  // UNSIGNED_INT16
    case 0x09:  // SIGNED_INT16
    case 0x10:  // HALF
      return std::uint64_t{4} * channels;
    case 0x91:  // BC1
    case 0x92:
    case 0x97:  // BC4
    case 0x98:
      return 1;
    default:
      break;
  }
  if (format >= 0x93 && format <= 0x9e) return 2;  // other BC: 16 bytes for 4 x 4
  if (format >= 0xc0 && format <= 0xcb) {          // U/SNORM, INT8 and INT16, X1, X2, X4
    const bool is_wide = (format >= 0xc3 && format <= 0xc5) || format >= 0xc9;
    return (is_wide ? std::uint64_t{4} : 2) * (1U << static_cast<unsigned>((format - 0xc0) % 3));
  }
  return 8 *
         at_least_one(channels);  // 32 bits a channel; also for the planar formats, which have less
}

struct Shape {
  std::uint64_t width, height, depth;
  int format;
  unsigned channels, flags;

  std::uint64_t bytes() const {
    if ((flags & (kArraySparse | kArrayDeferred)) != 0) return 0;
    std::uint64_t n = width;
    for (const std::uint64_t by :
         {at_least_one(height), at_least_one(depth), nibbles(format, channels)}) {
      if (__builtin_mul_overflow(n, by, &n)) return limit::wire::kNoLimit;
    }
    return n / 2 + n % 2;
  }
};

template <class Descriptor>
Shape flat(const Descriptor& d) {
  return {d.width, d.height, 0, d.format, d.channels, 0};
}
template <class Descriptor>
Shape deep(const Descriptor& d) {
  return {d.width, d.height, d.depth, d.format, d.channels, d.flags};
}

// The bytes of all levels of a mipmapped array: each half as large as the previous one. Layers
// stay.
std::uint64_t bytes_of_levels(Shape shape, unsigned levels) {
  constexpr unsigned kLayered = 0x1;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < at_least_one(levels) && i < 64; ++i) {
    sum = limit::wire::add(sum, shape.bytes());
    shape.width = at_least_one(shape.width / 2);
    if (shape.height != 0) shape.height = at_least_one(shape.height / 2);
    if (shape.depth != 0 && (shape.flags & (kLayered | kArrayCubemap)) == 0) {
      shape.depth = at_least_one(shape.depth / 2);
    }
  }
  return sum;
}

template <class Call, class Free>
int make(void* array, std::uint64_t bytes, Call call, Free free) {
  if (array == nullptr || bytes == 0) return call();
  const auto handle = static_cast<std::uint64_t*>(array);
  return allocate(
      arrays, part_to_charge(), bytes, call, [&] { return *handle; },
      [&] { free(reinterpret_cast<void*>(*handle)); });
}

int end(void* array, int (*call)(void*)) {
  return deallocate(arrays, reinterpret_cast<std::uint64_t>(array), [&] { return call(array); });
}

}  // namespace

void end_arrays_of(Context context) { end_of(arrays, context); }
void forget_arrays() { arrays.reset(); }

}  // namespace tranche::interpose

int cuArrayCreate(void* array, void* descriptor) {
  const auto* d = static_cast<const OldArrayDescriptor*>(descriptor);
  return make(
      array, d != nullptr ? flat(*d).bytes() : 0,
      [&] { return driver.cuArrayCreate(array, descriptor); }, driver.cuArrayDestroy);
}

int cuArrayCreate_v2(void* array, void* descriptor) {
  const auto* d = static_cast<const ArrayDescriptor*>(descriptor);
  return make(
      array, d != nullptr ? flat(*d).bytes() : 0,
      [&] { return driver.cuArrayCreate_v2(array, descriptor); }, driver.cuArrayDestroy);
}

int cuArray3DCreate(void* array, void* descriptor) {
  const auto* d = static_cast<const OldArray3dDescriptor*>(descriptor);
  return make(
      array, d != nullptr ? deep(*d).bytes() : 0,
      [&] { return driver.cuArray3DCreate(array, descriptor); }, driver.cuArrayDestroy);
}

int cuArray3DCreate_v2(void* array, void* descriptor) {
  const auto* d = static_cast<const Array3dDescriptor*>(descriptor);
  return make(
      array, d != nullptr ? deep(*d).bytes() : 0,
      [&] { return driver.cuArray3DCreate_v2(array, descriptor); }, driver.cuArrayDestroy);
}

int cuMipmappedArrayCreate(void* array, void* descriptor, unsigned levels) {
  const auto* d = static_cast<const Array3dDescriptor*>(descriptor);
  return make(
      array, d != nullptr ? bytes_of_levels(deep(*d), levels) : 0,
      [&] { return driver.cuMipmappedArrayCreate(array, descriptor, levels); },
      driver.cuMipmappedArrayDestroy);
}

int cuArrayDestroy(void* array) { return end(array, driver.cuArrayDestroy); }
int cuMipmappedArrayDestroy(void* array) { return end(array, driver.cuMipmappedArrayDestroy); }
