// Modules: loaded, asked for functions and variables.

#include <fstream>
#include <iterator>

#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {
namespace {

CUresult load(const char* function, CUmodule* out, const void* image, const JitOptions& options) {
  return on_context(function, given(out, image), [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    Image read;
    const CUresult loaded = load_image(context.device, image, options, read);
    if (loaded != CUDA_SUCCESS) return loaded;
    ModulePtr module;
    const CUresult made = make_module(call, context, std::move(read), module);
    if (made != CUDA_SUCCESS) return made;
    *out = handle_of<CUmodule>(*call.driver.modules.add(std::move(module)));
    return CUDA_SUCCESS;
  });
}

// With a terminating zero, like PTX in memory.
std::optional<std::string> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A call about a module.
template <class Answer>
CUresult on_module(const char* function, CUmodule handle, bool arguments_given, Answer answer) {
  return on_context(function, arguments_given, [&](Call& call, Context&) {
    const ModulePtr module = call.driver.modules.find(handle);
    return module ? answer(call, module) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

CUDA_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load(__func__, module, image, {});
}
CUDA_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                     CUjit_option* options, void** values) {
  return load(__func__, module, image, {count, options, values});
}
CUDA_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load(__func__, module, image, {});
}
CUDA_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto text = read_file(path);
  if (!text) return CUDA_ERROR_FILE_NOT_FOUND;
  return load(__func__, module, text->c_str(), {});
}

CUDA_API CUresult cuModuleUnload(CUmodule handle) {
  return on_module(__func__, handle, true, [&](Call& call, const ModulePtr& module) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    if (module->library != 0) return CUDA_ERROR_NOT_PERMITTED;
    const CUresult done = synchronize(call, *call.context);
    if (done == CUDA_SUCCESS) unload(call, module);
    return done;
  });
}

CUDA_API CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  return on_module(__func__, handle, given(out, name), [&](Call& call, const ModulePtr& module) {
    FunctionPtr function;
    const CUresult found = find_function(call, module, name, function);
    if (found == CUDA_SUCCESS) *out = handle_of<CUfunction>(*function);
    return found;
  });
}

CUDA_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return on_module(__func__, handle, given(count), [&](Call&, const ModulePtr& module) {
    *count = static_cast<unsigned>(module->image.code.entries.size());
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* size, CUmodule handle,
                                       const char* name) {
  return on_module(__func__, handle, given(name), [&](Call& call, const ModulePtr& module) {
    const auto variable = module->variables.find(name);
    if (variable == module->variables.end()) return CUDA_ERROR_NOT_FOUND;
    const Range* const range = call.driver.space->find(variable->second);
    if (address != nullptr) *address = variable->second;
    if (size != nullptr) *size = range == nullptr ? 0 : range->size;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return on_driver(__func__, given(mode), [&](Call& call) {
    *mode = call.driver.loads_lazily ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
