// Libraries: code that is loaded once for all contexts.

#include <algorithm>
#include <fstream>
#include <iterator>

#include "sim/cuda/memory.h"
#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {
namespace {

// Checked against the current device, or the first one: no context is needed.
CUresult load(const char* function, CUlibrary* out, const void* image, const JitOptions& options) {
  return on_driver(function, given(out, image), [&](Call& call) {
    ContextPtr context;
    std::ignore = call.driver.current_context(context);
    auto library = std::make_shared<Library>();
    const Device& device = context ? context->device : *call.driver.devices.front();
    const CUresult loaded = load_image(device, image, options, library->image);
    if (loaded != CUDA_SUCCESS) return loaded;
    *out = handle_of<CUlibrary>(*call.driver.libraries.add(std::move(library)));
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

template <class Answer>
CUresult on_kernel(const char* function, CUkernel handle, bool arguments_given, Answer answer) {
  return on_driver(function, arguments_given, [&](Call& call) {
    const KernelPtr kernel = call.driver.kernels.find(handle);
    return kernel ? answer(call, kernel) : CUDA_ERROR_INVALID_HANDLE;
  });
}

// The same in the current context, where the kernel is a function.
template <class Answer>
CUresult on_kernel_function(const char* name, CUkernel handle, bool arguments_given,
                            Answer answer) {
  return on_context(name, arguments_given, [&](Call& call, Context&) {
    const KernelPtr kernel = call.driver.kernels.find(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    FunctionPtr function;
    const CUresult found = function_of(call, *kernel, function);
    return found == CUDA_SUCCESS ? answer(call, function) : found;
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

// The library's module in the current context, with its variables.
CUresult module_here(Call& call, const LibraryPtr& library, ModulePtr& out) {
  const CUresult current = call.driver.current_context(call.context);
  if (current != CUDA_SUCCESS) return current;
  ModulePtr& module = library->modules[call.context->number];
  if (!module || !module->context.lock()) {
    ModulePtr made;
    const CUresult result = make_module(call, *call.context, library->image, made);
    if (result != CUDA_SUCCESS) return result;
    made->library = library->number;
    module = call.driver.modules.add(std::move(made));
  }
  out = module;
  return CUDA_SUCCESS;
}

CUresult find_variable(Call& call, const LibraryPtr& library, const char* name,
                       CUdeviceptr* address, std::size_t* size) {
  ModulePtr module;
  const CUresult here = module_here(call, library, module);
  if (here != CUDA_SUCCESS) return here;
  const auto variable = module->variables.find(name);
  if (variable == module->variables.end()) return CUDA_ERROR_NOT_FOUND;
  const Range* const range = call.driver.space->find(variable->second);
  if (address != nullptr) *address = variable->second;
  if (size != nullptr) *size = range == nullptr ? 0 : range->size;
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
CUDA_API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  return on_library(__func__, handle, given(count), [&](Call&, const LibraryPtr& library) {
    *count = static_cast<unsigned>(library->image.code.entries.size());
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuLibraryEnumerateKernels(CUkernel* out, unsigned count, CUlibrary handle) {
  return on_library(__func__, handle, given(out), [&](Call& call, const LibraryPtr& library) {
    const auto& entries = library->image.code.entries;
    for (unsigned i = 0; i < count && i < entries.size(); ++i) {
      KernelPtr kernel;
      const CUresult found = find_kernel(call, library, entries[i].name, kernel);
      if (found != CUDA_SUCCESS) return found;
      out[i] = handle_of<CUkernel>(*kernel);
    }
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return on_library(__func__, handle, given(out), [&](Call& call, const LibraryPtr& library) {
    ModulePtr module;
    const CUresult here = module_here(call, library, module);
    if (here == CUDA_SUCCESS) *out = handle_of<CUmodule>(*module);
    return here;
  });
}
CUDA_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* size, CUlibrary handle,
                                     const char* name) {
  return on_library(__func__, handle, given(name), [&](Call& call, const LibraryPtr& library) {
    return find_variable(call, library, name, address, size);
  });
}
CUDA_API CUresult cuLibraryGetManaged(CUdeviceptr* address, std::size_t* size, CUlibrary handle,
                                      const char* name) {
  return on_library(__func__, handle, given(name), [&](Call& call, const LibraryPtr& library) {
    const auto& variables = library->image.code.variables;
    const auto variable = std::ranges::find(variables, std::string_view(name), &PtxVariable::name);
    if (variable == variables.end() || !variable->is_managed) return CUDA_ERROR_NOT_FOUND;
    return find_variable(call, library, name, address, size);
  });
}

CUDA_API CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return on_kernel_function(__func__, handle, given(out), [&](Call&, const FunctionPtr& function) {
    *out = handle_of<CUfunction>(*function);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
  return on_kernel(__func__, handle, given(out), [&](Call& call, const KernelPtr& kernel) {
    const LibraryPtr library = call.driver.libraries.find(kernel->library);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    *out = handle_of<CUlibrary>(*library);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return on_kernel(__func__, handle, given(name), [&](Call&, const KernelPtr& kernel) {
    *name = kernel->name.c_str();
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                                       CUdevice ordinal) {
  return on_kernel(__func__, handle, given(value), [&](Call& call, const KernelPtr& kernel) {
    const Device* const device = call.driver.device(ordinal);
    const LibraryPtr library = call.driver.libraries.find(kernel->library);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    Function function;
    const auto& entries = library->image.code.entries;
    const auto entry = std::ranges::find(entries, kernel->name, &PtxEntry::name);
    if (entry != entries.end()) function.entry = *entry;
    function.target = library->image.code.target;
    function.settings = kernel->settings;
    const auto found = attribute_of(function, *device, attribute);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    *value = *found;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                                       CUdevice ordinal) {
  return on_kernel(__func__, handle, true, [&](Call& call, const KernelPtr& kernel) {
    const Device* const device = call.driver.device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (!can_set(*device, attribute, value)) return CUDA_ERROR_INVALID_VALUE;
    kernel->settings[attribute] = value;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice) {
  return on_kernel(__func__, handle, true, [&](Call&, const KernelPtr&) { return CUDA_SUCCESS; });
}

CUDA_API CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t* offset,
                                       std::size_t* size) {
  return on_kernel_function(__func__, handle, given(offset),
                            [&](Call&, const FunctionPtr& function) {
                              return parameter_info(*function, index, offset, size);
                            });
}
CUDA_API CUresult cuKernelGetParamCount(CUkernel handle, std::size_t* count) {
  return on_kernel_function(__func__, handle, given(count),
                            [&](Call&, const FunctionPtr& function) {
                              *count = function->entry.parameters.size();
                              return CUDA_SUCCESS;
                            });
}

}  // namespace tranche::sim::cuda
