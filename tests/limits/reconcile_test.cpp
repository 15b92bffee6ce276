// What NVML counts beyond the slots, through the arbiter: real sockets and pages; a driver and a
// /proc that the test writes. Processes are this one (registered) and pids that /proc describes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "arbiter/arbiter.h"
#include "fmt/format.h"
#include "limits/library.h"
#include "support/fake_clock.h"
#include "support/fake_process_reader.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::arbiter::reconcile_test {
namespace {

using namespace limit;
using namespace std::chrono_literals;
using gpu::DeviceProcess;
using test::Library;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";
constexpr char kOther[] = "GPU-11112233-4455-6677-8899-aabbccddeeff";
// Another process of the node, according to /proc.
constexpr pid_t kStranger = 4242;

DeviceProcess holds(pid_t pid, std::uint64_t mib) { return {pid, Bytes::from_mib(mib)}; }

class ReconcileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(tenants());
    // The folder of the tenants on its file system, as the arbiter's own mounts show it.
    put("/proc/self/mountinfo", "20 1 0:55 / / rw - overlay overlay rw\n" +
                                    fmt::format("21 20 259:2 /var/lib/tranche/tenants {} rw - "
                                                "ext4 /dev/nvme0n1p2 rw\n"
                                                "22 20 0:23 /nvidia/mps {} ro - tmpfs tmpfs rw\n",
                                                tenants().string(), mps().string()));
    driver.set(kGpu, {});
    open();
  }

  std::filesystem::path tenants() const { return dir.path() / "tenants"; }
  std::filesystem::path mps() const { return dir.path() / "mps"; }
  void open() {
    arbiter.reset();
    auto opened = Arbiter::open({.tenants = tenants(),
                                 .state_dir = dir.path() / "state",
                                 .host = FsRoot(dir.path() / "host"),
                                 .mps_dir = mps()},
                                clock, log.log(), &driver);
    ASSERT_TRUE(opened) << opened.error().message();
    arbiter = *std::move(opened);
  }
  void put(const std::string& path, const std::string& text) const {
    const FsRoot host(dir.path() / "host");
    ASSERT_TRUE(host.make_directories(std::filesystem::path(path).parent_path()));
    ASSERT_TRUE(host.write_atomic(path, text));
  }
  void promise(const std::string& id, Enforcement enforcement = Enforcement::kStrict,
               std::vector<const char*> devices = {kGpu}) {
    TenantLimits limits{.id = id, .resource = "nvidia.com/gpu", .enforcement = enforcement};
    for (const char* device : devices) limits.devices.push_back({device, Bytes::from_mib(1000)});
    std::filesystem::create_directories(tenants() / id);
    std::ofstream(tenants() / (id + ".new")) << encode(limits);
    std::filesystem::rename(tenants() / (id + ".new"), tenants() / (id + ".json"));
    for (int i = 0; i < 3; ++i) arbiter->round(0ms);
  }
  // A process that is not registered: in a Pod's container, with these mounts.
  void stranger(const std::string& name, const std::string& cgroup, const std::string& mounts = "",
                pid_t pid = kStranger, pid_t parent = 1) const {
    const auto folder = fmt::format("/proc/{}", pid);
    put(folder + "/stat", fmt::format("{} ({}) S {} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n",
                                      pid, name, parent));
    put(folder + "/cgroup", "0::" + cgroup + "\n");
    put(folder + "/mountinfo", "30 1 0:98 / / rw - overlay overlay rw\n" + mounts);
  }
  static std::string mount_of(const std::string& tenant, const std::string& source) {
    return fmt::format("31 30 {}/{} /run/tranche/{} ro - ext4 /dev/nvme0n1p2 rw\n", source, tenant,
                       tenant);
  }
  // The lock of the supervisor of the MPS control daemons, in their folder.
  void supervisor_holds_the_lock(std::optional<pid_t> holder) const {
    std::filesystem::create_directories(mps());
    std::ofstream(mps() / ".supervisor.lock").flush();
    struct stat lock{};
    ASSERT_EQ(::stat((mps() / ".supervisor.lock").c_str(), &lock), 0);
    put("/proc/locks",
        holder ? fmt::format("1: FLOCK  ADVISORY  WRITE {} 00:17:{} 0 EOF\n", *holder, lock.st_ino)
               : "");
  }
  void daemons_are_ready() const {
    std::filesystem::create_directories(mps());
    std::ofstream(mps() / ".ready").flush();
  }
  Library registered(const std::string& id) {
    Library library;
    EXPECT_TRUE(library.connect_to(tenants() / id / "arbiter.sock"));
    EXPECT_TRUE(library.hello());
    for (int i = 0; i < 3; ++i) arbiter->round(0ms);
    EXPECT_TRUE(library.receive());
    return library;
  }
  // Until the driver was asked this many times more, `each` apart, and has answered.
  void scan(unsigned times = 1, std::chrono::milliseconds each = 1s) {
    wait_for_answer();
    for (unsigned i = 0; i < times; ++i) {
      const unsigned before = arbiter->scans().asked;
      clock.advance(each);
      arbiter->round(0ms);
      ASSERT_EQ(arbiter->scans().asked, before + 1);
      wait_for_answer();
    }
  }
  void wait_for_answer() {
    while (arbiter->scans().taken < arbiter->scans().asked) arbiter->round(1ms);
  }
  std::uint64_t outside(const Library& library, unsigned device = 0) const {
    return library.policy->devices[device].outside / kMiB;
  }

  test::TempDir dir;
  test::FakeClock clock;
  test::LogRecorder log;
  test::FakeProcessReader driver;
  std::unique_ptr<Arbiter> arbiter;
};

constexpr const char* kPod =
    "/kubepods.slice/kubepods-pod1.slice/"
    "cri-containerd-2222222222222222222222222222222222222222222222222222222222222222.scope";
constexpr const char* kOurs = "259:2 /var/lib/tranche/tenants";
// The folder of the MPS control daemons, as their Pod mounts it.
constexpr const char* kMpsRoot = "32 30 0:23 /nvidia/mps /mps rw - tmpfs tmpfs rw\n";

TEST_F(ReconcileTest, AContextCountsInAdditionToWhatIsCharged) {
  promise("a");
  const Library library = registered("a");
  scan();
  ASSERT_TRUE(library.ledger().charge(0, 600 * kMiB));
  driver.set(kGpu, {holds(::getpid(), 900)});
  scan(2);
  EXPECT_EQ(outside(library), 300U);
  EXPECT_TRUE(library.ledger().charge(0, 100 * kMiB));
  EXPECT_FALSE(library.ledger().charge(0, 1 * kMiB)) << "600 + 300 + 100 is all";
  EXPECT_EQ(arbiter->status().tenants[0].devices[0].outside_bytes, 300 * kMiB);
}

// What a program waits for before it stops charging the guess for its first context: from the
// start, and not counted while the readings do not tell (a process allocated during one of them).
TEST_F(ReconcileTest, OnlyReadingsThatTellAreCounted) {
  promise("a");
  const Library library = registered("a");
  const auto readings = [&] { return library.policy->devices[0].readings.load(); };
  EXPECT_GT(readings(), 0U) << "the first program's guess counts at once";
  scan(2);
  auto before = readings();
  driver.set(kGpu, {holds(::getpid(), 300)});
  driver.during_reading([&] { ASSERT_TRUE(library.ledger().charge(0, 600 * kMiB)); });
  scan();
  driver.during_reading({});
  EXPECT_EQ(readings(), before);
  driver.set(kGpu, {holds(::getpid(), 900)});
  scan();
  EXPECT_EQ(readings(), before);
  EXPECT_EQ(outside(library), 0U);
  scan();
  EXPECT_EQ(readings(), before + 1);
  EXPECT_EQ(outside(library), 300U);
}

TEST_F(ReconcileTest, WithoutTheDriverNobodyWaitsForIt) {
  arbiter.reset();
  auto opened = Arbiter::open({.tenants = tenants(), .state_dir = dir.path() / "state"}, clock,
                              log.log(), nullptr);
  ASSERT_TRUE(opened) << opened.error().message();
  arbiter = *std::move(opened);
  promise("a");
  EXPECT_EQ(registered("a").policy->devices[0].readings, 0U);
}

TEST_F(ReconcileTest, ASlotSetToZeroHidesNothing) {
  promise("a");
  const Library library = registered("a");
  ASSERT_TRUE(library.ledger().charge(0, 800 * kMiB));
  driver.set(kGpu, {holds(::getpid(), 800)});
  scan(2);
  EXPECT_EQ(outside(library), 0U);
  library.usage->slot[library.welcome.slot].charged[0] = 0;
  scan(2);
  EXPECT_EQ(outside(library), 800U);
  EXPECT_FALSE(library.ledger().charge(0, 300 * kMiB));
  const auto status = arbiter->status();
  EXPECT_THAT(status.tenants[0].degraded, IsEmpty()) << "it holds no more than it may";
  driver.set(kGpu, {holds(::getpid(), 1100)});
  scan(2);
  EXPECT_THAT(arbiter->status().tenants[0].degraded, ElementsAre(Degraded::kMemoryOverLimit));
}

// One slot near the maximum of its word once made the sum of all small.
TEST_F(ReconcileTest, AForgedChargeIsFoundWithinASecondAndHidesNothing) {
  promise("a");
  const Library library = registered("a");
  stranger("forger", kPod, "", ::getpid());
  driver.set(kGpu, {holds(::getpid(), 800)});
  scan(2);
  for (const std::uint64_t forged : {~std::uint64_t{0} - 19000 * kMiB, 2 * wire::kMostCharged}) {
    library.usage->slot[library.welcome.slot].charged[0] = forged;
    EXPECT_FALSE(library.ledger().charge(0, 300 * kMiB));
    scan(1);
    scan(1, Reconciler::kSoon);
    EXPECT_EQ(outside(library), 800U);
    const auto status = arbiter->status();
    ASSERT_EQ(status.findings.size(), 1U);
    EXPECT_EQ(status.findings[0].kind, Finding::Kind::kForgedCharge);
    EXPECT_EQ(status.findings[0].tenant, "a");
    EXPECT_EQ(status.findings[0].pid, ::getpid());
    EXPECT_EQ(status.findings[0].name, "forger");
    EXPECT_EQ(status.tenants[0].devices[0].charged_bytes, 0U);
    library.usage->slot[library.welcome.slot].charged[0] = 0;
    scan(2);
    EXPECT_THAT(arbiter->status().findings, IsEmpty());
    EXPECT_TRUE(library.ledger().charge(0, 100 * kMiB));
    library.ledger().release(0, 100 * kMiB);
  }
  EXPECT_EQ(log.count("charges a number of bytes that nobody can hold"), 1) << "then counted";
}

TEST_F(ReconcileTest, ANoticeOfAContextIsFollowedSoon) {
  promise("a");
  const Library library = registered("a");
  scan(2);
  driver.set(kGpu, {holds(::getpid(), 300)});
  EXPECT_TRUE(library.say(wire::Notice{wire::kHelloMagic, wire::Message::kContext, 0, 0}));
  arbiter->round(0ms);
  scan(2, Reconciler::kSoon);
  EXPECT_EQ(outside(library), 300U);
}

TEST_F(ReconcileTest, WhatAnEndedProcessHeldIsForgottenSoon) {
  promise("a");
  const Library library = registered("a");
  const pid_t child = fork();
  if (child == 0) {
    Library its;
    if (its.connect_to(tenants() / "a" / "arbiter.sock") && its.hello()) pause();
    _exit(1);
  }
  while (arbiter->status().tenants[0].processes != 2) arbiter->round(1ms);
  driver.set(kGpu, {holds(child, 300)});
  scan(2);
  EXPECT_EQ(outside(library), 300U);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  driver.set(kGpu, {});
  arbiter->round(0ms);
  scan(2, Reconciler::kSoon);
  EXPECT_EQ(outside(library), 0U);
}

TEST_F(ReconcileTest, EachDeviceOfATenantIsItsOwn) {
  driver.set(kOther, {holds(::getpid(), 500)});
  promise("a", Enforcement::kStrict, {kGpu, kOther});
  const Library library = registered("a");
  driver.set(kGpu, {holds(::getpid(), 200)});
  scan(2);
  EXPECT_EQ(outside(library, 0), 200U);
  EXPECT_EQ(outside(library, 1), 500U);
}

TEST_F(ReconcileTest, AProcessThatNeverRegisteredCountsForItsTenantAndIsFound) {
  promise("a");
  promise("b");
  const Library neighbour = registered("b");
  wait_for_answer();
  stranger("static", kPod, mount_of("a", kOurs));
  driver.set(kGpu, {holds(kStranger, 700)});
  scan(2);
  EXPECT_EQ(outside(neighbour), 0U);
  EXPECT_EQ(arbiter->status().tenants[0].devices[0].outside_bytes, 700 * kMiB);
  EXPECT_THAT(arbiter->status().findings, IsEmpty()) << "it may register yet";
  scan(10);
  const auto status = arbiter->status();
  ASSERT_EQ(status.findings.size(), 1U);
  const Finding& finding = status.findings[0];
  EXPECT_EQ(finding.kind, Finding::Kind::kUnregistered);
  EXPECT_EQ(finding.tenant, "a");
  EXPECT_EQ(finding.pid, kStranger);
  EXPECT_EQ(finding.start_time, 777U);
  EXPECT_EQ(finding.name, "static");
  EXPECT_EQ(finding.cgroup, kPod);
  EXPECT_EQ(finding.device, kGpu);
  EXPECT_EQ(finding.memory_bytes, 700 * kMiB);
  EXPECT_EQ(clock.wall_now() - finding.since, 11s);
  scan(10);
  EXPECT_EQ(log.count("has not registered for tenant a"), 1);
  driver.set(kGpu, {});
  scan(2);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(ReconcileTest, TheNameOfAProcessTakesOneLineOfTheLog) {
  promise("a");
  stranger("x\n2026 E forged", kPod, mount_of("a", kOurs));
  driver.set(kGpu, {holds(kStranger, 700)});
  scan(4, Reconciler::kSeldom);
  const auto status = arbiter->status();
  ASSERT_EQ(status.findings.size(), 1U);
  EXPECT_EQ(status.findings[0].name, "x?2026 E forged");
  EXPECT_EQ(log.count("x?2026 E forged"), 1);
  EXPECT_EQ(log.count("\n"), 0);
}

TEST_F(ReconcileTest, ManyProcessesOfATenantFillNeitherLogNorStatus) {
  promise("a");
  constexpr int kMany = 500;
  std::vector<DeviceProcess> all;
  for (pid_t pid = kStranger; pid < kStranger + kMany; ++pid) {
    stranger("static", kPod, mount_of("a", kOurs), pid);
    all.push_back(holds(pid, 1));
  }
  driver.set(kGpu, all);
  scan(4, Reconciler::kSeldom);
  EXPECT_EQ(log.count("has not registered for tenant a"), 1);
  EXPECT_EQ(arbiter->status().findings.size(), Findings::kMostOfOne);
  EXPECT_EQ(arbiter->status().tenants[0].devices[0].outside_bytes, kMany * kMiB);
  scan(14, Reconciler::kSeldom);
  EXPECT_EQ(log.count("has not registered for tenant a"), 2);
  EXPECT_EQ(log.count(fmt::format("({} times in", kMany - 1)), 1);
}

class TimeTest : public ReconcileTest {
 protected:
  // Seconds in each of which the driver samples 800 ms of `pid`, and `library` reports `told`; the
  // same amount is counted as asked for, or `counted`.
  void work(const Library& library, int seconds, std::chrono::milliseconds told,
            pid_t pid = ::getpid(), std::optional<std::chrono::milliseconds> counted = {}) {
    auto processes = others;
    processes.push_back({pid, Bytes::from_mib(100), 800ms});
    driver.set(kGpu, processes);
    wire::Slot& slot = library.usage->slot[library.welcome.slot];
    for (int i = 0; i < seconds; ++i) {
      const auto now = std::chrono::duration_cast<Ns>(clock.now().time_since_epoch());
      if (told > 0ms) {
        const auto end = static_cast<std::uint64_t>(now.count());
        const auto length = static_cast<std::uint64_t>(Ns{told}.count());
        library.usage->spent_ns[0] +=
            static_cast<std::uint64_t>(Ns{counted.value_or(told)}.count());
        slot.work[0].asked_ns += length;
        slot.ring[slot.written % wire::kRing] = {end - length, end, 0, 1, length};
        slot.written += 1;
      }
      scan();
    }
  }
  std::chrono::milliseconds charged() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(arbiter->charged("a", 0));
  }
  std::vector<DeviceProcess> others;
};

TEST_F(TimeTest, WhatAProcessUsesAndDoesNotTellIsChargedAndFound) {
  promise("a");
  const Library library = registered("a");
  stranger("liar", kPod, "", ::getpid());
  scan();
  work(library, 30, 100ms);
  EXPECT_GT(charged(), 30 * 600ms);
  EXPECT_LE(charged(), 30 * 800ms);
  const auto status = arbiter->status();
  ASSERT_EQ(status.findings.size(), 1U);
  EXPECT_EQ(status.findings[0].kind, Finding::Kind::kUnderReported);
  EXPECT_EQ(status.findings[0].tenant, "a");
  EXPECT_EQ(status.findings[0].pid, ::getpid());
  EXPECT_EQ(status.findings[0].name, "liar");
  EXPECT_EQ(log.count("tells less GPU time than NVML counts of its tenant a"), 1);
  EXPECT_EQ(status.tenants[0].devices[0].outside_bytes, 100 * kMiB) << "it is registered";
  work(library, 60, 800ms);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

// Its reports are true and should stop it, but its gate compares that word.
TEST_F(TimeTest, ACountOfWhatItAskedForThatGoesBackIsFoundWithinASecond) {
  promise("a");
  const Library library = registered("a");
  stranger("forger", kPod, "", ::getpid());
  scan();
  work(library, 5, 780ms);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
  library.usage->spent_ns[0] = 0;
  work(library, 1, 780ms);
  scan(1, Reconciler::kSoon);
  const auto status = arbiter->status();
  ASSERT_EQ(status.findings.size(), 1U);
  EXPECT_EQ(status.findings[0].kind, Finding::Kind::kUnderReported);
  EXPECT_EQ(status.findings[0].pid, ::getpid());
  EXPECT_EQ(status.findings[0].name, "forger");
  work(library, 60, 780ms);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

// As with a program that sets the count back whenever it may launch.
TEST_F(TimeTest, ACountThatNeverGrowsIsFoundToo) {
  promise("a");
  const Library library = registered("a");
  stranger("forger", kPod, "", ::getpid());
  scan();
  const std::uint64_t count = library.usage->spent_ns[0];
  for (int i = 0; i < 2; ++i) {
    work(library, 1, 780ms, ::getpid(), 0ms);
    EXPECT_EQ(library.usage->spent_ns[0], count);
  }
  EXPECT_EQ(arbiter->status().findings.size(), 1U);
}

TEST_F(TimeTest, WhoTellsWhatItUsesIsChargedThat) {
  promise("a");
  const Library library = registered("a");
  scan();
  work(library, 60, 780ms);
  EXPECT_NEAR(static_cast<double>(charged().count()), 60 * 780, 10);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(TimeTest, AProcessThatNeverRegisteredUsesItsTenantsTime) {
  promise("a");
  const Library library = registered("a");
  stranger("static", kPod, mount_of("a", kOurs));
  scan();
  work(library, 30, 0ms, kStranger);
  EXPECT_GT(charged(), 30 * 600ms);
}

TEST_F(TimeTest, ClientsOfAnMpsServerAreNotCompared) {
  promise("a");
  const Library library = registered("a");
  stranger("nvidia-cuda-mps-server", "/system.slice/mps.service");
  others = {holds(kStranger, 30)};
  scan();
  work(library, 30, 0ms);
  EXPECT_EQ(charged(), 0ms);
}

// A process whose control group cannot be read may be in a Pod.
TEST_F(TimeTest, ANameDoesNotStopTheComparisonWhereTheGroupIsNotKnown) {
  promise("a");
  const Library library = registered("a");
  stranger("nvidia-cuda-mps-server", "/system.slice/mps.service");
  std::filesystem::remove(dir.path() / "host/proc" / std::to_string(kStranger) / "cgroup");
  others = {holds(kStranger, 30)};
  scan();
  work(library, 30, 0ms);
  EXPECT_GT(charged(), 20 * 800ms);
}

// A tenant can give any process of its own that name.
TEST_F(TimeTest, NobodyStopsTheComparisonByAName) {
  promise("a");
  promise("b");
  const Library library = registered("a");
  for (const std::string& mounts : {std::string(), mount_of("b", kOurs)}) {
    stranger("nvidia-cuda-mps-server", kPod, mounts);
    others = {holds(kStranger, 30)};
    scan();
    const auto before = charged();
    work(library, 30, 0ms);
    EXPECT_GT(charged(), before + 20 * 800ms) << mounts;
  }
}

TEST_F(TimeTest, WhereNothingIsLimitedNothingIsCharged) {
  promise("a", Enforcement::kAccount);
  const Library library = registered("a");
  scan();
  work(library, 30, 0ms);
  EXPECT_EQ(charged(), 0ms);
}

// exec replaces the program: the kernel closes its connection and the driver its contexts.
TEST_F(ReconcileTest, WhatAProcessHeldThatRunsAnotherProgramIsFreeWithTheNextReading) {
  promise("a");
  const Library library = registered("a");
  ASSERT_TRUE(library.ledger().charge(0, 600 * kMiB));
  driver.set(kGpu, {holds(::getpid(), 600)});
  scan(2);
  ::close(library.socket);
  driver.set(kGpu, {});
  arbiter->round(0ms);
  scan(1, Reconciler::kSoon);
  EXPECT_EQ(arbiter->status().tenants[0].processes, 0U);
  EXPECT_EQ(arbiter->status().tenants[0].devices[0].charged_bytes, 0U);
}

TEST_F(ReconcileTest, AProcessWithoutItsConnectionKeepsWhatTheDriverDoesNotSayIsGone) {
  struct Case {
    const char* name;
    std::function<void()> after;  // the connection was closed
    bool was_listed;
  };
  const Case cases[] = {
      {"it is listed still", [&] { driver.set(kGpu, {holds(::getpid(), 600)}); }, true},
      {"another device is not read",
       [&] {
         driver.set(kGpu, {});
         driver.remove(kOther);
       },
       true},
      {"it was never listed", [&] { driver.set(kGpu, {}); }, false},
  };
  for (const auto& [name, after, was_listed] : cases) {
    driver.set(kOther, {});
    promise("a", Enforcement::kStrict, {kGpu, kOther});
    const Library library = registered("a");
    ASSERT_TRUE(library.ledger().charge(0, 600 * kMiB));
    if (was_listed) driver.set(kGpu, {holds(::getpid(), 600)});
    scan(2);
    ::close(library.socket);
    after();
    arbiter->round(0ms);
    scan(1, Reconciler::kSoon);
    scan(2);
    EXPECT_EQ(arbiter->status().tenants[0].devices[0].charged_bytes, 600 * kMiB) << name;
    driver.set(kGpu, {});
    driver.set(kOther, {});
    for (int i = 0; i < 15; ++i) {
      clock.advance(1s);
      arbiter->round(0ms);
      wait_for_answer();
    }
    EXPECT_EQ(arbiter->status().tenants[0].processes, 0U) << name;
  }
}

// A container that mounts a folder of its own under another tenant's name puts no load on that
// tenant.
TEST_F(ReconcileTest, OnlyTheTenantsOwnFolderMakesAProcessItsOwn) {
  for (const char* source : {"0:98 /tenants", "259:2 /var/lib/kubelet/pods/x/tenants"}) {
    promise("a");
    stranger("forger", kPod, mount_of("a", source));
    driver.set(kGpu, {holds(kStranger, 700)});
    scan(4, Reconciler::kSeldom);
    const auto status = arbiter->status();
    EXPECT_EQ(status.tenants[0].devices[0].outside_bytes, 0U) << source;
    ASSERT_EQ(status.findings.size(), 1U);
    EXPECT_EQ(status.findings[0].kind, Finding::Kind::kNoGrant);
  }
}

// What a container's root can do with its mounts: move them, and leave them behind.
TEST_F(ReconcileTest, AProcessIsItsContainersTenantsWhateverItSeesOfTheFolder) {
  constexpr pid_t kParent = 4141;
  const std::string moved = "31 30 259:2 /var/lib/tranche/tenants/a /run/x/a ro - ext4 /dev/x rw\n";
  const auto begun_by_parent = [&](const std::string& cgroup_of_parent) {
    stranger("sh", cgroup_of_parent, mount_of("a", kOurs), kParent);
    stranger("jailed", kPod);
    put(fmt::format("/proc/{}/stat", kStranger),
        fmt::format("{} (jailed) S {} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n", kStranger,
                    kParent));
  };
  struct Case {
    const char* name;
    std::function<void()> prepare;
    bool is_tenants;
  };
  const Case cases[] = {
      {"mv /run/tranche /run/x", [&] { stranger("moved", kPod, moved); }, true},
      {"chroot", [&] { begun_by_parent(kPod); }, true},
      {"of another container", [&] { begun_by_parent("/kubepods.slice/other.scope"); }, false},
  };
  for (const auto& [name, prepare, is_tenants] : cases) {
    promise("a");
    prepare();
    driver.set(kGpu, {holds(kStranger, 700)});
    scan(4, Reconciler::kSeldom);
    const auto status = arbiter->status();
    EXPECT_EQ(status.tenants[0].devices[0].outside_bytes, is_tenants ? 700 * kMiB : 0) << name;
    ASSERT_EQ(status.findings.size(), 1U) << name;
    EXPECT_EQ(status.findings[0].kind,
              is_tenants ? Finding::Kind::kUnregistered : Finding::Kind::kNoGrant)
        << name;
    driver.set(kGpu, {});
    scan(4, Reconciler::kSeldom);
  }
}

TEST_F(ReconcileTest, AProcessIsTheTenantsForWhichAnotherOfItsContainerRegistered) {
  promise("a");
  stranger("registered", std::string(kPod) + "/below", "", ::getpid());
  const Library library = registered("a");
  for (const char* cgroup : {kPod, "/kubepods.slice/kubepods-pod1.slice/cri-containerd-3.scope"}) {
    stranger("jailed", cgroup);
    driver.set(kGpu, {holds(kStranger, 700)});
    scan(3);
    EXPECT_EQ(outside(library), cgroup == kPod ? 700U : 0U) << cgroup;
  }
}

TEST_F(ReconcileTest, APodWithoutAGrantIsFoundWhereOthersAreLimited) {
  struct Case {
    Enforcement enforcement;
    const char* cgroup;
    bool found;
  };
  for (const auto& [enforcement, cgroup, found] :
       {Case{Enforcement::kStrict, kPod, true}, Case{Enforcement::kElastic, kPod, true},
        Case{Enforcement::kAccount, kPod, false},
        Case{Enforcement::kStrict, "/system.slice/xorg.service", false}}) {
    promise("a", enforcement);
    stranger("greedy", cgroup);
    driver.set(kGpu, {holds(kStranger, 700)});
    scan(4, Reconciler::kSeldom);
    const auto findings = arbiter->status().findings;
    EXPECT_EQ(findings.size(), found ? 1U : 0U) << cgroup;
    driver.set(kGpu, {});
    scan(2, Reconciler::kSeldom);
  }
  EXPECT_EQ(log.count("was not granted it"), 2);
}

// It lives, and may be in any Pod.
TEST_F(ReconcileTest, AProcessThatCannotBeReadIsNotNobodys) {
  for (const char* file : {"stat", "cgroup", "mountinfo"}) {
    promise("a");
    stranger("nvidia-cuda-mps", kPod);
    const auto unreadable = dir.path() / "host/proc" / std::to_string(kStranger) / file;
    std::filesystem::remove(unreadable);
    std::filesystem::create_directory(unreadable);
    driver.set(kGpu, {holds(kStranger, 700)});
    scan(4, Reconciler::kSeldom);
    const auto status = arbiter->status();
    EXPECT_THAT(status.mps_servers, IsEmpty()) << file;
    ASSERT_EQ(status.findings.size(), 1U) << file;
    EXPECT_EQ(status.findings[0].kind, Finding::Kind::kNoGrant) << file;
    EXPECT_EQ(status.findings[0].pid, kStranger) << file;
    std::filesystem::remove(unreadable);
    driver.set(kGpu, {});
    scan(2, Reconciler::kSeldom);
    EXPECT_THAT(arbiter->status().findings, IsEmpty()) << file;
  }
}

constexpr pid_t kSupervisor = 4000;
constexpr pid_t kDaemon = 4001;

TEST_F(ReconcileTest, AnMpsServerOfTheNodeIsNotedAndNoFinding) {
  struct Case {
    const char* name;
    const char* process;
    const char* cgroup;
    const char* mounts;
    pid_t parent;
    std::optional<pid_t> supervisor;
    bool ready;
  };
  for (const auto& [name, process, cgroup, mounts, parent, supervisor, ready] :
       {Case{"of our supervisor", "nvidia-cuda-mps", kPod, kMpsRoot, kDaemon, kSupervisor, true},
        Case{"by any name, with nothing mounted", "server", kPod, "", kDaemon, kSupervisor, false},
        Case{"whose daemon has ended", "server", kPod, "", kSupervisor, kSupervisor, false},
        Case{"of NVIDIA's daemons", "nvidia-cuda-mps", kPod, kMpsRoot, 1, std::nullopt, true},
        Case{"a daemon outside of Pods", "nvidia-cuda-mps", "/system.slice/mps.service", "", 1,
             std::nullopt, false}}) {
    std::filesystem::remove(mps() / ".ready");
    supervisor_holds_the_lock(supervisor);
    if (ready) daemons_are_ready();
    stranger("tranche", kPod, kMpsRoot, kSupervisor);
    stranger("nvidia-cuda-mps", kPod, kMpsRoot, kDaemon, kSupervisor);
    promise("a");
    stranger(process, cgroup, mounts, kStranger, parent);
    driver.set(kGpu, {holds(kStranger, 30)});
    scan(4, Reconciler::kSeldom);
    EXPECT_THAT(arbiter->status().findings, IsEmpty()) << name;
    EXPECT_THAT(arbiter->status().mps_servers, ElementsAre(MpsServer{kGpu, kStranger})) << name;
    driver.set(kGpu, {});
    scan(2, Reconciler::kSeldom);
  }
}

TEST_F(ReconcileTest, NeitherNameNorMountMakesAProcessAnMpsServer) {
  struct Case {
    const char* name;
    std::string mounts;
    Finding::Kind found;
    std::optional<pid_t> supervisor;
    bool ready;
    pid_t parent = 1;
  };
  const Case cases[] = {
      {"of a Pod without a grant", "", Finding::Kind::kNoGrant, kSupervisor, true},
      {"of a client's container",
       "31 30 0:23 /nvidia/mps/nvidia.com/gpu.shared/pipe /mps/nvidia.com/gpu.shared/pipe rw - "
       "tmpfs tmpfs rw\n",
       Finding::Kind::kNoGrant, std::nullopt, true},
      {"with a folder of its own there", "31 30 0:98 /nvidia/mps /mps rw - tmpfs tmpfs rw\n",
       Finding::Kind::kNoGrant, std::nullopt, true},
      {"of a tenant", mount_of("a", kOurs), Finding::Kind::kUnregistered, kSupervisor, true},
      {"of a tenant that has the daemons' folder", mount_of("a", kOurs) + kMpsRoot,
       Finding::Kind::kUnregistered, std::nullopt, true},
      {"with the daemons' folder, beside our supervisor", kMpsRoot, Finding::Kind::kNoGrant,
       kSupervisor, true},
      {"with the daemons' folder, started by somebody else in their Pod", kMpsRoot,
       Finding::Kind::kNoGrant, kSupervisor, true, kDaemon},
      {"with the daemons' folder, where none serves", kMpsRoot, Finding::Kind::kNoGrant,
       std::nullopt, false},
  };
  for (const auto& [name, mounts, found, supervisor, ready, parent] : cases) {
    std::filesystem::remove(mps() / ".ready");
    supervisor_holds_the_lock(supervisor);
    if (ready) daemons_are_ready();
    stranger("tranche", kPod, kMpsRoot, kSupervisor);
    stranger("nvidia-cuda-mps", kPod, kMpsRoot, kDaemon);
    promise("a");
    stranger("nvidia-cuda-mps", kPod, mounts, kStranger, parent);
    driver.set(kGpu, {holds(kStranger, 30)});
    scan(4, Reconciler::kSeldom);
    const auto status = arbiter->status();
    EXPECT_THAT(status.mps_servers, IsEmpty()) << name;
    ASSERT_EQ(status.findings.size(), 1U) << name;
    EXPECT_EQ(status.findings[0].kind, found) << name;
    driver.set(kGpu, {});
    scan(2, Reconciler::kSeldom);
  }
}

// A Pod that may mount the node's folder of the daemons does not stop the comparison thereby.
TEST_F(TimeTest, NobodyStopsTheComparisonByAMount) {
  supervisor_holds_the_lock(kSupervisor);
  daemons_are_ready();
  promise("a");
  const Library library = registered("a");
  stranger("nvidia-cuda-mps-server", kPod, kMpsRoot);
  others = {holds(kStranger, 30)};
  scan();
  work(library, 30, 0ms);
  EXPECT_GT(charged(), 20 * 800ms);
}

TEST_F(ReconcileTest, MemoryThatIsNotToldIsNothingAndSaidOnce) {
  promise("a");
  const Library library = registered("a");
  driver.set(kGpu, {{::getpid(), std::nullopt}});
  scan(3);
  EXPECT_EQ(outside(library), 0U);
  EXPECT_THAT(arbiter->status().tenants[0].degraded, ElementsAre(Degraded::kMemoryNotTold));
  EXPECT_EQ(log.count("does not tell what its processes hold"), 1);
}

TEST_F(ReconcileTest, WithoutADriverItSaysSoOnceAndGoesOn) {
  promise("a");
  const Library library = registered("a");
  driver.set(kGpu, {holds(::getpid(), 300)});
  scan(2);
  driver.fail_with({Code::kUnavailable, "NVML does not start"});
  scan(3);
  EXPECT_EQ(outside(library), 300U) << "what was known stands";
  EXPECT_EQ(arbiter->status().nvml_failure, "NVML does not start");
  EXPECT_THAT(arbiter->status().tenants[0].degraded, ElementsAre(Degraded::kNotReconciled));
  EXPECT_EQ(log.count("NVML does not start; until then limits of memory hold by"), 1);
  EXPECT_TRUE(library.ledger().charge(0, 700 * kMiB));
  driver.recover();
  scan();
  EXPECT_EQ(log.count("NVML answers"), 1);
  EXPECT_THAT(arbiter->status().tenants[0].degraded, IsEmpty());
}

TEST_F(ReconcileTest, ADeviceThatCannotBeReadLeavesTheOthersAlone) {
  promise("a", Enforcement::kStrict, {kGpu, kOther});  // kOther: the driver lacks it
  const Library library = registered("a");
  driver.set(kGpu, {holds(::getpid(), 300)});
  scan(3);
  EXPECT_EQ(outside(library), 300U);
  EXPECT_EQ(log.count("its processes cannot be read"), 1);
  EXPECT_THAT(arbiter->status().tenants[0].degraded, ElementsAre(Degraded::kNotReconciled));
}

TEST_F(ReconcileTest, TheNextArbiterKnowsWhatIsOutsideBeforeItAsks) {
  promise("a");
  const Library before = registered("a");
  driver.set(kGpu, {holds(::getpid(), 300)});
  scan(2);
  clock.advance(1s);
  arbiter->round(0ms);  // writes the status
  driver.fail_with({Code::kUnavailable, "not yet"});
  open();
  const Library after = registered("a");
  EXPECT_NE(after.policy->epoch, before.policy->epoch);
  EXPECT_EQ(outside(after), 300U);
}

TEST_F(ReconcileTest, WithoutTenantsTheDriverIsLeftAlone) {
  clock.advance(1min);
  for (int i = 0; i < 5; ++i) arbiter->round(1ms);
  EXPECT_EQ(arbiter->scans().asked, 0U);
}

TEST_F(ReconcileTest, StatusIsWrittenWhenSomethingChanged) {
  const auto file = dir.path() / "state" / "status.json";
  const auto read = [&] { return decode_status(FsRoot().read(file).value()).value(); };
  arbiter->round(0ms);
  EXPECT_EQ(read(), ArbiterStatus{});
  std::filesystem::remove(file);
  clock.advance(5s);
  arbiter->round(0ms);
  EXPECT_FALSE(std::filesystem::exists(file)) << "nothing changed";
  promise("a");
  std::filesystem::create_directories(tenants() / "b");
  std::ofstream(tenants() / "b.json") << "{}";
  const Library library = registered("a");
  EXPECT_FALSE(library.ledger().charge(0, 2000 * kMiB));
  ASSERT_TRUE(library.ledger().charge(0, 5 * kMiB));
  library.usage->slot[library.welcome.slot].longest_ns = 8'000'000;
  clock.advance(1s);
  arbiter->round(0ms);
  const auto status = read();
  EXPECT_EQ(status, arbiter->status());
  ASSERT_EQ(status.tenants.size(), 1U);
  EXPECT_EQ(status.tenants[0].processes, 1U);
  EXPECT_EQ(status.tenants[0].refused, 1U);
  EXPECT_EQ(status.tenants[0].longest_ns, 8'000'000U);
  EXPECT_EQ(status.tenants[0].devices[0].charged_bytes, 5 * kMiB);
  ASSERT_EQ(status.refused.size(), 1U);
  EXPECT_EQ(status.refused[0].id, "b");
  close(library.socket);
  clock.advance(1s);
  arbiter->round(0ms);
  arbiter->round(0ms);
  EXPECT_EQ(arbiter->status().tenants[0].refused, 1U) << "of those that ended too";
}

}  // namespace
}  // namespace tranche::arbiter::reconcile_test
