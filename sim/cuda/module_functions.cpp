// Modules: loaded, asked for functions and variables; and the linker, which joins PTX.

#include <cstring>
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

// With a zero at its end, as PTX in memory has it.
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

template <class Answer>
CUresult on_link(const char* function, CUlinkState handle, bool arguments_given, Answer answer) {
  return on_context(function, arguments_given, [&](Call& call, Context&) {
    const auto link = call.driver.links.find(handle);
    return link ? answer(call, link) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult create_link(const char* function, CUlinkState* out) {
  return on_context(function, given(out), [&](Call& call, Context&) {
    *out = handle_of<CUlinkState>(*call.driver.links.add(std::make_shared<Link>()));
    return CUDA_SUCCESS;
  });
}

// Machine code cannot be linked: there is none that runs here.
CUresult add_data(const char* function, CUlinkState handle, CUjitInputType type, const void* data,
                  std::size_t size) {
  return on_link(function, handle, given(data) && size > 0, [&](Call&, const auto& link) {
    if (type != CU_JIT_INPUT_PTX) return CUDA_ERROR_NOT_SUPPORTED;
    const std::string_view text(static_cast<const char*>(data), size);
    link->text.append(text.substr(0, text.find('\0')));
    link->text += '\n';
    return CUDA_SUCCESS;
  });
}

CUresult add_file(const char* function, CUlinkState handle, CUjitInputType type, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto text = read_file(path);
  if (!text) return CUDA_ERROR_FILE_NOT_FOUND;
  return add_data(function, handle, type, text->c_str(), text->size());
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
CUDA_API CUresult cuModuleEnumerateFunctions(CUfunction* out, unsigned count, CUmodule handle) {
  return on_module(__func__, handle, given(out), [&](Call& call, const ModulePtr& module) {
    const auto& entries = module->image.code.entries;
    for (unsigned i = 0; i < count && i < entries.size(); ++i) {
      FunctionPtr function;
      const CUresult found = find_function(call, module, entries[i].name, function);
      if (found != CUDA_SUCCESS) return found;
      out[i] = handle_of<CUfunction>(*function);
    }
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
  return on_driver(__func__, given(mode), [&](Call&) {
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* state) {
  return create_link(__func__, state);
}
CUDA_API CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  return create_link(__func__, state);
}
CUDA_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data,
                                std::size_t size, const char*, unsigned, CUjit_option*, void**) {
  return add_data(__func__, state, type, data, size);
}
CUDA_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data,
                                   std::size_t size, const char*, unsigned, CUjit_option*, void**) {
  return add_data(__func__, state, type, data, size);
}
CUDA_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned,
                                CUjit_option*, void**) {
  return add_file(__func__, state, type, path);
}
CUDA_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                                   unsigned, CUjit_option*, void**) {
  return add_file(__func__, state, type, path);
}
// What comes out is good for the functions that load images, until the link is destroyed.
CUDA_API CUresult cuLinkComplete(CUlinkState state, void** image, std::size_t* size) {
  return on_link(__func__, state, given(image), [&](Call&, const auto& link) {
    *image = link->text.data();
    if (size != nullptr) *size = link->text.size() + 1;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuLinkDestroy(CUlinkState state) {
  return on_link(__func__, state, true, [&](Call& call, const auto& link) {
    call.driver.links.erase(*link);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
