// A library's session with a real arbiter, which comes, goes, and loses its memory.

#include "interpose/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "arbiter/arbiter.h"
#include "interpose/ledger.h"
#include "interpose/report.h"
#include "interpose/system.h"
#include "interpose/tenants.h"
#include "support/wait.h"

namespace tranche::interpose::session_test {
namespace {

using namespace limit;
using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1U << 20U;

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tranche-session-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir = name;
    std::filesystem::create_directories(dir / "tenants" / "t");
    promise(100 * kMiB);
  }
  void TearDown() override {
    stop_arbiter();
    std::filesystem::remove_all(dir);
  }

  void promise(std::uint64_t bytes, std::optional<std::uint32_t> permille = {}) {
    const TenantLimits limits{.id = "t",
                              .resource = "nvidia.com/gpu",
                              .enforcement = Enforcement::kStrict,
                              .devices = {{.uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff",
                                           .memory = Bytes{bytes},
                                           .permille = permille}}};
    std::ofstream(dir / "t.new") << encode(limits);
    std::filesystem::rename(dir / "t.new", dir / "tenants" / "t.json");
  }
  void start_arbiter() {
    auto opened = arbiter::Arbiter::open({dir / "tenants", dir / "state"}, clock, log);
    ASSERT_TRUE(opened) << opened.error().message();
    serving = std::jthread([a = std::shared_ptr(*std::move(opened))](const std::stop_token& stop) {
      while (!stop.stop_requested()) a->round(1ms);
    });
  }
  void stop_arbiter() {
    serving.request_stop();
    if (serving.joinable()) serving.join();
  }
  std::string socket() const { return dir / "tenants" / "t" / "arbiter.sock"; }
  Ledger ledger(Session& session) const {
    return {session.policy(), session.usage(), session.slot()};
  }

  std::filesystem::path dir;
  SystemClock clock;
  Log log{LogLevel::kError};
  std::jthread serving;
};

TEST_F(SessionTest, WithoutAnArbiterNothingIsRegisteredAndNothingHangs) {
  Session session;
  EXPECT_EQ(session.open(socket().c_str(), 50), Session::Outcome::kNobody);
  EXPECT_FALSE(session.has_pages());
  session.notify(wire::Message::kContext, 0);
  EXPECT_EQ(session.open(std::string(300, 'x').c_str(), 50), Session::Outcome::kNobody);
  start_arbiter();
  EXPECT_EQ(session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  EXPECT_TRUE(session.has_pages());
}

// What a process of the tenant writes over the memory's header keeps nobody out.
TEST_F(SessionTest, AnotherProcessSpoilsTheBeginningOfTheMemory) {
  start_arbiter();
  Session first;
  ASSERT_EQ(first.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  first.usage().version = 9;
  first.usage().size = 1;
  Session other;
  EXPECT_EQ(other.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
}

TEST_F(SessionTest, LimitsHoldWhileTheArbiterIsAwayAndWithTheNextOne) {
  start_arbiter();
  Session session;
  ASSERT_EQ(session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  const auto* policy = &session.policy();
  const unsigned slot = session.slot();
  EXPECT_TRUE(ledger(session).charge(0, 60 * kMiB));
  stop_arbiter();
  EXPECT_EQ(session.refresh(20), Session::Outcome::kNobody);
  EXPECT_FALSE(session.is_registered());
  EXPECT_TRUE(ledger(session).charge(0, 20 * kMiB));
  EXPECT_FALSE(ledger(session).charge(0, 30 * kMiB));
  promise(200 * kMiB);
  start_arbiter();
  ASSERT_EQ(session.refresh(5000), Session::Outcome::kRegistered);
  EXPECT_EQ(&session.policy(), policy) << "in the same place";
  EXPECT_EQ(session.slot(), slot);
  EXPECT_EQ(ledger(session).held(0), 80 * kMiB);
  EXPECT_TRUE(ledger(session).charge(0, 120 * kMiB));
  EXPECT_FALSE(ledger(session).charge(0, 1));
  EXPECT_EQ(session.refresh(0), Session::Outcome::kRegistered);
}

// A program may close a descriptor's number and use it again.
TEST_F(SessionTest, AProgramThatClosesAllItsDescriptorsKeepsItsChargesAndItsFiles) {
  start_arbiter();
  Session session;
  ASSERT_EQ(session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  EXPECT_TRUE(ledger(session).charge(0, 60 * kMiB));
  const int memory = session.memory();
  ASSERT_GE(memory, 0);
  const int file = ::open((dir / "own").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(dup2(file, memory), memory);
  stop_arbiter();
  start_arbiter();
  ASSERT_EQ(session.refresh(5000), Session::Outcome::kRegistered);
  EXPECT_EQ(ledger(session).held(0), 60 * kMiB);
  struct stat status{};
  ASSERT_EQ(fstat(memory, &status), 0) << "it is open still";
  EXPECT_TRUE(S_ISREG(status.st_mode));
  close(memory);
  close(file);
}

TEST_F(SessionTest, AnArbiterThatLostItsMemoryIsToldWhatIsHeld) {
  start_arbiter();
  Session session;
  ASSERT_EQ(session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  EXPECT_TRUE(ledger(session).charge(0, 60 * kMiB));
  stop_arbiter();
  std::filesystem::remove_all(dir / "state");
  start_arbiter();
  ASSERT_EQ(session.refresh(5000), Session::Outcome::kRegistered);
  EXPECT_EQ(ledger(session).held(0), 60 * kMiB);
  EXPECT_FALSE(ledger(session).charge(0, 50 * kMiB));
}

// An arbiter with empty pages does not know who waits, or what was asked for before it.
TEST_F(SessionTest, WhoWaitsAtTheGateWaitsForTheNextArbiterToo) {
  promise(100 * kMiB, 100);
  start_arbiter();
  Tenant tenant;
  ASSERT_EQ(tenant.session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  const Part part{.rule = Part::Rule::kTenant, .tenant = &tenant};
  std::atomic<unsigned> passed = 0;
  const auto work = [&](const std::stop_token& stop) {
    constexpr std::uint64_t kLength = 10'000'000;  // ns
    while (!stop.stop_requested()) {
      if (!take_turn(part, kLength)) wait_for_turn(part, kLength, [] {});
      const std::uint64_t now = now_ns();
      report(part, now - kLength, now, 1, kLength);
      ++passed;
    }
  };
  std::jthread worker(work);
  const auto waits = [&] { return part.slot().work[0].waiting == 1; };
  for (int i = 0; i < 3; ++i) {
    const unsigned before = passed;
    EXPECT_TRUE(test::eventually([&] { return passed > before + 3 && waits(); })) << "round " << i;
    stop_arbiter();
    std::filesystem::remove_all(dir / "state");
    start_arbiter();
    ASSERT_EQ(tenant.session.refresh(5000), Session::Outcome::kRegistered);
  }
  const unsigned before = passed;
  EXPECT_TRUE(test::eventually([&] { return passed > before + 3; }));
  worker.request_stop();
  promise(100 * kMiB);
  worker.join();
  EXPECT_EQ(part.slot().work[0].waiting, 0U);
  EXPECT_EQ(part.slot().work[0].asked_ns, part.slot().work[0].ended_ns);
}

// Pages are replaced under threads that use them.
TEST_F(SessionTest, ThreadsNeedNotKnowThatTheArbiterChanges) {
  start_arbiter();
  Session session;
  ASSERT_EQ(session.open(socket().c_str(), 5000), Session::Outcome::kRegistered);
  std::atomic<bool> done = false;
  std::atomic<bool> over = false;
  std::jthread user([&] {
    Ledger mine = ledger(session);
    while (!done) {
      if (!mine.charge(0, 40 * kMiB)) continue;
      if (mine.held(0) > 100 * kMiB) over = true;
      mine.release(0, 40 * kMiB);
    }
  });
  for (int i = 0; i < 20; ++i) {
    stop_arbiter();
    start_arbiter();
    ASSERT_EQ(session.refresh(5000), Session::Outcome::kRegistered);
  }
  done = true;
  user.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(ledger(session).held(0), 0U);
}

}  // namespace
}  // namespace tranche::interpose::session_test
