// Arrays and mipmapped arrays: made, described, destroyed.

#include <algorithm>

#include "sim/cuda/arrays.h"
#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::size_t kArrayAlignment = 512;

// Bytes of one channel; 0: a format that is not simulated.
std::size_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
  }
  return 0;
}

CUresult check(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
  const bool channels =
      wanted.NumChannels == 1 || wanted.NumChannels == 2 || wanted.NumChannels == 4;
  // MAXIMUM_TEXTURE2D_WIDTH, MAXIMUM_TEXTURE2D_HEIGHT and MAXIMUM_TEXTURE3D_DEPTH of today's GPUs.
  const bool fits = wanted.Width <= 131072 && wanted.Height <= 65536 && wanted.Depth <= 16384;
  if (!channels || wanted.Width == 0 || !fits) return CUDA_ERROR_INVALID_VALUE;
  if (channel_bytes(wanted.Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const bool is_deferred = (wanted.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0;
  return is_deferred ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

ArrayPtr shape(const ContextPtr& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  auto array = std::make_shared<ArrayObject>();
  array->context = context;
  array->descriptor = descriptor;
  array->element_bytes = channel_bytes(descriptor.Format) * descriptor.NumChannels;
  return array;
}

CUresult create(Call& call, Context& context, CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
  if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
  if (const CUresult good = check(wanted); good != CUDA_SUCCESS) return good;
  ArrayPtr array = shape(call.context, wanted);
  if (array->is_sparse()) {
    if (wanted.Height == 0) return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUarray>(*call.driver.arrays.add(std::move(array)));
    return CUDA_SUCCESS;
  }
  auto piece = context.heap.take(array->bytes());
  if (!piece) {
    release_all_unused(call.driver);
    piece = context.heap.take(array->bytes());
  }
  if (!piece) return CUDA_ERROR_OUT_OF_MEMORY;
  array->piece = *std::move(piece);
  *out = handle_of<CUarray>(*call.driver.arrays.add(std::move(array)));
  return CUDA_SUCCESS;
}

template <class Answer>
CUresult on_array(const char* name, CUarray handle, bool arguments_given, Answer answer) {
  return on_context(name, arguments_given, [&](Call& call, Context&) {
    const ArrayPtr array = call.driver.arrays.find(handle);
    return array ? answer(call, array) : CUDA_ERROR_INVALID_HANDLE;
  });
}
template <class Answer>
CUresult on_mipmap(const char* name, CUmipmappedArray handle, bool arguments_given, Answer answer) {
  return on_context(name, arguments_given, [&](Call& call, Context&) {
    const auto mipmap = call.driver.mipmaps.find(handle);
    return mipmap ? answer(call, mipmap) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUDA_ARRAY3D_DESCRIPTOR halve(CUDA_ARRAY3D_DESCRIPTOR descriptor) {
  descriptor.Width = std::max<std::size_t>(1, descriptor.Width / 2);
  if (descriptor.Height > 0) descriptor.Height = std::max<std::size_t>(1, descriptor.Height / 2);
  const bool layered = (descriptor.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if (descriptor.Depth > 0 && !layered) {
    descriptor.Depth = std::max<std::size_t>(1, descriptor.Depth / 2);
  }
  return descriptor;
}

// All levels share one allocation.
CUresult create_mipmap(Call& call, Context& context, CUmipmappedArray* out,
                       CUDA_ARRAY3D_DESCRIPTOR descriptor, unsigned levels) {
  if (const CUresult good = check(descriptor); good != CUDA_SUCCESS) return good;
  if ((descriptor.Flags & CUDA_ARRAY3D_SPARSE) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto mipmap = std::make_shared<Mipmap>();
  mipmap->context = call.context;
  std::size_t bytes = 0;
  std::vector<std::size_t> offsets;
  for (unsigned level = 0; level < levels; ++level) {
    mipmap->levels.push_back(shape(call.context, descriptor));
    offsets.push_back(bytes);
    bytes += round_up(mipmap->levels.back()->bytes(), kArrayAlignment);
    if (descriptor.Width == 1 && descriptor.Height <= 1 && descriptor.Depth <= 1) break;
    descriptor = halve(descriptor);
  }
  auto piece = context.heap.take(bytes);
  if (!piece) return CUDA_ERROR_OUT_OF_MEMORY;
  mipmap->piece = *std::move(piece);
  for (std::size_t level = 0; level < mipmap->levels.size(); ++level) {
    ArrayObject& array = *mipmap->levels[level];
    array.is_level = true;
    array.piece = mipmap->piece;
    array.piece.offset += offsets[level];
    call.driver.arrays.add(mipmap->levels[level]);
  }
  *out = handle_of<CUmipmappedArray>(*call.driver.mipmaps.add(std::move(mipmap)));
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_API CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* wanted) {
  return on_context(__func__, given(out, wanted), [&](Call& call, Context& context) {
    return create(call, context, out,
                  {.Width = wanted->Width,
                   .Height = wanted->Height,
                   .Format = wanted->Format,
                   .NumChannels = wanted->NumChannels});
  });
}
CUDA_API CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
  return on_context(__func__, given(out, wanted), [&](Call& call, Context& context) {
    return create(call, context, out, *wanted);
  });
}

CUDA_API CUresult cuArrayDestroy(CUarray handle) {
  return on_array(__func__, handle, true, [&](Call& call, const ArrayPtr& array) {
    if (array->is_level) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult done = synchronize(call, *call.context);
    if (done != CUDA_SUCCESS) return done;
    if (const ContextPtr owner = array->context.lock()) owner->heap.give(array->piece);
    call.driver.arrays.erase(*array);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  return on_array(__func__, handle, given(out), [&](Call&, const ArrayPtr& array) {
    const auto& own = array->descriptor;
    *out = {.Width = own.Width,
            .Height = own.Height,
            .Format = own.Format,
            .NumChannels = own.NumChannels};
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMipmappedArrayCreate(CUmipmappedArray* out,
                                         const CUDA_ARRAY3D_DESCRIPTOR* wanted, unsigned levels) {
  const bool arguments = given(out, wanted) && levels > 0;
  return on_context(__func__, arguments, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    return create_mipmap(call, context, out, *wanted, levels);
  });
}
CUDA_API CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned level) {
  return on_mipmap(__func__, handle, given(out), [&](Call&, const auto& mipmap) {
    if (level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUarray>(*mipmap->levels[level]);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  return on_mipmap(__func__, handle, true, [&](Call& call, const auto& mipmap) {
    const CUresult done = synchronize(call, *call.context);
    if (done != CUDA_SUCCESS) return done;
    if (const ContextPtr owner = mipmap->context.lock()) owner->heap.give(mipmap->piece);
    for (const ArrayPtr& level : mipmap->levels) call.driver.arrays.erase(*level);
    call.driver.mipmaps.erase(*mipmap);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
