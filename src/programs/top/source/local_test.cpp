#include "top/source/local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "support/fake_clock.h"
#include "support/fake_process_reader.h"
#include "support/fake_reader.h"
#include "support/fake_telemetry_reader.h"
#include "support/machines.h"
#include "support/temp_dir.h"

namespace tranche::top {
namespace {

constexpr const char* kPodUid = "0a1b2c3d-1111-2222-3333-444455556666";

// A T4 of 1000 MiB: 700 used, 100 the driver's. Process 50 is a Pod's, 60 the host's.
class LocalTest : public ::testing::Test {
 protected:
  LocalTest() {
    add_process(1, "init", "/init.scope");
    add_process(::getpid(), "top", "/user.slice/session-1.scope");
    add_process(50, "python",
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
                "0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-" +
                    std::string(64, 'a') + ".scope");
    add_process(60, "Xorg", "/system.slice/gdm.service");
    gpu::Machine machine;
    machine.driver_version = "570.1";
    machine.gpus = {test::GpuBuilder(test::t4(0)).build()};
    reader_.set_machine(machine);
    telemetry_.set(
        gpu::FastReading{.uuid = uuid_,
                         .figures = {.memory = gpu::MemoryFigures{.total = Bytes::from_mib(1000),
                                                                  .used = Bytes::from_mib(700),
                                                                  .free = Bytes::from_mib(200),
                                                                  .reserved = Bytes::from_mib(100)},
                                     .gpu_percent = 40}});
    processes_.set(uuid_, {});
  }
  void add_process(pid_t pid, const std::string& name, const std::string& group) {
    const auto folder = dir_.path() / "proc" / std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "stat")
        << pid << " (" << name << ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n";
    std::ofstream(folder / "cgroup") << "0::" << group << '\n';
  }
  usage::NodeUsage read() {
    auto reading = local().read({});
    EXPECT_TRUE(reading) << (reading ? "" : reading.error().message());
    return reading ? reading->fleet.nodes[0].usage : usage::NodeUsage();
  }
  Local& local() {
    if (!local_) {
      local_.emplace(Local::Ports{reader_, telemetry_, processes_, FsRoot(dir_.path()), clock_});
    }
    return *local_;
  }

  const std::string uuid_ = test::gpu_uuid(0);
  test::TempDir dir_;
  test::FakeReader reader_;
  test::FakeTelemetryReader telemetry_;
  test::FakeProcessReader processes_;
  test::FakeClock clock_;
  std::optional<Local> local_;
};

TEST_F(LocalTest, ProcessesByTheirControlGroup) {
  processes_.set(uuid_, {{.pid = 50, .memory = Bytes::from_mib(300)},
                         {.pid = 60, .memory = Bytes::from_mib(50)},
                         {.pid = 70, .memory = Bytes::from_mib(20)}});
  const auto usage = read();
  ASSERT_EQ(usage.processes.size(), 3U);
  const auto& of_pod = usage.processes[0];
  EXPECT_EQ(of_pod.owner, usage::ProcessOwner::kContainer);
  EXPECT_EQ(of_pod.pod, kPodUid);
  EXPECT_EQ(of_pod.container, "aaaaaaaaaaaa");
  EXPECT_EQ(of_pod.name, "python");
  EXPECT_EQ(usage.processes[1].owner, usage::ProcessOwner::kHost);
  EXPECT_EQ(usage.processes[2].owner, usage::ProcessOwner::kUnknown);
  EXPECT_EQ(usage.processes[2].name, "");

  const auto& memory = usage.gpus[0].memory;
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->containers, Bytes::from_mib(300).value);
  EXPECT_EQ(memory->host_processes, Bytes::from_mib(50).value);
  EXPECT_EQ(memory->unknown, Bytes::from_mib(20).value);
  EXPECT_EQ(memory->unattributed, Bytes::from_mib(330).value);
  EXPECT_EQ(memory->total, memory->free + memory->reserved + memory->containers +
                               memory->host_processes + memory->unknown + memory->unattributed);
  EXPECT_EQ(usage.gpus[0].utilization, 0.4);
}

TEST_F(LocalTest, HowBusyAProcessWasIsToldOfTheTimeBetweenTwoReadings) {
  processes_.set(uuid_, {{.pid = 50, .busy = std::chrono::seconds(1)}});
  EXPECT_EQ(read().processes[0].busy, std::nullopt);
  clock_.advance(std::chrono::seconds(2));
  EXPECT_EQ(read().processes[0].busy, 0.5);
}

TEST_F(LocalTest, WithoutEveryProcessTheAccountIsUnknown) {
  processes_.set(uuid_, {{.pid = 50}});
  const auto usage = read();
  EXPECT_EQ(usage.gpus[0].memory, std::nullopt);
  EXPECT_EQ(usage.gpus[0].memory_used, Bytes::from_mib(700).value);
  EXPECT_EQ(usage.processes[0].memory, std::nullopt);
}

TEST_F(LocalTest, WithoutTheHostsProcessIdsNobodyIsNamed) {
  add_process(1, "top", "/");
  add_process(::getpid(), "top", "/");
  processes_.set(uuid_, {{.pid = 50, .memory = Bytes::from_mib(300)}});
  const auto usage = read();
  EXPECT_EQ(usage.processes[0].owner, usage::ProcessOwner::kUnknown);
  EXPECT_EQ(usage.processes[0].name, "");
  EXPECT_EQ(usage.gpus[0].memory->unknown, Bytes::from_mib(300).value);
  EXPECT_FALSE(usage.checks[1].works);
}

TEST_F(LocalTest, AGpuThatHangsIsUnknown) {
  telemetry_.fail_gpu(uuid_, {Code::kTimeout, "hangs"});
  const auto usage = read();
  ASSERT_EQ(usage.gpus.size(), 1U);
  EXPECT_EQ(usage.gpus[0].memory_used, std::nullopt);
  EXPECT_EQ(usage.gpus[0].utilization, std::nullopt);
}

}  // namespace
}  // namespace tranche::top
