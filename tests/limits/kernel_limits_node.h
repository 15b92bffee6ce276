#pragma once
// An arbiter with real sockets and pages, over a driver that limits control groups, a /proc and a
// tree of control groups that the test writes. This process is in container 'a'.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "arbiter/arbiter.h"
#include "arbiter/kernel/kernel_limits.h"
#include "fmt/format.h"
#include "limits/library.h"
#include "support/fake_clock.h"
#include "support/fake_memory_limiter.h"
#include "support/fake_process_reader.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::arbiter {

using namespace limit;
using namespace std::chrono_literals;
using test::Library;

inline constexpr std::uint64_t kMiB = 1U << 20U;
inline constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";
inline constexpr char kOther[] = "GPU-11112233-4455-6677-8899-aabbccddeeff";
inline constexpr pid_t kStranger = 4242;

inline std::string id_of(char digit) { return std::string(64, digit); }

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
    // As seen by a process of another container, in a group that it made.
    in_cgroup(::getpid(), "/../../kubepods/podx/" + id_of('a') + "/worker",
              "kubepods/podx/" + id_of('a') + "/worker");
    open();
  }
  void TearDown() override { limiter->release(); }

  std::filesystem::path tenants() const { return dir.path() / "tenants"; }
  std::filesystem::path cgroups() const { return dir.path() / "host/cgroup"; }
  std::string container(char digit = 'a') const {
    return cgroups() / "kubepods/podx" / id_of(digit);
  }
  virtual std::vector<MakeExtension> extensions() const {
    return {
        [this](const ExtensionContext& context) { return KernelLimits::open(limiter, context); }};
  }
  void open() {
    arbiter.reset();
    auto opened =
        Arbiter::open({tenants(), dir.path() / "state", FsRoot(dir.path() / "host"), cgroups()},
                      clock, log.log(), &driver, extensions());
    ASSERT_TRUE(opened) << opened.error().message();
    arbiter = *std::move(opened);
  }
  void put(const std::string& path, const std::string& text) const {
    const FsRoot host(dir.path() / "host");
    ASSERT_TRUE(host.make_directories(std::filesystem::path(path).parent_path()));
    ASSERT_TRUE(host.write_atomic(path, text));
  }
  // `told` is the text in /proc, `lies` the place of the group.
  void in_cgroup(pid_t pid, const std::string& told, const std::string& lies) const {
    put(fmt::format("/proc/{}/cgroup", pid), "0::" + told + "\n");
    put("/cgroup/" + lies + "/cgroup.procs", fmt::format("7\n{}\n", pid));
  }
  void promise(const std::string& id, std::uint64_t mib, const char* device = kGpu,
               MemoryEnforcer by = MemoryEnforcer::kKernel,
               Enforcement enforcement = Enforcement::kStrict) {
    const TenantLimits limits{.id = id,
                              .resource = "nvidia.com/gpu",
                              .enforcement = enforcement,
                              .devices = {{device, Bytes::from_mib(mib), 1, {}, {}, by}}};
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
  // Seconds pass until it holds. Each has several rounds, because a question is repeated only after
  // it was answered.
  template <class Condition>
  void pass_seconds_until(Condition holds) {
    while (!holds()) {
      next_second();
      for (int i = 0; i < 20 && !holds(); ++i) arbiter->round(1ms);
    }
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
  void receive(Library& library) {
    while (!is_answered(library)) arbiter->round(1ms);
    ASSERT_TRUE(library.receive());
    ASSERT_EQ(library.welcome.answer, wire::Answer::kAccepted);
  }
  Library registered(const std::string& id) {
    Library library = hello(id);
    receive(library);
    return library;
  }
  void wait_for_calls(std::size_t count) {
    while (limiter->calls().size() < count) arbiter->round(1ms);
  }
  // The arbiter knows that the driver refused.
  void wait_for_refusal() {
    while (log.count("the kernel does not limit its memory") == 0) arbiter->round(1ms);
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
  std::shared_ptr<test::FakeMemoryLimiter> limiter = std::make_shared<test::FakeMemoryLimiter>();
  std::unique_ptr<Arbiter> arbiter;
};

}  // namespace tranche::arbiter
