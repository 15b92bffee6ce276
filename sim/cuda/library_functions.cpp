// Libraries: code that is loaded once for all contexts.

#include <algorithm>
#include <fstream>
#include <iterator>

#include "sim/cuda/memory.h"
#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {
namespace {

// Loads it into all contexts, if that is the mode. OUT_OF_MEMORY: then it is not loaded.
CUresult load_eagerly(Call& call, Library& library) {
  if (call.driver.loads_lazily) return CUDA_SUCCESS;
  for (const auto& [number, context] : call.driver.contexts) {
    const CUresult loaded = load_in(call, *context, library);
    if (loaded == CUDA_SUCCESS) continue;
    for (const auto& [of, module] : library.modules) {
      if (module) unload(call, module);
    }
    call.driver.libraries.erase(library);
    return loaded;
  }
  return CUDA_SUCCESS;
}

// Checked against the current device, or the first one: no context is needed.
CUresult load(const char* function, CUlibrary* out, const void* image, const JitOptions& options) {
  return on_driver(function, given(out, image), [&](Call& call) {
    ContextPtr context;
    std::ignore = call.driver.current_context(context);
    auto library = std::make_shared<Library>();
    const Device& device = context ? context->device : *call.driver.devices.front();
    const CUresult loaded = load_image(device, image, options, library->image);
    if (loaded != CUDA_SUCCESS) return loaded;
    const LibraryPtr made = call.driver.libraries.add(std::move(library));
    if (const CUresult ready = load_eagerly(call, *made); ready != CUDA_SUCCESS) return ready;
    *out = handle_of<CUlibrary>(*made);
    return CUDA_SUCCESS;
  });
}

template <class Answer>
CUresult on_library(const char* function, CUlibrary handle, bool arguments_given, Answer answer) {
  return on_driver(function, arguments_given, [&](Call& call) {
    const LibraryPtr library = call.driver.libraries.find(handle);
    return library ? answer(call, library) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult find_kernel(Call& call, const LibraryPtr& library, std::string_view name, KernelPtr& out) {
  if (const auto known = library->kernels.find(name); known != library->kernels.end()) {
    out = known->second;
    return CUDA_SUCCESS;
  }
  const auto& entries = library->image.code.entries;
  const bool there = std::ranges::find(entries, name, &PtxEntry::name) != entries.end();
  if (!there && !library->image.is_opaque) return CUDA_ERROR_NOT_FOUND;
  auto kernel = std::make_shared<Kernel>();
  kernel->library = library->number;
  kernel->name = name;
  out = call.driver.kernels.add(std::move(kernel));
  library->kernels[std::string(name)] = out;
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_API CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options,
                                    void** values, unsigned count, CUlibraryOption*, void**,
                                    unsigned) {
  return load(__func__, library, image, {count, options, values});
}
CUDA_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* options,
                                        void** values, unsigned count, CUlibraryOption*, void**,
                                        unsigned) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return load(__func__, library, text.c_str(), {count, options, values});
}

CUDA_API CUresult cuLibraryUnload(CUlibrary handle) {
  return on_library(__func__, handle, true, [&](Call& call, const LibraryPtr& library) {
    for (const auto& [context, module] : library->modules) {
      if (!module) continue;
      if (const ContextPtr owner = module->context.lock()) {
        const CUresult done = synchronize(call, *owner);
        if (done != CUDA_SUCCESS) return done;
      }
      unload(call, module);
    }
    for (const auto& [name, kernel] : library->kernels) call.driver.kernels.erase(*kernel);
    call.driver.libraries.erase(*library);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  return on_library(__func__, handle, given(out, name), [&](Call& call, const LibraryPtr& library) {
    KernelPtr kernel;
    const CUresult found = find_kernel(call, library, name, kernel);
    if (found == CUDA_SUCCESS) *out = handle_of<CUkernel>(*kernel);
    return found;
  });
}

CUDA_API CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return on_context(__func__, given(out), [&](Call& call, Context&) {
    const KernelPtr kernel = call.driver.kernels.find(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    FunctionPtr function;
    const CUresult found = function_of(call, *kernel, function);
    if (found == CUDA_SUCCESS) *out = handle_of<CUfunction>(*function);
    return found;
  });
}

}  // namespace tranche::sim::cuda
