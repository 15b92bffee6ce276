// cuInit, devices, and what works without either.

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "sim/cuda/support.h"
#include "sim/gpu/mig.h"
#include "sim/machine/identity.h"
#include "sim/state/faults.h"

namespace tranche::sim::cuda::test::init_test {
namespace {

TEST(CudaInit, NothingWorksBeforeIt) {
  const World world("l20");
  in_program([] {
    const Cuda cuda;
    int count = 0;
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuda.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(CudaInit, VersionErrorsAndExportTablesNeedNoInit) {
  const World world("t4");
  in_program([] {
    const Cuda cuda;
    int version = 0;
    EXPECT_EQ(cuda.cuDriverGetVersion(&version), CUDA_SUCCESS);
    EXPECT_EQ(version, 12080);
    const char* text = nullptr;
    EXPECT_EQ(cuda.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(cuda.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "out of memory");
    EXPECT_EQ(cuda.cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(text, nullptr);
    const void* table = &version;
    const CUuuid id = {};
    EXPECT_EQ(cuda.cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
  });
}

TEST(CudaInit, WhatIsNotSimulatedSaysSo) {
  const World world("l20");
  in_program([] {
    const Program program;
    void* green = nullptr;
    EXPECT_EQ(program.cuGreenCtxCreate(&green, nullptr, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST(CudaInit, AForkedChildHasNoDriver) {
  const World world("l20");
  in_program([] {
    const Program program;
    in_program([&] {
      int count = 0;
      EXPECT_EQ(program.cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_EQ(program.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_EQ(program.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    });
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

// Made without the C library, which then calls no handlers.
TEST(CudaInit, AChildOfCloneHasNoDriverEither) {
  const World world("l20");
  in_program([] {
    const Program program;
    std::fflush(nullptr);
    const auto pid =
        static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid == 0) {
      int count = 0;
      const bool is_refused = program.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                              program.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                              program.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED;
      ::_exit(is_refused ? 0 : 1);
    }
    expect_success(pid);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST(CudaInit, NoMachineAndNoDriver) {
  ::setenv("TRANCHE_SIM", "/nonexistent.yaml", 1);
  in_program([] { EXPECT_EQ(Cuda().cuInit(0), CUDA_ERROR_NO_DEVICE); });
  ::unsetenv("TRANCHE_SIM");
  const World broken("broken-driver");
  in_program([] { EXPECT_EQ(Cuda().cuInit(0), CUDA_ERROR_SYSTEM_DRIVER_MISMATCH); });
  const World none("none");
  in_program([] { EXPECT_EQ(Cuda().cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(CudaDevice, IsToldAsTheMachineHasIt) {
  const World world("a100-40gb-x4");
  const auto sim = world.open();
  in_program([&] {
    const Program program;
    const Gpu& gpu = sim->state().gpus[0];
    std::array<char, 96> text = {};
    EXPECT_EQ(program.cuDeviceGetName(text.data(), text.size(), 0), CUDA_SUCCESS);
    EXPECT_EQ(std::string(text.data()), sim->state().models[0].name);
    EXPECT_EQ(program.cuDeviceGetName(text.data(), 7, 0), CUDA_SUCCESS);
    EXPECT_EQ(std::string(text.data()).size(), 6U);
    CUuuid uuid = {};
    EXPECT_EQ(program.cuDeviceGetUuid_v2(&uuid, 0), CUDA_SUCCESS);
    EXPECT_EQ(0, std::memcmp(uuid.bytes, uuid_bytes(gpu.uuid).data(), 16));
    EXPECT_EQ(program.cuDeviceGetPCIBusId(text.data(), text.size(), 2), CUDA_SUCCESS);
    CUdevice found = -1;
    EXPECT_EQ(program.cuDeviceGetByPCIBusId(&found, text.data()), CUDA_SUCCESS);
    EXPECT_EQ(found, 2);
    int value = 0;
    EXPECT_EQ(program.cuDeviceGetAttribute(&value, 16, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 108);
    EXPECT_EQ(program.cuDeviceGetAttribute(&value, 75, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 8);
    EXPECT_EQ(program.cuDeviceGetAttribute(&value, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(program.cuDeviceGetAttribute(&value, 16, 4), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(program.cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
    EXPECT_EQ(value, 1);
    CUdevice device = 7;
    EXPECT_EQ(program.cuDeviceGet(&device, 4), CUDA_ERROR_INVALID_DEVICE);
  });
}

struct Visibility {
  const char* name;
  const char* machine;
  const char* container;  // NVIDIA_VISIBLE_DEVICES
  const char* process;    // CUDA_VISIBLE_DEVICES
  std::vector<int> gpus;  // by NVML's index; empty: no device
};

class CudaVisible : public testing::TestWithParam<Visibility> {};

TEST_P(CudaVisible, Devices) {
  const Visibility& wanted = GetParam();
  const World world(wanted.machine);
  const auto sim = world.open();
  if (wanted.container != nullptr) ::setenv("NVIDIA_VISIBLE_DEVICES", wanted.container, 1);
  if (wanted.process != nullptr) ::setenv("CUDA_VISIBLE_DEVICES", wanted.process, 1);
  in_program([&] {
    const Cuda cuda;
    const CUresult made = cuda.cuInit(0);
    if (wanted.gpus.empty()) {
      EXPECT_EQ(made, CUDA_ERROR_NO_DEVICE);
      return;
    }
    ASSERT_EQ(made, CUDA_SUCCESS);
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
    ASSERT_EQ(static_cast<std::size_t>(count), wanted.gpus.size());
    for (int i = 0; i < count; ++i) {
      CUuuid uuid = {};
      const auto index = static_cast<std::size_t>(i);
      const Gpu& gpu = sim->state().gpus[wanted.gpus[index]];
      EXPECT_EQ(cuda.cuDeviceGetUuid(&uuid, i), CUDA_SUCCESS);
      EXPECT_EQ(0, std::memcmp(uuid.bytes, uuid_bytes(gpu.uuid).data(), 16)) << i;
    }
  });
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CudaVisible,
    testing::Values(Visibility{"all", "a100-40gb-x4", nullptr, nullptr, {0, 1, 2, 3}},
                    Visibility{"container", "a100-40gb-x4", "1,3", nullptr, {1, 3}},
                    Visibility{"nothing", "a100-40gb-x4", "none", nullptr, {}},
                    Visibility{"process", "a100-40gb-x4", nullptr, "2,0", {2, 0}},
                    Visibility{"within_container", "a100-40gb-x4", "1,3", "1", {3}},
                    Visibility{"stops_at_the_unknown", "a100-40gb-x4", nullptr, "1,9,0", {1}},
                    Visibility{"twice", "a100-40gb-x4", nullptr, "1,1", {}},
                    Visibility{"empty", "a100-40gb-x4", nullptr, "", {}},
                    Visibility{"minus_one", "a100-40gb-x4", nullptr, "-1", {}}),
    [](const auto& one) { return one.param.name; });

TEST(CudaVisible, ByUuidOrTheBeginningOfOne) {
  const World world("a100-40gb-x4");
  const auto sim = world.open();
  const std::string uuid = sim->state().gpus[2].uuid;
  for (const std::string& value : {uuid, uuid.substr(0, 12)}) {
    ::setenv("CUDA_VISIBLE_DEVICES", value.c_str(), 1);
    in_program([&] {
      const Cuda cuda;
      ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
      CUuuid found = {};
      EXPECT_EQ(cuda.cuDeviceGetUuid(&found, 0), CUDA_SUCCESS);
      EXPECT_EQ(0, std::memcmp(found.bytes, uuid_bytes(uuid).data(), 16));
    });
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(CudaMig, OneMigDeviceIsSeenAndNoGpu) {
  const World world("a100-40gb-mig");
  const auto sim = world.open();
  const Gpu& gpu = sim->state().gpus[0];
  const auto devices = mig_devices(gpu);
  ASSERT_GT(devices.size(), 1U);
  for (std::size_t wanted = 0; wanted < 2; ++wanted) {
    const std::string uuid = mig_uuid(gpu, devices[wanted]);
    if (wanted > 0) ::setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
    in_program([&] {
      const Program program;
      int count = 0;
      EXPECT_EQ(program.cuDeviceGetCount(&count), CUDA_SUCCESS);
      EXPECT_EQ(count, 1);
      CUuuid own = {};
      CUuuid parent = {};
      EXPECT_EQ(program.cuDeviceGetUuid_v2(&own, 0), CUDA_SUCCESS);
      EXPECT_EQ(program.cuDeviceGetUuid(&parent, 0), CUDA_SUCCESS);
      EXPECT_EQ(0, std::memcmp(own.bytes, uuid_bytes(uuid).data(), 16));
      EXPECT_EQ(0, std::memcmp(parent.bytes, uuid_bytes(gpu.uuid).data(), 16));
      std::array<char, 96> name = {};
      EXPECT_EQ(program.cuDeviceGetName(name.data(), name.size(), 0), CUDA_SUCCESS);
      EXPECT_NE(std::string(name.data()).find(" MIG "), std::string::npos) << name.data();
      const Profile& profile =
          profile_of(sim->state(), gpu, gpu.instances[devices[wanted].gpu_instance]);
      std::size_t bytes = 0;
      EXPECT_EQ(program.cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
      EXPECT_EQ(bytes, std::uint64_t{profile.memory_mib} << 20U);
      CUdeviceptr address = 0;
      EXPECT_EQ(program.cuMemAlloc_v2(&address, bytes), CUDA_ERROR_OUT_OF_MEMORY);
    });
    ::unsetenv("CUDA_VISIBLE_DEVICES");
  }
}

TEST(CudaFaults, StrikeByFunctionNameInAllItsForms) {
  const World world("l20");
  const auto sim = world.open();
  ASSERT_TRUE(add_fault(*sim, {.function = "cuMemAlloc", .error = CUDA_ERROR_OUT_OF_MEMORY}));
  ASSERT_TRUE(add_fault(*sim, {.function = "cuLaunchKernel_ptsz", .gpu = 0, .error = 719}));
  in_program([] {
    Program program;
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
    const CUfunction spin = program.function(kSpin, "spin");
    EXPECT_EQ(program.spin(spin, 1), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(program.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  clear_faults(*sim);
  ASSERT_TRUE(add_fault(*sim, {.function = "cu*", .error = CUDA_ERROR_UNKNOWN}));
  in_program([] { EXPECT_EQ(Cuda().cuInit(0), CUDA_ERROR_UNKNOWN); });
  clear_faults(*sim);
  ASSERT_TRUE(add_fault(*sim, {.function = "*", .error = 999}));
  in_program([] { EXPECT_EQ(Cuda().cuInit(0), CUDA_SUCCESS); });
}

TEST(CudaFaults, ACallHangsUntilTheFaultIsCleared) {
  const World world("l20");
  const auto sim = world.open();
  ASSERT_TRUE(add_fault(*sim, {.kind = FaultKind::kHang, .function = "cuMemGetInfo"}));
  std::array<int, 2> pipe = {};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t pid = start([&] {
    Program program;
    EXPECT_EQ(::write(pipe[1], "x", 1), 1);
    program.free_bytes();
    EXPECT_EQ(::write(pipe[1], "y", 1), 1);
  });
  char sign = 0;
  ASSERT_EQ(::read(pipe[0], &sign, 1), 1);
  clear_faults(*sim);
  expect_success(pid);
  ASSERT_EQ(::read(pipe[0], &sign, 1), 1);
  EXPECT_EQ(sign, 'y');
}

TEST(CudaFaults, NothingWorksOnAGpuThatFellOffTheBus) {
  const World world("a100-40gb-x4");
  const auto sim = world.open();
  in_program([&] {
    Program program;
    set_presence(*sim, 0, Presence::kLost);
    CUdeviceptr address = 0;
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 1), CUDA_ERROR_UNKNOWN);
    CUcontext other = nullptr;
    EXPECT_EQ(program.cuCtxCreate_v2(&other, 0, 1), CUDA_SUCCESS);
    EXPECT_EQ(program.cuMemAlloc_v2(&address, 1), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tranche::sim::cuda::test::init_test
