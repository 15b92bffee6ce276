// Ways to the driver's functions: each returns what the driver does, replaced by our function if we
// hook it.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "limits/limited/container.h"
#include "limits/limited/lookups.h"

namespace tranche::test {

using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::Cuda;
using sim::cuda::test::in_program;
using sim::cuda::test::Program;
using sim::test::World;

namespace {

std::string object_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  return std::filesystem::path(info.dli_fname).filename();
}
std::string symbol_of(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 && info.dli_sname != nullptr
             ? info.dli_sname
             : "-";
}

constexpr const char* kOurs = "libtranche-limit.so";

}  // namespace

int print_lookups() {
  const Cuda cuda;
  std::ifstream recorded("tests/data/cudart-lookups.txt");
  for (std::string line; std::getline(recorded, line);) {
    if (!line.starts_with("gpa ")) continue;
    std::istringstream words(line.substr(4));
    std::string name;
    std::string version;
    std::string flags;
    words >> name >> version >> flags;
    if (flags.empty()) {  // one asks for the empty name
      flags = version;
      version = name;
      name.clear();
    }
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    const CUresult result =
        cuda.cuGetProcAddress_v2(name.c_str(), &function, std::stoi(version.substr(2)),
                                 std::stoull(flags.substr(3)), &status);
    std::printf("%s %s %s: %d %d %s\n", name.c_str(), version.c_str(), flags.c_str(), result,
                static_cast<int>(status), symbol_of(function).c_str());
    void* first = nullptr;
    const CUresult old = cuda.cuGetProcAddress(name.c_str(), &first, std::stoi(version.substr(2)),
                                               std::stoull(flags.substr(3)));
    std::printf("  v1: %d %s\n", old, symbol_of(first).c_str());
  }
  return 0;
}

namespace {

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): ours
  char buffer[4096];
  while (const auto n = std::fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

TEST(SymbolLookup, RecordedLookupsAreAnsweredAsByTheDriverAlone) {
  const World world("l20");
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string alone = output_of("LD_PRELOAD= " + self + " --lookups");
  const std::string through = output_of(self + " --lookups");
  EXPECT_EQ(through, alone);
  EXPECT_GT(std::ranges::count(alone, '\n'), 700) << "two ways for each of 419";
}

TEST(SymbolLookup, WhatIsHookedIsOursByEveryWay) {
  const World world("l20");
  in_program([] {
    const Cuda cuda;
    for (const char* name :
         {"cuMemAlloc_v2", "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuGraphLaunch",
          "cuMemAllocFromPoolAsync", "cuLaunchCooperativeKernel", "cuArray3DCreate_v2"}) {
      EXPECT_EQ(object_of(dlsym(cuda.handle, name)), kOurs) << name;
      EXPECT_EQ(symbol_of(dlsym(cuda.handle, name)), name);
      EXPECT_EQ(object_of(dlsym(RTLD_DEFAULT, name)), kOurs) << name;
      EXPECT_EQ(object_of(dlsym(RTLD_NEXT, name)), kOurs) << name;
    }
    EXPECT_NE(object_of(dlsym(cuda.handle, "cuMemHostAlloc")), kOurs)
        << "nothing is to be done there";
    void* second = dlmopen(LM_ID_NEWLM, TRANCHE_SIM_CUDA, RTLD_NOW);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(object_of(dlsym(second, "cuMemAlloc_v2")), kOurs);
    // A lookup of the lookup function returns ours.
    void* libc = dlopen("libc.so.6", RTLD_NOW);
    using Find = void* (*)(void*, const char*);
    const auto find = reinterpret_cast<Find>(dlsym(libc, "dlsym"));
    EXPECT_EQ(object_of(reinterpret_cast<void*>(find)), kOurs);
    EXPECT_EQ(object_of(find(cuda.handle, "cuMemAlloc_v2")), kOurs);
    const auto versioned = reinterpret_cast<Find>(dlvsym(libc, "dlsym", "GLIBC_2.2.5"));
    EXPECT_EQ(object_of(reinterpret_cast<void*>(versioned)), kOurs);
  });
}

// As a program has that brings its own driver in addition to the machine's, under any name.
TEST(SymbolLookup, AnotherCopyOfTheDriverIsTheOneThatIsThere) {
  const World world("l20");
  const Container container({part_of(world, 64 * kMiB)});
  for (const char* name : {"/run/libcuda.so.1", "/run/other.so"}) {
    std::filesystem::copy_file(TRANCHE_SIM_CUDA, name);
    in_program([&] {
      Program program;
      void* copy = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(copy, nullptr);
      const auto allocate =
          reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(dlsym(copy, "cuMemAlloc_v2"));
      CUdeviceptr address = 0;
      EXPECT_EQ(allocate(&address, 65 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(allocate(&address, 32 * kMiB), CUDA_SUCCESS) << "in the first one's context";
      EXPECT_EQ(dlsym(copy, "cuMemHostAlloc"), dlsym(program.handle, "cuMemHostAlloc"));
      EXPECT_EQ(dlerror(), nullptr);
      EXPECT_EQ(dlsym(copy, "cuNoSuchFunction"), nullptr);
    });
    std::filesystem::remove(name);
  }
}

TEST(SymbolLookup, ADriverThatWasClosedIsThereWhenItIsOpenedAgain) {
  const World world("l20");
  const Container container({part_of(world, 64 * kMiB)});
  std::filesystem::copy_file(TRANCHE_SIM_CUDA, "/run/other.so");
  in_program([] {
    for (int round = 0; round < 3; ++round) {
      void* handle = dlopen("/run/other.so", RTLD_NOW | RTLD_LOCAL);
      ASSERT_NE(handle, nullptr);
      EXPECT_EQ(reinterpret_cast<CUresult (*)(unsigned)>(dlsym(handle, "cuInit"))(0), CUDA_SUCCESS);
      EXPECT_EQ(object_of(dlsym(handle, "cuMemAlloc_v2")), kOurs);
      dlclose(handle);
    }
  });
  std::filesystem::remove("/run/other.so");
}

TEST(SymbolLookup, WhereThereIsNoDriverNoneIsInvented) {
  in_program([] {
    dlerror();
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuInit"), nullptr);
    EXPECT_NE(dlerror(), nullptr);
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo"), nullptr);
    EXPECT_EQ(dlsym(nullptr, "custom_function_of_nobody"), nullptr);
  });
}

TEST(SymbolLookup, FailuresInBetweenAreNotTheProgramsOwn) {
  const World world("l20");
  in_program([] {
    void* handle = dlopen(TRANCHE_SIM_CUDA, RTLD_NOW);
    dlerror();
    EXPECT_NE(dlsym(handle, "cuMemAlloc_v2"), nullptr);
    EXPECT_EQ(dlerror(), nullptr);
    EXPECT_EQ(dlsym(handle, "cuNoSuchFunction"), nullptr);
    EXPECT_NE(dlerror(), nullptr);
  });
}

TEST(SymbolLookup, OtherNamesAreLookedUpFromWhereTheyWereAsked) {
  // What follows this program, not the library: twice the same.
  void* next = dlsym(RTLD_NEXT, "malloc");
  EXPECT_NE(next, nullptr);
  EXPECT_EQ(dlsym(RTLD_NEXT, "malloc"), next);
  EXPECT_EQ(object_of(next), "libc.so.6");
  EXPECT_EQ(dlvsym(RTLD_NEXT, "malloc", "GLIBC_2.2.5"), next);
}

// Runs before CUDA: the library's presence changes nothing of the program's.
TEST(SymbolLookup, TheProgramKeepsItsMaskAndSignals) {
  const World world("l20");
  const Container container({part_of(world, kGiB)});
  in_program([] {
    const mode_t before = umask(022);
    umask(before);
    struct sigaction first[64];
    for (int i = 1; i < 32; ++i) sigaction(i, nullptr, &first[i]);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, nullptr, &blocked);
    Program program;
    program.allocate(kMiB);
    EXPECT_EQ(umask(before), before);
    for (int i = 1; i < 32; ++i) {
      struct sigaction now{};
      sigaction(i, nullptr, &now);
      EXPECT_EQ(now.sa_handler, first[i].sa_handler) << i;
    }
    sigset_t still;
    sigprocmask(SIG_BLOCK, nullptr, &still);
    for (int i = 1; i < 32; ++i) EXPECT_EQ(sigismember(&still, i), sigismember(&blocked, i));
  });
}

}  // namespace
}  // namespace tranche::test
