#pragma once
// Modules, libraries and their contents. A library is loaded once and has a module in each context
// where it is used; its kernels are functions there.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/image.h"

namespace tranche::sim::cuda {

struct Call;
struct Context;
struct Device;
struct Module;

struct Function {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  std::weak_ptr<Module> module;
  PtxEntry entry;
  bool is_opaque = false;  // its parameters are unknown
  bool is_loaded = false;  // requested by cuFuncLoad or a launch, or its module loads eagerly
  unsigned ptx_version = 0;
  unsigned target = 0;
  std::map<abi::CUfunction_attribute, int> settings;
  // Settings from the legacy launch functions (cuParamSetv, cuFuncSetBlockShape).
  std::array<int, 3> block_shape = {1, 1, 1};
  std::vector<std::byte> parameters;
  unsigned shared_size = 0;
};
using FunctionPtr = std::shared_ptr<Function>;

struct Module {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  Image image;
  std::map<std::string, FunctionPtr, std::less<>> functions;  // those requested so far
  std::map<std::string, abi::CUdeviceptr, std::less<>> variables;
  std::uint64_t library = 0;  // its library; 0: loaded by itself
};
using ModulePtr = std::shared_ptr<Module>;

struct Kernel {
  std::uint64_t number = 0;
  std::uint64_t library = 0;
  std::string name;
};
using KernelPtr = std::shared_ptr<Kernel>;

struct Library {
  std::uint64_t number = 0;
  Image image;
  std::map<std::string, KernelPtr, std::less<>> kernels;
  std::map<std::uint64_t, ModulePtr> modules;  // by context
};
using LibraryPtr = std::shared_ptr<Library>;

// An image in a form that the device can run. Logs go where the options say. NO_BINARY_FOR_GPU,
// UNSUPPORTED_PTX_VERSION.
struct JitOptions {
  unsigned count = 0;
  const abi::CUjit_option* options = nullptr;
  void** values = nullptr;
};
abi::CUresult load_image(const Device& device, const void* image, const JitOptions& options,
                         Image& out);
// Its variables take memory of the context. OUT_OF_MEMORY.
abi::CUresult make_module(Call& call, Context& context, Image image, ModulePtr& out);
void unload(Call& call, const ModulePtr& module);
// Loads the library in the context if necessary. OUT_OF_MEMORY.
abi::CUresult load_in(Call& call, Context& context, Library& library);
// NOT_FOUND.
abi::CUresult find_function(Call& call, const ModulePtr& module, std::string_view name,
                            FunctionPtr& out);
// A function by handle: of a module, or of a library's kernel in the current context.
FunctionPtr function_of(Call& call, abi::CUfunction handle);
// The kernel's function in the current context.
abi::CUresult function_of(Call& call, const Kernel& kernel, FunctionPtr& out);
// nullopt: no such attribute.
std::optional<int> attribute_of(const Function& function, const Device& device,
                                abi::CUfunction_attribute attribute);

// The number of blocks with `threads` threads that one multiprocessor runs concurrently.
int blocks_per_sm(const Function& function, const Device& device, int threads,
                  std::size_t dynamic_shared);

}  // namespace tranche::sim::cuda
