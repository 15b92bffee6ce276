#include "load/cuda.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tranche::load {
namespace {

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

template <class Function>
bool resolve(void* library, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, symbol));  // NOLINT: as POSIX has it
  return out != nullptr;
}

}  // namespace

Result<CudaApi> load_cuda(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(Code::kNotFound, fmt::format("the CUDA driver is not there: {}", loader_error()),
                "run where a GPU's driver is installed, or in a container that was granted a GPU "
                "with the capability 'compute'; --driver names another library");
  }
  CudaApi cuda;
#define TRANCHE_LOAD_RESOLVE(name, symbol, ...)                                         \
  if (!resolve(handle, symbol, cuda.name)) {                                            \
    return fail(Code::kNotFound, fmt::format("{} has no function {}", library, symbol), \
                "a driver of CUDA 11.4 (release 470) or newer is needed");              \
  }
  TRANCHE_LOAD_CUDA_FUNCTIONS(TRANCHE_LOAD_RESOLVE)
#undef TRANCHE_LOAD_RESOLVE
  return cuda;
}

std::string error_name(const CudaApi& cuda, CUresult code) {
  const char* name = nullptr;
  if (cuda.cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) {
    return fmt::format("CUDA error {}", code);
  }
  return name;
}

Error cuda_error(const CudaApi& cuda, CUresult code, std::string_view call) {
  const char* text = nullptr;
  if (cuda.cuGetErrorString(code, &text) != CUDA_SUCCESS || text == nullptr) text = "no text";
  Error error{.code = Code::kIo,
              .what = fmt::format("{}: {} ({})", call, error_name(cuda, code), text)};
  if (code == CUDA_ERROR_OUT_OF_MEMORY) error.code = Code::kUnavailable;
  if (code == CUDA_ERROR_NO_DEVICE || code == CUDA_ERROR_INVALID_DEVICE) {
    error.code = Code::kNotFound;
    error.hint = "nvidia-smi -L lists the GPUs that are visible here";
  }
  return error;
}

}  // namespace tranche::load
