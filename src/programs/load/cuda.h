#pragma once
// Loads the CUDA driver's library at run time. It is never unloaded: drivers do not support that.
// Any thread may call its functions. We keep no other state.

#include <string>
#include <string_view>

#include "base/result.h"
#include "load/cuda_api.h"

namespace tranche::load {

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

// `library`: a name that the loader searches, or a path. kNotFound: there is no such library, or it
// lacks a function that we need.
Result<CudaApi> load_cuda(const std::string& library);

// "CUDA_ERROR_OUT_OF_MEMORY".
std::string error_name(const CudaApi& cuda, CUresult code);
// The Error for `code`: kUnavailable for out of memory, kNotFound for no device, else kIo. `call`
// names the function and its subject: "cuMemAlloc of 64 MiB".
Error cuda_error(const CudaApi& cuda, CUresult code, std::string_view call);

}  // namespace tranche::load

// Returns cuda_error() from the enclosing function when `expression`, a call through `cuda`, fails.
#define TRY_CUDA(cuda, expression)                                      \
  if (const auto TRANCHE_CONCAT(code_, __LINE__) = (cuda).expression;   \
      TRANCHE_CONCAT(code_, __LINE__) != ::tranche::load::CUDA_SUCCESS) \
  return std::unexpected(::tranche::load::cuda_error(                   \
      cuda, TRANCHE_CONCAT(code_, __LINE__),                            \
      std::string_view(#expression).substr(0, std::string_view(#expression).find('('))))
