// The arbiter with real folders, sockets and pages, and the test's clock.

#include "arbiter/arbiter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "limits/library.h"
#include "support/fake_clock.h"

namespace tranche::arbiter::arbiter_test {
namespace {

using namespace limit;
using namespace std::chrono_literals;
using test::FakeClock;
using test::Library;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";

class ArbiterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tranche-arbiter-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir = name;
    std::filesystem::create_directories(dir / "tenants");
    open();
  }
  void TearDown() override {
    arbiter.reset();
    std::filesystem::remove_all(dir);
  }

  void open() {
    arbiter.reset();
    auto opened = Arbiter::open({dir / "tenants", dir / "state"}, clock, log);
    ASSERT_TRUE(opened) << opened.error().message();
    arbiter = *std::move(opened);
  }
  // As the agent does: the folder first, then the file atomically.
  void promise(const TenantLimits& limits) {
    std::filesystem::create_directories(dir / "tenants" / limits.id);
    write(limits.id, encode(limits));
  }
  void write(const std::string& id, const std::string& text) {
    std::ofstream(dir / "tenants" / (id + ".new")) << text;
    std::filesystem::rename(dir / "tenants" / (id + ".new"), dir / "tenants" / (id + ".json"));
    rounds(2);
  }
  static TenantLimits limits(const std::string& id, std::uint32_t permille,
                             Enforcement enforcement = Enforcement::kStrict) {
    return {.id = id,
            .resource = "nvidia.com/gpu",
            .enforcement = enforcement,
            .devices = {{kGpu, Bytes::from_mib(100), 1, permille}}};
  }
  using Names = std::vector<std::string>;
  // Those of tenants, sorted.
  Names state_files() const {
    Names names = FsRoot().list(dir / "state").value();
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".slots"); });
    std::ranges::sort(names);
    return names;
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) arbiter->round(0ms);
  }
  // `before`: its earlier registration, whose usage file it hands over.
  Library registered(const std::string& id, const Library* before = nullptr) {
    Library library;
    EXPECT_TRUE(library.connect_to(dir / "tenants" / id / "arbiter.sock")) << id;
    EXPECT_TRUE(before == nullptr ? library.hello() : library.hello_with(before->memory));
    rounds(3);
    EXPECT_TRUE(library.receive());
    return library;
  }
  std::uint64_t now() const {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<Ns>(clock.now().time_since_epoch()).count());
  }

  std::filesystem::path dir;
  FakeClock clock;
  std::vector<std::string> lines;
  Log log{LogLevel::kInfo, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  std::unique_ptr<Arbiter> arbiter;
};

TEST_F(ArbiterTest, TenantsComeChangeAndGoWithTheirFiles) {
  promise(limits("a", 500));
  EXPECT_EQ(arbiter->tenants(), 1U);
  const Library library = registered("a");
  EXPECT_EQ(library.policy->devices[0].memory_limit, 100 * kMiB);
  auto more = limits("a", 500);
  more.devices[0].memory = Bytes::from_mib(300);
  promise(more);
  EXPECT_EQ(library.policy->devices[0].memory_limit, 300 * kMiB);
  std::filesystem::remove(dir / "tenants" / "a.json");
  rounds(2);
  EXPECT_EQ(arbiter->tenants(), 0U);
  EXPECT_FALSE(std::filesystem::exists(dir / "tenants" / "a" / "arbiter.sock"));
  for (const auto& entry : std::filesystem::directory_iterator(dir / "state")) {
    EXPECT_NE(entry.path().stem(), "a") << entry.path();
  }
}

// Faults of the file system that no inotify event announces or ends: a tenant's file is a link
// through another folder, which is not watched.
class UnreadableFileTest : public ArbiterTest {
 protected:
  void SetUp() override {
    ArbiterTest::SetUp();
    std::filesystem::create_directories(dir / "tenants" / "a");
    std::filesystem::create_directories(dir / "disk");
  }
  void put_on_disk(const TenantLimits& limits) const {
    std::ofstream(dir / "disk" / "a.json") << encode(limits);
  }
  void link() const {
    std::filesystem::create_symlink(dir / "disk" / "a.json", dir / "tenants" / "a.json");
  }
  void break_disk() const {
    std::filesystem::rename(dir / "disk", dir / "mended");
    std::filesystem::create_symlink("disk", dir / "disk");  // ELOOP
  }
  void mend_disk() const {
    std::filesystem::remove(dir / "disk");
    std::filesystem::rename(dir / "mended", dir / "disk");
  }
  // The agent writes another tenant's file, so the folder is scanned.
  void another_comes() { promise(limits("z", 500)); }
  void seconds(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1s);
      rounds(2);
    }
  }
  int told(const std::string& text) const {
    return static_cast<int>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
};

TEST_F(UnreadableFileTest, ATenantWhoseFileCannotBeReadIsServedOn) {
  put_on_disk(limits("a", 500));
  link();
  rounds(2);
  const Library library = registered("a");
  ASSERT_TRUE(library.ledger().charge(0, 70 * kMiB));
  break_disk();
  another_comes();
  seconds(3);
  EXPECT_EQ(arbiter->tenants(), 2U);
  EXPECT_TRUE(std::filesystem::exists(dir / "tenants" / "a" / "arbiter.sock"));
  EXPECT_TRUE(std::filesystem::exists(dir / "state" / "a.slots"));
  EXPECT_EQ(told("tenant a: "), 1) << "said once, however often it is tried";
  EXPECT_EQ(told("its limits stay as they were"), 1);
  EXPECT_EQ(arbiter->status().refused.size(), 1U);
  mend_disk();
  auto more = limits("a", 500);
  more.devices[0].memory = Bytes::from_mib(300);
  put_on_disk(more);
  seconds(5);
  EXPECT_EQ(library.policy->devices[0].memory_limit, 300 * kMiB);
  EXPECT_FALSE(library.ledger().charge(0, 240 * kMiB)) << "what it held counts still";
  EXPECT_TRUE(arbiter->status().refused.empty());
  EXPECT_EQ(told("tenant a: its file is in use again"), 1);
}

TEST_F(UnreadableFileTest, ATenantThatComesWithAnUnreadableFileIsServedOnceItCanBeRead) {
  put_on_disk(limits("a", 500));
  break_disk();
  link();
  rounds(2);
  EXPECT_EQ(arbiter->tenants(), 0U);
  EXPECT_EQ(told("tenant a: "), 1);
  mend_disk();
  seconds(4);
  EXPECT_EQ(arbiter->tenants(), 1U);
}

TEST_F(UnreadableFileTest, AFileThatNoEventToldIsFoundByLookingNowAndThen) {
  link();
  rounds(2);
  put_on_disk(limits("a", 500));
  seconds(15);
  EXPECT_EQ(arbiter->tenants(), 1U);
  std::filesystem::remove(dir / "disk" / "a.json");
  seconds(15);
  EXPECT_EQ(arbiter->tenants(), 0U);
}

// As after an ENOSPC of the node's tmpfs: the obstacle goes without an event.
TEST_F(UnreadableFileTest, ATenantThatCouldNotBeServedIsTriedAgain) {
  std::filesystem::create_directories(dir / "state" / "b.slots");
  promise(limits("b", 500));
  EXPECT_EQ(arbiter->tenants(), 0U);
  seconds(2);
  EXPECT_EQ(told("it is not served"), 1);
  std::filesystem::remove(dir / "state" / "b.slots");
  seconds(4);
  EXPECT_EQ(arbiter->tenants(), 1U);
  EXPECT_TRUE(arbiter->status().refused.empty());
}

// The folder may be mounted, or readable, a moment later.
TEST_F(UnreadableFileTest, AFolderThatCannotBeReadIsTriedAgain) {
  promise(limits("b", 500));
  std::filesystem::rename(dir / "tenants", dir / "other");
  std::filesystem::create_symlink("tenants", dir / "tenants");
  seconds(12);
  EXPECT_EQ(arbiter->tenants(), 1U) << "it is not gone";
  const auto complaints = lines.size();
  EXPECT_GE(complaints, 1U);
  seconds(40);
  EXPECT_EQ(lines.size(), complaints) << "said once";
}

// Two tenants promised 100 MiB each of a device of 640 MiB, of which 630 are lent.
class LendingTest : public ArbiterTest {
 protected:
  static TenantLimits borrower(const std::string& id) {
    auto result = limits(id, 500, Enforcement::kElastic);
    result.devices[0].borrowing = {Bytes::from_mib(640), Bytes::from_mib(640)};
    return result;
  }
  void second() {
    clock.advance(1s);
    rounds(2);
  }
};

TEST_F(LendingTest, IdleMemoryIsLentUntilItsOwnerComes) {
  promise(borrower("a"));
  promise(limits("b", 500));
  const Library a = registered("a");
  EXPECT_EQ(a.policy->devices[0].memory_limit, 630 * kMiB);
  EXPECT_EQ(a.policy->devices[0].memory_view, 100 * kMiB);  // what can be relied upon
  EXPECT_TRUE(a.ledger().charge(0, 600 * kMiB));
  const Library b = registered("b");
  EXPECT_EQ(b.policy->devices[0].memory_limit, 100 * kMiB);
  EXPECT_EQ(a.policy->devices[0].memory_limit, 100 * kMiB);
  EXPECT_FALSE(a.ledger().charge(0, 1));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("70 MiB that a tenant was promised are lent"), std::string::npos)
      << lines[0];
  auto status = arbiter->status();
  EXPECT_EQ(status.tenants[0].degraded, std::vector{Degraded::kMemoryOverLimit});
  EXPECT_EQ(status.tenants[0].devices[0].may_hold_bytes, 100 * kMiB);
  EXPECT_EQ(status.tenants[1].degraded, std::vector{Degraded::kMemoryLent});
  EXPECT_EQ(status.tenants[1].devices[0].may_hold_bytes, std::nullopt);

  a.ledger().release(0, 100 * kMiB);
  second();
  EXPECT_EQ(a.policy->devices[0].memory_limit, 530 * kMiB);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("what was lent is back"), std::string::npos) << lines[1];
  status = arbiter->status();
  EXPECT_TRUE(status.tenants[0].degraded.empty());
  EXPECT_TRUE(status.tenants[1].degraded.empty());
}

TEST_F(LendingTest, WhoStopsBorrowingHasWhatItWasPromised) {
  promise(borrower("a"));
  const Library a = registered("a");
  EXPECT_EQ(a.policy->devices[0].memory_limit, 630 * kMiB);
  auto strict = borrower("a");
  strict.enforcement = Enforcement::kStrict;
  promise(strict);
  EXPECT_EQ(a.policy->devices[0].memory_limit, 100 * kMiB);
  auto less = borrower("a");
  less.devices[0].borrowing->hard = Bytes::from_mib(200);
  promise(less);
  EXPECT_EQ(a.policy->devices[0].memory_limit, 200 * kMiB);
}

TEST_F(LendingTest, TheNextArbiterLendsTheSame) {
  promise(borrower("a"));
  promise(borrower("b"));
  const Library a = registered("a");
  const Library b = registered("b");
  EXPECT_TRUE(a.ledger().charge(0, 300 * kMiB));
  open();
  const Library again = registered("b", &b);
  second();
  EXPECT_EQ(again.policy->devices[0].memory_limit, 100 * kMiB) << "what a holds is not known yet";
  registered("a", &a);
  second();
  EXPECT_EQ(again.policy->devices[0].memory_limit, 215 * kMiB);  // half of what a leaves
}

TEST_F(ArbiterTest, AWrongFileIsToldOnceAndChangesNothing) {
  promise(limits("a", 500));
  const Library library = registered("a");
  write("a", "{}");
  rounds(3);
  EXPECT_EQ(library.policy->devices[0].memory_limit, 100 * kMiB);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("tenant a: torn or not limits/v1"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("its limits stay as they were"), std::string::npos) << lines[0];
  std::filesystem::create_directories(dir / "tenants" / "b");
  write("b", encode(limits("c", 500)));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("tenant b: its file is that of c; it is not served"), std::string::npos);
}

// A library whose device only works: it asks for all that it may, and the work ends before the next
// millisecond begins.
TEST_F(ArbiterTest, GpuTimeIsHandedOutAsPromised) {
  promise(limits("a", 300));
  promise(limits("b", 500, Enforcement::kAccount));
  const Library library = registered("a");
  const Library other = registered("b");
  EXPECT_EQ(other.policy->devices[0].allowed_ns, wire::kNoLimit);
  wire::Slot& slot = library.usage->slot[library.welcome.slot];
  auto& spent = library.usage->spent_ns[0];
  slot.work[0].waiting = 1;
  std::uint64_t turns = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    const auto turn = library.policy->devices[0].turn.load();
    rounds(1);
    turns += library.policy->devices[0].turn != turn ? 1 : 0;
    const std::uint64_t allowed = library.policy->devices[0].allowed_ns;
    ASSERT_NE(allowed, wire::kNoLimit);
    const std::uint64_t work = allowed > spent ? allowed - spent : 0;
    spent = allowed;
    slot.work[0].asked_ns += work;
    const std::uint64_t begin = now();
    clock.advance(1ms);
    if (work == 0) continue;
    slot.ring[slot.written % wire::kRing] = {
        begin, begin + std::min<std::uint64_t>(work, 1'000'000), 0, 1, work};
    slot.written += 1;
  }
  EXPECT_TRUE(arbiter->is_awake());
  EXPECT_EQ(library.policy->awake, 1U);
  EXPECT_NEAR(static_cast<double>(spent) / 1e6, 300.0, 10.0) << "milliseconds in a second";
  EXPECT_NEAR(static_cast<double>(arbiter->charged("a", 0).count()) / 1e6, 300.0, 10.0);
  EXPECT_GT(turns, 100U) << "who waits is woken";
}

TEST_F(ArbiterTest, ItSleepsWhenNobodyWorks) {
  promise(limits("a", 300));
  const Library library = registered("a");
  wire::Slot& slot = library.usage->slot[library.welcome.slot];
  slot.work[0].waiting = 1;
  rounds(1);
  EXPECT_TRUE(arbiter->is_awake());
  slot.work[0].waiting = 0;
  clock.advance(1s);
  rounds(2);
  EXPECT_FALSE(arbiter->is_awake());
  EXPECT_EQ(library.policy->awake, 0U);
}

// While it is awake, and the tenants that worked are gone.
TEST_F(ArbiterTest, ATenantThatComesIsHeldAtOnce) {
  promise(limits("a", 300));
  const Library before = registered("a");
  before.usage->slot[before.welcome.slot].work[0].waiting = 1;
  rounds(1);
  ASSERT_TRUE(arbiter->is_awake());
  std::filesystem::remove(dir / "tenants" / "a.json");
  clock.advance(3ms);
  rounds(2);
  ASSERT_EQ(arbiter->tenants(), 0U);
  promise(limits("b", 300));
  const Library library = registered("b");
  EXPECT_NE(library.policy->devices[0].allowed_ns, wire::kNoLimit);
}

class PriorityTest : public ArbiterTest {
 protected:
  void SetUp() override {
    ArbiterTest::SetUp();
    for (const auto& [id, priority] : {std::pair{"critical", Priority::kLatencyCritical},
                                       std::pair{"rest", Priority::kBestEffort}}) {
      TenantLimits limits{.id = id,
                          .resource = "nvidia.com/gpu",
                          .enforcement = Enforcement::kElastic,
                          .priority = priority,
                          .devices = {{kGpu, Bytes::from_mib(100)}}};
      promise(limits);
    }
    critical = registered("critical");
    rest = registered("rest");
    rest.usage->slot[rest.welcome.slot].work[0].waiting = 1;
    clock.advance(2s);
    rounds(1);
    ASSERT_TRUE(arbiter->is_awake());
    ASSERT_EQ(rest.policy->devices[0].closed, 0U);
    ASSERT_GT(rest.policy->devices[0].allowed_ns, 0U);
  }
  // The latency-critical tenant has work, and reports it.
  void begin() {
    critical.usage->slot[critical.welcome.slot].work[0].busy_since = now();
    critical.usage->spent_ns[0] += 100'000;
    critical.usage->slot[critical.welcome.slot].work[0].asked_ns += 100'000;
  }
  // A process of the latency-critical tenant with such work, which waits to be killed.
  pid_t another_begins() {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_NONBLOCK), 0);
    const pid_t child = fork();
    if (child == 0) {
      Library library;
      if (!library.connect_to(dir / "tenants" / "critical" / "arbiter.sock") || !library.hello() ||
          !library.receive()) {
        _exit(1);
      }
      library.usage->slot[library.welcome.slot].work[0].asked_ns += 100'000;
      library.usage->spent_ns[0] += 100'000;
      if (::write(ready[1], "y", 1) == 1) pause();
      _exit(1);
    }
    char answer = 0;
    while (::read(ready[0], &answer, 1) != 1 && waitpid(child, nullptr, WNOHANG) == 0) {
      arbiter->round(1ms);
    }
    close(ready[0]);
    close(ready[1]);
    EXPECT_EQ(answer, 'y');
    return child;
  }
  void milliseconds(int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1ms);
      rounds(2);
    }
  }
  static bool calls(const Library& library) {
    return library.say(wire::Notice{wire::kHelloMagic, wire::Message::kWaiting, 0, 0});
  }

  Library critical;
  Library rest;
};

TEST_F(PriorityTest, ALatencyCriticalTenantsNoticeClosesTheOthersAtOnce) {
  begin();
  rounds(1);
  EXPECT_EQ(rest.policy->devices[0].closed, 0U) << "no time has passed, and nobody called";
  ASSERT_TRUE(calls(critical));
  rounds(1);
  EXPECT_EQ(rest.policy->devices[0].closed, 1U);
  // Its grants stay valid, but do not open the gate.
  EXPECT_GT(rest.policy->devices[0].allowed_ns, rest.usage->spent_ns[0]);
  auto& slot = critical.usage->slot[critical.welcome.slot];
  slot.ring[slot.written % wire::kRing] = {now(), now() + 100'000, 0, 1, 100'000};
  slot.written += 1;
  slot.work[0].busy_since = 0;
  for (int ms = 0; ms < 10; ++ms) {
    clock.advance(1ms);
    rounds(1);
  }
  EXPECT_EQ(rest.policy->devices[0].closed, 0U) << "its work has ended";
}

TEST_F(PriorityTest, TheNoticeOfAnotherTenantWaitsForTheNextStep) {
  begin();
  ASSERT_TRUE(calls(rest));
  rounds(2);
  EXPECT_EQ(rest.policy->devices[0].closed, 0U);
  clock.advance(1ms);
  rounds(1);
  EXPECT_EQ(rest.policy->devices[0].closed, 1U);
}

// A step costs as much as all tenants' slots.
TEST_F(PriorityTest, NoticesWithoutEndAreNotFollowedWithoutEnd) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(calls(critical));
    rounds(1);
  }
  begin();
  ASSERT_TRUE(calls(critical));
  rounds(1);
  EXPECT_EQ(rest.policy->devices[0].closed, 0U);
  clock.advance(1ms);
  rounds(1);
  EXPECT_EQ(rest.policy->devices[0].closed, 1U);
}

TEST_F(ArbiterTest, WhatATenantInventsIsNotKept) {
  promise(limits("a", 300));
  const Library library = registered("a");
  wire::Slot& slot = library.usage->slot[library.welcome.slot];
  for (const wire::Interval& interval :
       {wire::Interval{now(), wire::kNoLimit, 0, 1, 1},
        wire::Interval{0, now() + 1'000'000'000, 0, 1, 1},
        wire::Interval{now(), now(), 0, 1, wire::kNoLimit}, wire::Interval{5, 1, 0, 1, 1}}) {
    slot.ring[slot.written % wire::kRing] = interval;
    slot.written += 1;
  }
  slot.work[0].busy_since = wire::kNoLimit / 2;
  slot.work[0].waiting = ~0U;
  rounds(1);
  clock.advance(10s);
  rounds(2);
  EXPECT_EQ(arbiter->charged("a", 0), 0s);
}

TEST_F(ArbiterTest, TheNextOneServesTheSameTenants) {
  promise(limits("a", 300));
  const Library before = registered("a");
  ASSERT_TRUE(before.ledger().charge(0, 70 * kMiB));
  open();
  const Library after = registered("a", &before);
  EXPECT_EQ(after.welcome.slot, before.welcome.slot);
  EXPECT_NE(after.policy->epoch, before.policy->epoch);
  EXPECT_FALSE(after.ledger().charge(0, 40 * kMiB));
}

TEST_F(ArbiterTest, WhatTenantsLeftThatWentMeanwhileGoes) {
  for (const char* id : {"gone", "torn", "here"}) promise(limits(id, 500));
  EXPECT_EQ(state_files(), (Names{"gone.slots", "here.slots", "torn.slots"}));
  arbiter.reset();
  std::filesystem::remove(dir / "tenants" / "gone.json");
  std::ofstream(dir / "tenants" / "torn.json") << "torn";
  open();
  EXPECT_EQ(state_files(), (Names{"here.slots", "torn.slots"}))
      << "what cannot be read is not gone";
}

// A folder that cannot be read says nothing.
TEST_F(ArbiterTest, WhileTheTenantsFolderCannotBeReadNothingOfThemGoes) {
  promise(limits("a", 500));
  arbiter.reset();
  std::ofstream(dir / "state" / "gone.slots") << "";
  std::filesystem::rename(dir / "tenants" / "a.json", dir / "a.json");
  std::filesystem::remove_all(dir / "tenants");
  open();
  EXPECT_EQ(state_files(), (Names{"a.slots", "gone.slots"}));
  std::filesystem::create_directories(dir / "tenants");
  std::filesystem::rename(dir / "a.json", dir / "tenants" / "a.json");
  open();
  EXPECT_EQ(state_files(), (Names{"a.slots"}));
}

TEST_F(ArbiterTest, WhatATenantLeftThatCouldNotBeServedGoesWithItsFile) {
  write("b", encode(limits("b", 500)));  // without a folder there is no place for its socket
  EXPECT_EQ(arbiter->tenants(), 0U);
  std::filesystem::remove(dir / "tenants" / "b.json");
  rounds(2);
  EXPECT_EQ(state_files(), Names());
}

TEST_F(ArbiterTest, WhoHandsOverAForeignFileIsAFinding) {
  promise(limits("a", 300));
  registered("a");
  open();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Library liar{.memory = ends[0]};
  const Library after = registered("a", &liar);
  EXPECT_EQ(after.welcome.answer, wire::Answer::kAccepted);
  const auto findings = arbiter->status().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Finding::Kind::kForeignUsageFile);
  EXPECT_EQ(findings[0].tenant, "a");
  EXPECT_EQ(findings[0].pid, getpid());
  EXPECT_FALSE(findings[0].name.empty());
  clock.advance(ForeignFiles::kStays);
  EXPECT_TRUE(arbiter->status().findings.empty());
  close(ends[0]);
  close(ends[1]);
}

// What was used under the previous arbiter does not count as unfinished work.
TEST_F(ArbiterTest, TheNextOneHandsOutTimeToThoseThatUsedMuch) {
  promise(limits("a", 300));
  const Library before = registered("a");
  wire::Slot& slot = before.usage->slot[before.welcome.slot];
  before.usage->spent_ns[0] = 5'000'000'000;
  slot.work[0].asked_ns = 5'000'000'000;
  slot.work[0].ended_ns = 5'000'000'000;
  open();
  const Library after = registered("a", &before);
  slot.work[0].waiting = 1;
  for (int ms = 0; ms < 20; ++ms) {
    clock.advance(1ms);
    rounds(1);
  }
  EXPECT_GT(after.policy->devices[0].allowed_ns, 5'000'000'000U);
}

// Of two processes of a tenant one ends with work whose end nobody will see; the other lives.
TEST_F(PriorityTest, WorkOfAProcessThatWasKilledHoldsNobodyBack) {
  const pid_t child = another_begins();
  milliseconds(20);
  EXPECT_EQ(rest.policy->devices[0].closed, 1U);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  milliseconds(20);
  EXPECT_EQ(rest.policy->devices[0].closed, 0U);
}

}  // namespace
}  // namespace tranche::arbiter::arbiter_test
