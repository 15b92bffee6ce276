// The functions about contexts: made, current, destroyed.

#include <algorithm>

#include "sim/cuda/contexts.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

// A context by handle; 0 is the current one.
CUresult find_context(Call& call, CUcontext handle, ContextPtr& out) {
  if (handle == nullptr) return call.driver.current_context(out);
  out = call.driver.contexts.find(handle);
  return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

std::uint64_t number_of(CUcontext handle) {
  return static_cast<std::uint64_t>(
      reinterpret_cast<std::uintptr_t>(handle));  // NOLINT: see handles.h
}

// Whether it is a context that may be current: one that lives, or an inactive primary one.
bool may_be_current(const Call& call, CUcontext handle) {
  const std::uint64_t number = number_of(handle);
  return call.driver.contexts.find(handle) ||
         std::ranges::any_of(call.driver.devices, [&](const auto& device) {
           return number != 0 && device->primary_number == number;
         });
}

// The handle of what a thread's stack names; null: it is gone for good.
CUcontext handle_of_number(const Call& call, std::uint64_t number) {
  const auto handle =
      reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(number));  // NOLINT: see above
  return may_be_current(call, handle) ? handle : nullptr;
}

CUresult create(const char* function, CUcontext* out, const CUexecAffinityParam* affinity,
                int affinities, unsigned flags, CUdevice ordinal) {
  const bool arguments = given(out) && (affinities == 0 || affinity != nullptr) &&
                         affinities >= 0 && affinities <= 1 && flags <= CU_CTX_FLAGS_MASK;
  return on_device(function, ordinal, arguments, [&](Call& call, Device& device) {
    ContextOptions options;
    if (affinities == 1) {
      if (!call.driver.mps.is_client()) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
      options.sm_count = std::clamp(affinity->param.smCount.val, 1U, device.sm_count);
    }
    ContextPtr context;
    const CUresult made = make_context(call.driver, device, options, context);
    if (made != CUDA_SUCCESS) return made;
    context_stack().push_back(context->number);
    *out = handle_of<CUcontext>(*context);
    return CUDA_SUCCESS;
  });
}

CUresult destroy(const char* function, CUcontext handle) {
  return on_driver(function, given(handle), [&](Call& call) {
    const ContextPtr context = call.driver.contexts.find(handle);
    if (!context || context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
    auto& stack = context_stack();
    if (!stack.empty() && stack.back() == context->number) stack.pop_back();
    destroy_context(call.driver, context);
    return CUDA_SUCCESS;
  });
}

CUresult push(const char* function, CUcontext handle) {
  return on_driver(function, given(handle), [&](Call& call) {
    if (!may_be_current(call, handle)) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(number_of(handle));
    return CUDA_SUCCESS;
  });
}

CUresult pop(const char* function, CUcontext* out) {
  return on_driver(function, true, [&](Call& call) {
    auto& stack = context_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (out != nullptr) *out = handle_of_number(call, stack.back());
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuCtxCreate(CUcontext* out, unsigned flags, CUdevice device) {
  return create(__func__, out, nullptr, 0, flags, device);
}
CUDA_API CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create(__func__, out, nullptr, 0, flags, device);
}
CUDA_API CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity, int count,
                                 unsigned flags, CUdevice device) {
  return create(__func__, out, affinity, count, flags, device);
}
CUDA_API CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters, unsigned flags,
                                 CUdevice device) {
  if (parameters == nullptr) return create(__func__, out, nullptr, 0, flags, device);
  if (parameters->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return create(__func__, out, parameters->execAffinityParams, parameters->numExecAffinityParams,
                flags, device);
}
CUDA_API CUresult cuCtxDestroy(CUcontext context) { return destroy(__func__, context); }
CUDA_API CUresult cuCtxDestroy_v2(CUcontext context) { return destroy(__func__, context); }
CUDA_API CUresult cuCtxPushCurrent(CUcontext context) { return push(__func__, context); }
CUDA_API CUresult cuCtxPushCurrent_v2(CUcontext context) { return push(__func__, context); }
CUDA_API CUresult cuCtxPopCurrent(CUcontext* context) { return pop(__func__, context); }
CUDA_API CUresult cuCtxPopCurrent_v2(CUcontext* context) { return pop(__func__, context); }

CUDA_API CUresult cuCtxSetCurrent(CUcontext handle) {
  return on_driver(__func__, true, [&](Call& call) {
    auto& stack = context_stack();
    if (handle != nullptr && !may_be_current(call, handle)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (handle != nullptr) stack.push_back(number_of(handle));
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuCtxGetCurrent(CUcontext* out) {
  return on_driver(__func__, given(out), [&](Call& call) {
    const auto& stack = context_stack();
    *out = stack.empty() ? nullptr : handle_of_number(call, stack.back());
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuCtxGetDevice(CUdevice* device) {
  return on_context(__func__, given(device), [&](Call&, Context& context) {
    *device = context.device.ordinal;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return on_driver(__func__, given(device), [&](Call& call) {
    ContextPtr context;
    const CUresult found = find_context(call, handle, context);
    if (found == CUDA_SUCCESS) *device = context->device.ordinal;
    return found;
  });
}

CUDA_API CUresult cuCtxSynchronize() {
  return on_context(__func__, true,
                    [&](Call& call, Context& context) { return synchronize(call, context); });
}
CUDA_API CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return on_driver(__func__, true, [&](Call& call) {
    ContextPtr context;
    const CUresult found = find_context(call, handle, context);
    return found == CUDA_SUCCESS ? synchronize(call, *context) : found;
  });
}

CUDA_API CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(out), [&](Call& call, Device& device) {
    if (!device.primary) {
      const CUresult made = make_context(call.driver, device, {.is_primary = true}, device.primary);
      if (made != CUDA_SUCCESS) return made;
    }
    ++device.primary_users;
    *out = handle_of<CUcontext>(*device.primary);
    return CUDA_SUCCESS;
  });
}

namespace {

CUresult release_primary(const char* function, CUdevice ordinal) {
  return on_device(function, ordinal, true, [&](Call& call, Device& device) {
    if (device.primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    const bool is_last = --device.primary_users == 0;
    if (is_last && device.primary) destroy_context(call.driver, device.primary);
    return CUDA_SUCCESS;
  });
}

// Who had retained it has still to release it.
CUresult reset_primary(const char* function, CUdevice ordinal) {
  return on_device(function, ordinal, true, [&](Call& call, Device& device) {
    if (device.primary) destroy_context(call.driver, device.primary);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary(__func__, device);
}
CUDA_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary(__func__, device);
}
CUDA_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return reset_primary(__func__, device);
}
CUDA_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return reset_primary(__func__, device);
}

CUDA_API CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return on_device(__func__, ordinal, given(flags, active), [&](Call&, Device& device) {
    *flags = 0;
    *active = device.primary ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
