// cuGetProcAddress: names, versions, per-thread default streams.

#include <fstream>
#include <sstream>

#include "sim/cuda/support.h"

namespace tranche::sim::cuda::test::lookup_test {
namespace {

constexpr unsigned long long kDefault = 0;
constexpr unsigned long long kLegacy = 1;
constexpr unsigned long long kPerThread = 2;

struct Case {
  const char* name;
  const char* function;
  int version;
  unsigned long long flags;
  CUresult result;
  const char* symbol;  // nullptr: none
  CUdriverProcAddressQueryResult status;
};

constexpr auto kFound = CU_GET_PROC_ADDRESS_SUCCESS;
constexpr auto kUnknown = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
constexpr auto kTooOld = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;

class CudaLookup : public testing::TestWithParam<Case> {};

TEST_P(CudaLookup, FindsWhatTheDriverWould) {
  const World world("l20");  // CUDA 12.8
  in_program([] {
    const Case& wanted = GetParam();
    const Cuda cuda;
    void* found = &found;
    auto status = static_cast<CUdriverProcAddressQueryResult>(77);
    EXPECT_EQ(
        cuda.cuGetProcAddress_v2(wanted.function, &found, wanted.version, wanted.flags, &status),
        wanted.result);
    EXPECT_EQ(found, wanted.symbol == nullptr ? nullptr : ::dlsym(cuda.handle, wanted.symbol));
    EXPECT_EQ(status, wanted.status);
    // The older interface has no status: it fails for what is missing.
    const CUresult old = wanted.result == CUDA_SUCCESS && wanted.symbol == nullptr
                             ? CUDA_ERROR_NOT_FOUND
                             : wanted.result;
    EXPECT_EQ(cuda.cuGetProcAddress(wanted.function, &found, wanted.version, wanted.flags), old);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CudaLookup,
    testing::Values(
        Case{"first_interface", "cuMemAlloc", 2000, kDefault, CUDA_SUCCESS, "cuMemAlloc", kFound},
        Case{"still_the_first", "cuMemAlloc", 3010, kDefault, CUDA_SUCCESS, "cuMemAlloc", kFound},
        Case{"second", "cuMemAlloc", 3020, kDefault, CUDA_SUCCESS, "cuMemAlloc_v2", kFound},
        Case{"newest", "cuMemAlloc", 12080, kDefault, CUDA_SUCCESS, "cuMemAlloc_v2", kFound},
        Case{"three_interfaces", "cuCtxCreate", 11040, kDefault, CUDA_SUCCESS, "cuCtxCreate_v3",
             kFound},
        Case{"advise_before", "cuMemAdvise", 8000, kDefault, CUDA_SUCCESS, "cuMemAdvise", kFound},
        Case{"advise_after", "cuMemAdvise", 12020, kDefault, CUDA_SUCCESS, "cuMemAdvise_v2",
             kFound},
        Case{"too_old_a_version", "cuLaunchKernelEx", 11000, kDefault, CUDA_SUCCESS, nullptr,
             kTooOld},
        Case{"no_such_function", "cuFlyAway", 12000, kDefault, CUDA_SUCCESS, nullptr, kUnknown},
        Case{"with_a_suffix", "cuMemAlloc_v2", 12000, kDefault, CUDA_SUCCESS, nullptr, kUnknown},
        Case{"newer_than_the_driver", "cuMemAlloc", 13000, kDefault, CUDA_ERROR_INVALID_VALUE,
             nullptr, kUnknown},
        Case{"not_in_this_driver", "cuLogicalEndpointCreate", 12080, kDefault, CUDA_SUCCESS,
             nullptr, kUnknown},
        Case{"legacy_stream", "cuLaunchKernel", 12080, kLegacy, CUDA_SUCCESS, "cuLaunchKernel",
             kFound},
        Case{"per_thread_stream", "cuLaunchKernel", 7000, kPerThread, CUDA_SUCCESS,
             "cuLaunchKernel_ptsz", kFound},
        Case{"per_thread_before_there_was_one", "cuLaunchKernel", 6050, kPerThread, CUDA_SUCCESS,
             "cuLaunchKernel", kFound},
        Case{"per_thread_copy", "cuMemcpyHtoD", 12000, kPerThread, CUDA_SUCCESS,
             "cuMemcpyHtoD_v2_ptds", kFound},
        Case{"per_thread_versions", "cuStreamGetCaptureInfo", 11030, kPerThread, CUDA_SUCCESS,
             "cuStreamGetCaptureInfo_v2_ptsz", kFound},
        Case{"no_stream_in_it", "cuMemAlloc", 12000, kPerThread, CUDA_SUCCESS, "cuMemAlloc_v2",
             kFound},
        Case{"itself", "cuGetProcAddress", 12000, kDefault, CUDA_SUCCESS, "cuGetProcAddress_v2",
             kFound},
        Case{"both_flags", "cuMemAlloc", 12000, kLegacy | kPerThread, CUDA_ERROR_INVALID_VALUE,
             nullptr, kUnknown}),
    [](const auto& one) { return one.param.name; });

// What libcudart 12.9 looks up when it starts, on a driver of that version.
TEST(CudaLookup, AllThatLibcudartAsksForIsThere) {
  const sim::test::World old("l20");
  std::ifstream machine(sim::test::machine_file("l20"));
  std::stringstream text;
  text << machine.rdbuf();
  std::string newer = text.str();
  const auto at = newer.find("\"12.8\"");
  ASSERT_NE(at, std::string::npos);
  newer.replace(at, 6, "\"12.9\"");
  const auto file = old.folder() / "l20-12.9.yaml";
  std::ofstream(file) << newer;
  ::setenv("TRANCHE_SIM", file.c_str(), 1);
  ::setenv("TRANCHE_SIM_STATE", (old.folder() / "newer").c_str(), 1);
  in_program([] {
    const Cuda cuda;
    std::ifstream recorded("tests/data/cudart-lookups.txt");
    ASSERT_TRUE(recorded) << "run from the repository root";
    int found = 0;
    for (std::string line; std::getline(recorded, line);) {
      std::istringstream words(line);
      std::string kind;
      std::string name;
      std::string version;
      std::string flags;
      words >> kind >> name >> version >> flags;
      if (kind != "gpa" || !name.starts_with("cu")) continue;
      ASSERT_TRUE(version.starts_with("v=") && flags.starts_with("fl=")) << line;
      void* address = nullptr;
      CUdriverProcAddressQueryResult status = kUnknown;
      EXPECT_EQ(cuda.cuGetProcAddress_v2(name.c_str(), &address, std::stoi(version.substr(2)),
                                         std::stoull(flags.substr(3)), &status),
                CUDA_SUCCESS)
          << line;
      EXPECT_EQ(status, kFound) << line;
      EXPECT_NE(address, nullptr) << line;
      ::Dl_info info = {};
      if (address != nullptr && flags == "fl=2") {
        ASSERT_NE(::dladdr(address, &info), 0);
        const std::string symbol = info.dli_sname;
        EXPECT_TRUE(symbol.ends_with("_ptsz") || symbol.ends_with("_ptds")) << line << symbol;
      }
      ++found;
    }
    EXPECT_EQ(found, 418);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::lookup_test
