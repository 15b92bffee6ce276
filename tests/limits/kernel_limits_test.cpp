// Memory that the kernel keeps, through the arbiter: its real sockets and pages, a driver, a /proc
// and a tree of control groups that the test writes. The processes are this one, registered as
// several tenants, and a stranger that /proc describes.

#include "arbiter/kernel_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "arbiter/arbiter.h"
#include "fmt/format.h"
#include "limits/library.h"
#include "support/fake_clock.h"
#include "support/fake_memory_limiter.h"
#include "support/fake_process_reader.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::arbiter {
namespace {

using namespace limit;
using namespace std::chrono_literals;
using test::Library;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";
constexpr char kOther[] = "GPU-11112233-4455-6677-8899-aabbccddeeff";
constexpr pid_t kStranger = 4242;

std::string id_of(char digit) { return std::string(64, digit); }

class KernelLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(tenants());
    put("/proc/self/mountinfo", "20 1 0:55 / / rw - overlay overlay rw\n" +
                                    fmt::format("21 20 259:2 /var/lib/tranche/tenants {} rw - "
                                                "ext4 /dev/nvme0n1p2 rw\n",
                                                tenants().string()));
    put("/cgroup/cgroup.controllers", "memory dmem\n");
    driver.set(kGpu, {});
    driver.set(kOther, {});
    std::ifstream stat("/proc/self/stat");
    put(fmt::format("/proc/{}/stat", ::getpid()), std::string(std::istreambuf_iterator(stat), {}));
    // As a process of another container sees it, in a group of its own making.
    in_cgroup(::getpid(), "/../../kubepods/podx/" + id_of('a') + "/worker",
              "kubepods/podx/" + id_of('a') + "/worker");
    open();
  }
  void TearDown() override { limiter.release(); }

  std::filesystem::path tenants() const { return dir.path() / "tenants"; }
  std::filesystem::path cgroups() const { return dir.path() / "host/cgroup"; }
  std::string container(char digit = 'a') const {
    return cgroups() / "kubepods/podx" / id_of(digit);
  }
  void open() {
    arbiter.reset();
    auto opened =
        Arbiter::open({tenants(), dir.path() / "state", FsRoot(dir.path() / "host"), cgroups()},
                      clock, log.log(), &driver, &limiter);
    ASSERT_TRUE(opened) << opened.error().message();
    arbiter = *std::move(opened);
  }
  void put(const std::string& path, const std::string& text) const {
    const FsRoot host(dir.path() / "host");
    ASSERT_TRUE(host.make_directories(std::filesystem::path(path).parent_path()));
    ASSERT_TRUE(host.write_atomic(path, text));
  }
  // `told` is what /proc says, `lies` where the group is.
  void in_cgroup(pid_t pid, const std::string& told, const std::string& lies) const {
    put(fmt::format("/proc/{}/cgroup", pid), "0::" + told + "\n");
    put("/cgroup/" + lies + "/cgroup.procs", fmt::format("7\n{}\n", pid));
  }
  void promise(const std::string& id, std::uint64_t mib, const char* device = kGpu,
               MemoryBy by = MemoryBy::kKernel,
               wire::Enforcement enforcement = wire::Enforcement::kStrict) {
    const TenantLimits limits{.id = id,
                              .resource = "nvidia.com/gpu",
                              .enforcement = enforcement,
                              .devices = {{device, mib * kMiB, 1, {}, {}, by}}};
    std::filesystem::create_directories(tenants() / id);
    std::ofstream(tenants() / (id + ".new")) << encode(limits);
    std::filesystem::rename(tenants() / (id + ".new"), tenants() / (id + ".json"));
    rounds();
  }
  void rounds() {
    for (int i = 0; i < 3; ++i) arbiter->round(0ms);
  }
  // The next second: what failed is tried again.
  void next_second() {
    clock.advance(1s);
    arbiter->round(0ms);
  }
  Library hello(const std::string& id) {
    Library library;
    EXPECT_TRUE(library.connect_to(tenants() / id / "arbiter.sock"));
    EXPECT_TRUE(library.hello());
    rounds();
    return library;
  }
  static bool is_answered(const Library& library) {
    char byte = 0;
    return ::recv(library.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  void hear(Library& library) {
    while (!is_answered(library)) arbiter->round(1ms);
    ASSERT_TRUE(library.hear());
    ASSERT_EQ(library.welcome.answer, wire::Answer::kAccepted);
  }
  Library registered(const std::string& id) {
    Library library = hello(id);
    hear(library);
    return library;
  }
  void wait_for_calls(std::size_t count) {
    while (limiter.calls().size() < count) arbiter->round(1ms);
  }
  test::FakeMemoryLimiter::Call set_to(std::uint64_t mib, const char* device = kGpu,
                                       char digit = 'a') const {
    return {device, container(digit), Bytes::from_mib(mib)};
  }
  static std::uint64_t limit_of(const Library& library) {
    return library.policy->devices[0].memory_limit / kMiB;
  }
  std::vector<Degraded> degraded(std::size_t tenant = 0) const {
    return arbiter->status().tenants.at(tenant).degraded;
  }

  test::TempDir dir;
  test::FakeClock clock;
  test::LogRecorder log;
  test::FakeProcessReader driver;
  test::FakeMemoryLimiter limiter;
  std::unique_ptr<Arbiter> arbiter;
};

TEST_F(KernelLimitsTest, TheContainerIsLimitedBeforeItsFirstProcessIsAnswered) {
  promise("a", 100);
  limiter.hang(kGpu);
  Library library = hello("a");
  wait_for_calls(1);
  rounds();
  EXPECT_FALSE(is_answered(library));
  limiter.release();
  hear(library);
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100)));
  EXPECT_THAT(degraded(), IsEmpty());
}

TEST_F(KernelLimitsTest, OneCallForAContainerHoweverManyProcessesAndSeconds) {
  promise("a", 100);
  registered("a");
  registered("a");
  for (int i = 0; i < 3; ++i) next_second();
  EXPECT_THAT(limiter.calls(), SizeIs(1));
}

TEST_F(KernelLimitsTest, OtherRungsAskNothingOfTheDriver) {
  promise("a", 100, kGpu, MemoryBy::kLimiter);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter.calls(), IsEmpty());
}

TEST_F(KernelLimitsTest, AsLongAsTheDriverRefusesThereIsNoMemory) {
  limiter.fail_with({Code::kPermission, "no", "be root"});
  promise("a", 100);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_EQ(library.policy->devices[0].memory_view, 100 * kMiB);
  EXPECT_THAT(degraded(), ElementsAre(Degraded::kKernelLimitFailed));
  next_second();
  wait_for_calls(2);
  rounds();
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_EQ(log.count("the kernel does not limit its memory of GPU-0011"), 1);
  limiter.recover();
  next_second();
  while (limit_of(library) == 0) arbiter->round(1ms);
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter.calls(), SizeIs(3));
  EXPECT_THAT(degraded(), IsEmpty());
  EXPECT_EQ(log.count("the kernel limits its memory of GPU-0011"), 1);
}

TEST_F(KernelLimitsTest, ADriverThatHangsOnOneGpuStallsNobodyOnAnother) {
  promise("a", 100, kGpu);
  promise("b", 200, kOther);
  promise("c", 300, kGpu, MemoryBy::kLimiter);
  limiter.hang(kGpu);
  Library stuck = hello("a");
  wait_for_calls(1);
  EXPECT_EQ(limit_of(registered("b")), 200U);
  EXPECT_EQ(limit_of(registered("c")), 300U);
  EXPECT_FALSE(is_answered(stuck));
  limiter.release();
  hear(stuck);
}

TEST_F(KernelLimitsTest, AChangedLimitIsSetAgain) {
  promise("a", 100);
  const Library library = registered("a");
  promise("a", 60);
  wait_for_calls(2);
  EXPECT_EQ(limit_of(library), 60U);
  EXPECT_EQ(limiter.calls().back(), set_to(60));
  // Nothing is held any more: the kernel lets go too.
  promise("a", 60, kGpu, MemoryBy::kKernel, wire::Enforcement::kAccount);
  wait_for_calls(3);
  EXPECT_EQ(limiter.calls().back().hard, std::nullopt);
  promise("a", 60);
  wait_for_calls(4);
  // As when another rung takes over.
  promise("a", 60, kGpu, MemoryBy::kLimiter);
  wait_for_calls(5);
  EXPECT_EQ(limiter.calls().back().hard, std::nullopt);
}

TEST_F(KernelLimitsTest, AChangeWhileTheDriverIsAskedIsNotLost) {
  promise("a", 100);
  limiter.hang(kGpu);
  Library library = hello("a");
  wait_for_calls(1);
  promise("a", 70);
  rounds();
  EXPECT_THAT(limiter.calls(), SizeIs(1));
  limiter.release();
  hear(library);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100), set_to(70)));
}

TEST_F(KernelLimitsTest, TwoTenantsOfOneContainerHaveTheSum) {
  promise("a", 100);
  promise("b", 30);
  registered("a");
  registered("b");
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100), set_to(130)));
  // When one of them has no limit, nor has the container.
  promise("b", 30, kGpu, MemoryBy::kKernel, wire::Enforcement::kAccount);
  wait_for_calls(3);
  EXPECT_EQ(limiter.calls().back().hard, std::nullopt);
}

TEST_F(KernelLimitsTest, TheLimitOutlivesTheProcessAndGoesWithTheContainer) {
  promise("a", 100);
  Library library = registered("a");
  ::close(library.socket);
  rounds();
  promise("a", 50);
  wait_for_calls(2);  // others of the container may still run
  EXPECT_EQ(limiter.calls().back(), set_to(50));
  std::filesystem::remove_all(container());
  next_second();
  promise("a", 40);
  rounds();
  EXPECT_THAT(limiter.calls(), SizeIs(2));
}

TEST_F(KernelLimitsTest, AProcessWhoseGroupIsAnotherOneNowIsLookedForAgain) {
  promise("a", 100);
  const Library library = registered("a");
  std::filesystem::remove_all(container());
  in_cgroup(::getpid(), "/kubepods/podx/" + id_of('b'), "kubepods/podx/" + id_of('b'));
  next_second();
  wait_for_calls(2);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100), set_to(100, kGpu, 'b')));
  // Nowhere: no memory.
  std::filesystem::remove_all(container('b'));
  next_second();
  while (limit_of(library) != 0) arbiter->round(1ms);
  // And whoever registers then is answered all the same.
  EXPECT_EQ(limit_of(registered("a")), 0U);
}

TEST_F(KernelLimitsTest, WhereTheGroupIsNotFoundThereIsNoMemory) {
  std::filesystem::remove_all(cgroups() / "kubepods");
  promise("a", 100);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_THAT(degraded(), ElementsAre(Degraded::kKernelLimitFailed));
  EXPECT_THAT(limiter.calls(), IsEmpty());
  in_cgroup(::getpid(), "/kubepods/podx/" + id_of('a'), "kubepods/podx/" + id_of('a'));
  next_second();
  wait_for_calls(1);
  while (limit_of(library) == 0) arbiter->round(1ms);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100)));
}

TEST_F(KernelLimitsTest, WithoutCgroupsOfVersionTwoThereIsNoMemoryAndTheLogSaysSo) {
  std::filesystem::remove(cgroups() / "cgroup.controllers");
  promise("a", 100);
  EXPECT_EQ(limit_of(registered("a")), 0U);
  EXPECT_EQ(log.count("is no tree of cgroup v2"), 1);
}

TEST_F(KernelLimitsTest, AStaticProgramIsHeldWhenTheDriverFirstShowsIt) {
  promise("a", 100);
  const auto folder = fmt::format("/proc/{}", kStranger);
  put(folder + "/stat",
      fmt::format("{} (static) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n", kStranger));
  put(folder + "/mountinfo",
      "30 1 0:98 / / rw - overlay overlay rw\n"
      "31 30 259:2 /var/lib/tranche/tenants/a /run/tranche/a ro - ext4 /dev/nvme0n1p2 rw\n");
  in_cgroup(kStranger, "/kubepods/podx/" + id_of('b'), "kubepods/podx/" + id_of('b'));
  driver.set(kGpu, {{kStranger, Bytes::from_mib(700)}});
  clock.advance(5s);
  wait_for_calls(1);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100, kGpu, 'b')));
}

TEST_F(KernelLimitsTest, TheNextArbiterLimitsWhatRuns) {
  promise("a", 100);
  registered("a");
  open();
  rounds();
  wait_for_calls(2);
  EXPECT_THAT(limiter.calls(), ElementsAre(set_to(100), set_to(100)));
}

}  // namespace
}  // namespace tranche::arbiter
