#pragma once
// The driver's library, loaded when the program runs. Never unloaded: drivers do not like it. Its
// functions may be called by any thread; no state of ours.

#include <string>
#include <string_view>

#include "base/result.h"
#include "load/cuda_api.h"

namespace tranche::load {

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// `library`: a name for the loader, or a path. kNotFound: no such library, or one without a
// function that is needed.
Result<CudaApi> load_cuda(const std::string& library);

// "CUDA_ERROR_OUT_OF_MEMORY".
std::string error_name(const CudaApi& cuda, CUresult code);
// kUnavailable for out of memory, kNotFound for no device, else kIo. `call` names the function and
// what it was about: "cuMemAlloc of 64 MiB".
Error cuda_error(const CudaApi& cuda, CUresult code, std::string_view call);

}  // namespace tranche::load

// Returns cuda_error() from the enclosing function when `expression`, a call through `cuda`, fails.
#define TRY_CUDA(cuda, expression)                                      \
  if (const auto TRANCHE_CONCAT(code_, __LINE__) = (cuda).expression;   \
      TRANCHE_CONCAT(code_, __LINE__) != ::tranche::load::CUDA_SUCCESS) \
  return std::unexpected(::tranche::load::cuda_error(                   \
      cuda, TRANCHE_CONCAT(code_, __LINE__),                            \
      std::string_view(#expression).substr(0, std::string_view(#expression).find('('))))
