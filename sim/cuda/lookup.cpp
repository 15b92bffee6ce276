// How programs find the driver's functions, and what else works before cuInit.

#include "sim/cuda/library.h"
#include "sim/cuda/symbols.h"

namespace tranche::sim::cuda {
namespace {

struct Lookup {
  CUresult result = CUDA_SUCCESS;
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// The newest interface that is not newer than `version`; where the flag asks for it, the newest of
// those whose stream 0 is the thread's own. The machine's driver knows nothing newer than itself.
Lookup look_up(const char* name, int version, unsigned long long flags) {
  constexpr auto kBoth =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || flags > kBoth || flags == kBoth) return {CUDA_ERROR_INVALID_VALUE};
  const auto own = machine_cuda_version();
  const int newest = own ? static_cast<int>(*own) : newest_version();
  if (version > newest) return {CUDA_ERROR_INVALID_VALUE};
  Lookup found;
  int found_version = 0;
  bool found_twin = false;
  for (const Symbol& symbol : find_symbols(name)) {
    if (symbol.version > newest) continue;
    if (symbol.version > version) {
      if (found.address == nullptr) found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      continue;
    }
    const bool wants_twin = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (symbol.per_thread && !wants_twin) continue;
    if (symbol.per_thread < found_twin) continue;
    if (symbol.per_thread == found_twin && symbol.version <= found_version) continue;
    found = {CUDA_SUCCESS, symbol.address, CU_GET_PROC_ADDRESS_SUCCESS};
    found_version = symbol.version;
    found_twin = symbol.per_thread;
  }
  return found;
}

const char* error_name(CUresult error) {
  switch (error) {
#define E(name, value, text) \
  case name:                 \
    return #name;
#include "sim/cuda/errors.def"
#undef E
  }
  return nullptr;
}

const char* error_text(CUresult error) {
  switch (error) {
#define E(name, value, text) \
  case name:                 \
    return text;
#include "sim/cuda/errors.def"
#undef E
  }
  return nullptr;
}

CUresult give(const char* text, const char** out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = text;
  return text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

// The first version fails if it finds nothing; the second returns a status.
CUDA_API CUresult cuGetProcAddress(const char* name, void** function, int version,
                                   unsigned long long flags) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lookup found = look_up(name, version, flags);
  *function = found.address;
  if (found.result != CUDA_SUCCESS) return found.result;
  return found.address == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUDA_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                      unsigned long long flags,
                                      CUdriverProcAddressQueryResult* status) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lookup found = look_up(name, version, flags);
  *function = found.address;
  if (status != nullptr) *status = found.status;
  return found.result;
}

CUDA_API CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto own = machine_cuda_version();
  if (!own) return CUDA_ERROR_NO_DEVICE;
  *version = static_cast<int>(*own);
  return CUDA_SUCCESS;
}

// NVIDIA's private tables are not there; libcudart needs two of them and does not start.
CUDA_API CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (!given(table, id)) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUDA_API CUresult cuGetErrorName(CUresult error, const char** text) {
  return give(error_name(error), text);
}
CUDA_API CUresult cuGetErrorString(CUresult error, const char** text) {
  return give(error_text(error), text);
}

}  // namespace tranche::sim::cuda
