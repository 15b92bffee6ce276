// The arbiter's flight recorder, with real folders, sockets and pages, and the test's clock: what
// processes write into their slots becomes an incident on disk.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "arbiter/arbiter.h"
#include "incidents/asks.h"
#include "incidents/incident_files.h"
#include "limits/library.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::arbiter::incidents_test {
namespace {

using namespace limit;
using namespace std::chrono_literals;
using incidents::Cause;
using incidents::Incident;
using test::Library;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr char kGpu[] = "GPU-00112233-4455-6677-8899-aabbccddeeff";

class IncidentsTest : public ::testing::Test {
 protected:
  IncidentsTest() {
    std::filesystem::create_directories(tenants());
    open();
    for (const char* id : {"a", "b"}) promise(id);
    a = registered("a");
    b = registered("b");
  }

  std::filesystem::path tenants() const { return dir_.path() / "tenants"; }
  std::filesystem::path state() const { return dir_.path() / "state"; }
  void open() {
    arbiter.reset();
    auto opened = Arbiter::open({tenants(), state()}, clock, log);
    ASSERT_TRUE(opened) << opened.error().message();
    arbiter = *std::move(opened);
  }
  void promise(const std::string& id) const {
    const TenantLimits limits{.id = id,
                              .resource = "nvidia.com/gpu",
                              .enforcement = Enforcement::kStrict,
                              .devices = {{kGpu, Bytes::from_mib(100), 1, 500}}};
    std::filesystem::create_directories(tenants() / id);
    ASSERT_TRUE(FsRoot().write_atomic(tenants() / (id + ".json"), encode(limits)));
    rounds(2);
  }
  void rounds(int count) const {
    for (int i = 0; i < count; ++i) arbiter->round(0ms);
  }
  Library registered(const std::string& id, const Library* before = nullptr) const {
    Library library;
    EXPECT_TRUE(library.connect_to(tenants() / id / "arbiter.sock")) << id;
    EXPECT_TRUE(before == nullptr ? library.hello() : library.hello_with(before->memory));
    rounds(3);
    EXPECT_TRUE(library.receive());
    return library;
  }
  void pass(std::chrono::milliseconds time) {
    for (auto passed = 0ms; passed < time; passed += 250ms) {
      clock.advance(250ms);
      rounds(1);
    }
  }
  std::uint64_t now() const {
    return static_cast<std::uint64_t>(clock.now().time_since_epoch().count());
  }
  static wire::Slot& slot(const Library& library) {
    return library.usage->slot[library.welcome.slot];
  }
  // As the library does (interpose/failures.cpp).
  void refuse(const Library& library, std::uint64_t bytes) const {
    auto& failures = slot(library).failures;
    ++slot(library).refused;
    failures.refused_asked = wire::asked_word(0, bytes);
    failures.refused_held = library.ledger().held(0);
    failures.refused_at = now();
  }
  std::vector<Incident> found() const {
    const incidents::IncidentFiles files(state() / "incidents");
    std::vector<Incident> all;
    const auto ids = files.ids().value();
    for (const auto& id : ids) all.push_back(files.read(id).value());
    return all;
  }
  int told(const std::string& text) const {
    return static_cast<int>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

  test::TempDir dir_;
  test::FakeClock clock;
  std::vector<std::string> lines;
  Log log{LogLevel::kInfo, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  std::unique_ptr<Arbiter> arbiter;
  Library a;
  Library b;
};

TEST_F(IncidentsTest, ARefusalBecomesAFileThatNamesBoth) {
  ASSERT_TRUE(a.ledger().charge(0, 70 * kMiB));
  pass(5s);
  ASSERT_TRUE(b.ledger().charge(0, 90 * kMiB));
  pass(2s);
  ASSERT_FALSE(a.ledger().charge(0, 40 * kMiB));
  refuse(a, 40 * kMiB);
  pass(1s);
  const auto all = found();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].cause, Cause::kLimit);
  EXPECT_EQ(all[0].tenant, "a");
  EXPECT_EQ(all[0].asked_bytes, 40 * kMiB);
  EXPECT_EQ(all[0].held_bytes, 70 * kMiB);
  ASSERT_EQ(all[0].holders.size(), 2U);
  EXPECT_EQ(all[0].holders[0].limit_bytes, 100 * kMiB);
  EXPECT_EQ(all[0].holders[1].tenant, "b");
  EXPECT_EQ(all[0].holders[1].growth.bytes, 90 * kMiB);
  EXPECT_EQ(told("tenant a: asked 40 MiB, limit 100 MiB, used 70 MiB"), 1);
}

TEST_F(IncidentsTest, AProcessThatDiesOfItIsToldAllTheSame) {
  pass(1s);
  refuse(a, 200 * kMiB);
  // Its process ends before the next sample: what it wrote is settled.
  close(a.socket);
  rounds(2);
  pass(15s);
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].asked_bytes, 200 * kMiB);
}

TEST_F(IncidentsTest, TheDriversRefusal) {
  pass(1s);
  slot(a).failures.driver_asked = wire::asked_word(0, 10 * kMiB);
  slot(a).failures.driver_refused = 3;
  slot(a).failures.driver_at = now();
  pass(1s);
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].cause, Cause::kDevice);
  EXPECT_EQ(found()[0].times, 3U);
}

TEST_F(IncidentsTest, TenThousandRefusalsAreTwoFilesAndPushOutNobodys) {
  pass(1s);
  refuse(b, kMiB);
  pass(1s);
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) refuse(a, kMiB);
    pass(250ms);
  }
  pass(40s);
  ASSERT_EQ(found().size(), 3U);
  for (int i = 0; i < 20; ++i) {
    refuse(a, kMiB);
    pass(31s);
  }
  const auto all = found();
  EXPECT_EQ(all.size(), 1 + incidents::IncidentFiles::kMostOfOne);
  EXPECT_EQ(std::ranges::count(all, "b", &Incident::tenant), 1);
}

TEST_F(IncidentsTest, NonsenseInASlotHarmsNobody) {
  pass(1s);
  auto& failures = slot(a).failures;
  for (wire::Word* word : {&failures.refused_asked, &failures.refused_held, &failures.refused_at,
                           &failures.driver_refused, &failures.driver_asked, &failures.driver_at}) {
    *word = ~std::uint64_t{0};
  }
  slot(a).work[0].busy_since = 1;
  pass(5s);
  EXPECT_TRUE(found().empty());
  refuse(b, kMiB);
  pass(1s);
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].tenant, "b");
}

// An arbiter of an earlier release does not clear what a process of its time wrote.
TEST_F(IncidentsTest, TheNextArbiterTellsNothingAgain) {
  pass(1s);
  refuse(a, kMiB);
  pass(1s);
  ASSERT_EQ(found().size(), 1U);
  open();
  const Library again = registered("a", &a);
  registered("b", &b);
  pass(40s);
  EXPECT_EQ(found().size(), 1U);
  refuse(again, 2 * kMiB);
  pass(1s);
  ASSERT_EQ(found().size(), 2U);
  EXPECT_EQ(found()[1].times, 1U);
}

TEST_F(IncidentsTest, TheAgentAsksForAnXid) {
  ASSERT_TRUE(a.ledger().charge(0, 70 * kMiB));
  pass(5s);
  const std::vector<incidents::Ask> asks{{.id = "20260101-000000-xid",
                                          .gpu = kGpu,
                                          .devices = {kGpu},
                                          .xid = 79,
                                          .at = clock.wall_now() - 1s}};
  ASSERT_TRUE(FsRoot().write_atomic(tenants() / incidents::kAsksFile, encode(asks)));
  rounds(2);
  auto all = found();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, "20260101-000000-xid");
  EXPECT_EQ(all[0].xid, 79U);
  EXPECT_EQ(all[0].holders[0].tenant, "a");
  EXPECT_EQ(all[0].holders[0].held_bytes, 70 * kMiB);
  EXPECT_EQ(arbiter->tenants(), 2U) << "the file is no tenant's";
  open();
  registered("a", &a);
  registered("b", &b);
  pass(3s);
  EXPECT_EQ(found().size(), 1U) << "answered once";
  std::ofstream(tenants() / incidents::kAsksFile) << "torn";
  pass(5s);
  EXPECT_EQ(told("nothing is recorded of these XIDs"), 1);
}

// As on a full tmpfs.
TEST_F(IncidentsTest, AFullDiskIsToldOnceAndHarmsNothingElse) {
  pass(1s);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  refuse(a, kMiB);
  pass(10s);
  refuse(b, kMiB);
  pass(10s);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(told("an incident cannot be stored"), 1);
  EXPECT_TRUE(b.ledger().charge(0, 90 * kMiB));
  EXPECT_EQ(arbiter->tenants(), 2U);
  pass(1s);
  EXPECT_EQ(found().size(), 2U) << "stored once there is room";
}

}  // namespace
}  // namespace tranche::arbiter::incidents_test
