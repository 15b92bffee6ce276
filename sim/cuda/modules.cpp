#include "sim/cuda/modules.h"

#include <algorithm>
#include <cstring>

#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

// Option values are numbers in pointer clothes, or pointers.
std::size_t number_of(void* value) {
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(value));  // NOLINT: see above
}

void** find_option(const JitOptions& options, CUjit_option wanted) {
  for (unsigned i = 0; i < options.count; ++i) {
    if (options.options[i] == wanted) return &options.values[i];
  }
  return nullptr;
}

// The log is truncated to the caller's buffer; its length is returned in place of the buffer's.
void write_log(const JitOptions& options, CUjit_option buffer, CUjit_option size,
               std::string_view log) {
  void** const out = find_option(options, buffer);
  void** const room = find_option(options, size);
  if (room == nullptr) return;
  const std::size_t capacity = number_of(*room);
  const std::size_t length = capacity == 0 ? 0 : std::min(log.size(), capacity - 1);
  if (out != nullptr && *out != nullptr && capacity > 0) {
    std::memcpy(*out, log.data(), length);
    static_cast<char*>(*out)[length] = '\0';
  }
  *room = reinterpret_cast<void*>(static_cast<std::uintptr_t>(length));  // NOLINT: see above
}

ImageTarget target_of(const Device& device) {
  return {.capability = device.limits.capability,
          .newest_ptx = newest_ptx(device.owner.sim.state().cuda_version)};
}

CUresult fits(const Device& device, const Image& image, std::string& log) {
  const auto [own, newest] = target_of(device);
  if (image.is_opaque) return CUDA_SUCCESS;
  if (!image.is_ptx) {
    if (runs_code_for(target_of(device), image.code.target)) return CUDA_SUCCESS;
    log = "machine code of another architecture";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (image.code.version > newest) {
    log = "PTX newer than this driver";
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (image.code.target > own) {
    log = "PTX for a newer architecture";
    return CUDA_ERROR_INVALID_PTX;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult load_image(const Device& device, const void* image, const JitOptions& options,
                    Image& out) {
  std::string log;
  CUresult result = read_image(image, target_of(device), out, log);
  if (result == CUDA_SUCCESS) result = fits(device, out, log);
  write_log(options, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
  write_log(options, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, log);
  return result;
}

CUresult make_module(Call& call, Context& context, Image image, ModulePtr& out) {
  auto module = std::make_shared<Module>();
  module->context = call.driver.contexts.find(context.number);
  module->image = std::move(image);
  for (const PtxVariable& variable : module->image.code.variables) {
    if (variable.size == 0) continue;
    CUdeviceptr address = 0;
    const CUresult made = allocate(call, context, variable.size, RangeKind::kGlobal, address);
    if (made != CUDA_SUCCESS) {
      unload(call, module);
      return made;
    }
    module->variables[variable.name] = address;
  }
  out = std::move(module);
  return CUDA_SUCCESS;
}

void unload(Call& call, const ModulePtr& module) {
  const ContextPtr context = module->context.lock();
  for (const auto& [name, address] : module->variables) {
    Range* const range = call.driver.space->find(address);
    if (range == nullptr) continue;
    if (context) context->heap.give(range->piece);
    call.driver.space->erase(address);
  }
  module->variables.clear();
  for (const auto& [name, function] : module->functions) call.driver.functions.erase(*function);
  module->functions.clear();
  if (module->number != 0) call.driver.modules.erase(*module);
}

CUresult find_function(Call& call, const ModulePtr& module, std::string_view name,
                       FunctionPtr& out) {
  if (const auto known = module->functions.find(name); known != module->functions.end()) {
    out = known->second;
    return CUDA_SUCCESS;
  }
  const auto& entries = module->image.code.entries;
  const auto entry = std::ranges::find(entries, name, &PtxEntry::name);
  if (entry == entries.end() && !module->image.is_opaque) return CUDA_ERROR_NOT_FOUND;
  auto function = std::make_shared<Function>();
  function->context = module->context;
  function->module = module;
  function->is_opaque = module->image.is_opaque;
  function->is_loaded = !call.driver.loads_lazily;
  function->ptx_version = module->image.code.version;
  function->target = module->image.code.target;
  if (entry != entries.end()) {
    function->entry = *entry;
  } else {
    function->entry.name = name;
  }
  out = call.driver.functions.add(std::move(function));
  module->functions[std::string(name)] = out;
  return CUDA_SUCCESS;
}

CUresult function_of(Call& call, const Kernel& kernel, FunctionPtr& out) {
  const LibraryPtr library = call.driver.libraries.find(kernel.library);
  if (!library) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult loaded = load_in(call, *call.context, *library); loaded != CUDA_SUCCESS) {
    return loaded;
  }
  return find_function(call, library->modules[call.context->number], kernel.name, out);
}

CUresult load_in(Call& call, Context& context, Library& library) {
  ModulePtr& module = library.modules[context.number];
  if (module && module->context.lock()) return CUDA_SUCCESS;
  ModulePtr made;
  const CUresult result = make_module(call, context, library.image, made);
  if (result != CUDA_SUCCESS) return result;
  made->library = library.number;
  module = call.driver.modules.add(std::move(made));
  return CUDA_SUCCESS;
}

// Launch functions take a CUkernel too, cast to a CUfunction.
FunctionPtr function_of(Call& call, CUfunction handle) {
  if (const FunctionPtr function = call.driver.functions.find(handle)) return function;
  const KernelPtr kernel = call.driver.kernels.find(handle);
  FunctionPtr function;
  if (kernel) std::ignore = function_of(call, *kernel, function);
  return function;
}

std::optional<int> attribute_of(const Function& function, const Device& device,
                                CUfunction_attribute attribute) {
  if (const auto set = function.settings.find(attribute); set != function.settings.end()) {
    return set->second;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(function.entry.most_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(function.entry.shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return 32;  // invented: nothing compiles the code
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return static_cast<int>(function.target);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return static_cast<int>(device.limits.capability);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return kSharedPerBlock - static_cast<int>(function.entry.shared_bytes);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
  }
  return std::nullopt;
}

}  // namespace tranche::sim::cuda
