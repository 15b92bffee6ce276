#include "arbiter/tenant_session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>

#include "limits/library.h"
#include "support/fake_clock.h"

namespace tranche::arbiter::tenant_session_test {
namespace {

using namespace limit;
using test::Library;

constexpr std::uint64_t kMiB = 1U << 20U;

// While it lives no file can be written, as on a file system without room.
class NoRoom {
 public:
  NoRoom() : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

// While it lives this process may open `more` files and no others.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class TenantSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tranche-session-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir = name;
    poller.emplace(*process::Poller::create());
    open();
  }
  void TearDown() override {
    session.reset();
    std::filesystem::remove_all(dir);
  }

  void open() {
    session.reset();
    auto opened = TenantSession::open(limits(100 * kMiB), {dir / "socket", dir, ++epoch},
                                      {.poller = *poller,
                                       .clock = clock,
                                       .log = log,
                                       .places = places,
                                       .on_notice = [this](wire::Message kind, unsigned device) {
                                         notices.emplace_back(kind, device);
                                       }});
    ASSERT_TRUE(opened) << opened.error().message();
    session = *std::move(opened);
  }
  static TenantLimits limits(std::uint64_t bytes) {
    return {.id = "t",
            .resource = "nvidia.com/gpu",
            .enforcement = Enforcement::kStrict,
            .devices = {{"GPU-00112233-4455-6677-8899-aabbccddeeff", Bytes{bytes}}}};
  }
  void handle(int rounds = 4) {
    for (int i = 0; i < rounds; ++i) poller->wait(std::chrono::milliseconds(0));
  }
  // `before`: its earlier registration, whose memory it hands over.
  Library registered(const Library* before = nullptr) {
    Library library;
    EXPECT_TRUE(library.connect_to(dir / "socket"));
    EXPECT_TRUE(before == nullptr ? library.hello() : library.hello_with(before->memory));
    handle();
    EXPECT_TRUE(library.receive());
    EXPECT_EQ(library.welcome.answer, wire::Answer::kAccepted);
    return library;
  }
  // A child that registers, takes `bytes` and waits to be killed.
  pid_t child_with(std::uint64_t bytes) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      Library library;
      const bool fine = library.connect_to(dir / "socket") && library.hello() &&
                        library.receive() && library.ledger().charge(0, bytes);
      if (write(ready[1], fine ? "y" : "n", 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    EXPECT_EQ(fcntl(ready[0], F_SETFL, O_NONBLOCK), 0);
    char answer = 0;
    while (answer == 0 && (read(ready[0], &answer, 1) == 1 || errno == EAGAIN)) {
      poller->wait(std::chrono::milliseconds(5));
    }
    close(ready[0]);
    EXPECT_EQ(answer, 'y');
    return child;
  }

  std::filesystem::path dir;
  std::optional<process::Poller> poller;
  test::FakeClock clock;
  Places places{1000};
  std::vector<std::string> lines;
  Log log{LogLevel::kInfo, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  std::uint32_t epoch = 0;
  std::vector<std::pair<wire::Message, unsigned>> notices;
  std::unique_ptr<TenantSession> session;
};

TEST_F(TenantSessionTest, AProcessThatRegistersIsHeldToTheLimit) {
  const Library library = registered();
  EXPECT_EQ(library.policy->devices[0].uuid[15], 0xff);
  EXPECT_EQ(library.policy->devices[0].memory_limit, 100 * kMiB);
  EXPECT_TRUE(library.ledger().charge(0, 100 * kMiB));
  EXPECT_FALSE(library.ledger().charge(0, 1));
  EXPECT_EQ(session->usage().charged(0), 100 * kMiB);
}

TEST_F(TenantSessionTest, ALimitChangesLive) {
  const Library library = registered();
  EXPECT_TRUE(session->change(limits(200 * kMiB)));
  EXPECT_TRUE(library.ledger().charge(0, 150 * kMiB));
  EXPECT_TRUE(session->change(limits(50 * kMiB)));
  EXPECT_FALSE(library.ledger().charge(0, 1));
  auto other = limits(1);
  other.devices[0].uuid = "GPU-ff112233-4455-6677-8899-aabbccddeeff";
  EXPECT_FALSE(session->change(other));
}

TEST_F(TenantSessionTest, AccountingHoldsNobody) {
  auto account = limits(kMiB);
  account.enforcement = Enforcement::kAccount;
  ASSERT_TRUE(session->change(account));
  const Library library = registered();
  EXPECT_TRUE(library.ledger().charge(0, 50 * kMiB));
  EXPECT_EQ(session->usage().charged(0), 50 * kMiB);
}

// After an arbiter's files were lost: the process's threads may still write into that slot.
TEST_F(TenantSessionTest, AProcessGetsTheSlotAgainThatItHadBefore) {
  const pid_t child = fork();
  if (child == 0) {
    Library library;
    _exit(library.connect_to(dir / "socket") && pause() == 0 ? 0 : 1);
  }
  while (session->is_empty()) poller->wait(std::chrono::milliseconds(5));
  ASSERT_EQ(session->slots(), std::vector<unsigned>{0}) << "it has not said hello yet";
  Library library;
  ASSERT_TRUE(library.connect_to(dir / "socket"));
  ASSERT_TRUE(library.hello(wire::kVersion, 0));
  handle();
  ASSERT_TRUE(library.receive());
  EXPECT_EQ(library.welcome.slot, 0U);
  EXPECT_EQ(session->slots().size(), 2U);
  EXPECT_TRUE(library.ledger().charge(0, kMiB));
  ASSERT_TRUE(library.hello(wire::kVersion, 9)) << "what it once was told stays";
  handle();
  ASSERT_TRUE(library.receive());
  EXPECT_EQ(library.welcome.slot, 0U);
  EXPECT_EQ(session->usage().charged(0), kMiB);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(TenantSessionTest, WhatAKilledProcessHeldComesBack) {
  const Library library = registered();
  const pid_t child = child_with(80 * kMiB);
  EXPECT_FALSE(library.ledger().charge(0, 30 * kMiB));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  handle();
  EXPECT_TRUE(library.ledger().charge(0, 30 * kMiB));
  EXPECT_EQ(session->slots().size(), 1U);
}

TEST_F(TenantSessionTest, ASlotThatCouldNotBeFreedIsFreedLater) {
  const Library library = registered();
  const pid_t child = child_with(80 * kMiB);
  {
    const NoRoom no_room;
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    handle();
    session->tidy(std::chrono::seconds(1));
    EXPECT_EQ(session->usage().charged(0), 0U) << "what it held needs no room on a disk to be free";
    EXPECT_EQ(session->usage().owners().size(), 2U);
  }
  session->tidy(std::chrono::seconds(2));
  EXPECT_TRUE(library.ledger().charge(0, 100 * kMiB));
  EXPECT_EQ(session->usage().owners().size(), 1U) << "the slot is free";
}

TEST_F(TenantSessionTest, WhoClosesTheConnectionHasTimeToComeAgain) {
  const Library library = registered();
  EXPECT_TRUE(library.ledger().charge(0, 10 * kMiB));
  close(library.socket);
  handle();
  session->tidy(std::chrono::seconds(100));
  EXPECT_EQ(session->slots().size(), 1U);
  EXPECT_EQ(session->usage().charged(0), 10 * kMiB);
  session->tidy(std::chrono::seconds(100) + TenantSession::kReturn);
  EXPECT_TRUE(session->slots().empty());
  EXPECT_EQ(library.usage->slot[library.welcome.slot].charged[0], 0U);
}

TEST_F(TenantSessionTest, WhoComesAgainInTimeHasWhatItHad) {
  const Library before = registered();
  EXPECT_TRUE(before.ledger().charge(0, 10 * kMiB));
  close(before.socket);
  handle();
  session->tidy(std::chrono::seconds(100));
  Library after;
  ASSERT_TRUE(after.connect_to(dir / "socket"));
  ASSERT_TRUE(after.say(wire::Hello{wire::kHelloMagic, wire::Message::kHello, wire::kVersion, 0,
                                    before.welcome.slot, before.welcome.generation}));
  handle();
  ASSERT_TRUE(after.receive());
  EXPECT_EQ(after.welcome.slot, before.welcome.slot);
  EXPECT_EQ(after.welcome.generation, before.welcome.generation);
  session->tidy(std::chrono::seconds(100) + TenantSession::kReturn);
  EXPECT_EQ(session->usage().charged(0), 10 * kMiB);
}

TEST_F(TenantSessionTest, AProcessThatRunsAnotherProgramNowHoldsNothing) {
  const Library before = registered();
  EXPECT_TRUE(before.ledger().charge(0, 10 * kMiB));
  close(before.socket);
  const Library after = registered();  // without a slot, as after exec
  EXPECT_EQ(session->slots().size(), 1U);
  EXPECT_EQ(session->usage().charged(0), 0U);
  EXPECT_NE(after.welcome.generation, before.welcome.generation);
}

TEST_F(TenantSessionTest, TheNextArbiterHoldsTheSameProcessesToTheSameLimit) {
  const Library before = registered();
  ASSERT_TRUE(before.ledger().charge(0, 60 * kMiB));
  const pid_t child = child_with(30 * kMiB);
  open();
  EXPECT_TRUE(session->awaits_usage());
  EXPECT_EQ(session->slots().size(), 2U);
  EXPECT_EQ(session->policy().devices[0].closed, 1U);
  // The old pages stay valid.
  EXPECT_FALSE(before.ledger().charge(0, 20 * kMiB));
  // A process that returns has its slot again, and what it held.
  const Library after = registered(&before);
  EXPECT_FALSE(session->awaits_usage());
  EXPECT_EQ(session->usage().charged(0), 90 * kMiB);
  EXPECT_EQ(after.welcome.slot, before.welcome.slot);
  EXPECT_EQ(after.welcome.generation, before.welcome.generation);
  EXPECT_EQ(after.policy->epoch, 2U);
  EXPECT_FALSE(after.ledger().charge(0, 20 * kMiB));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  handle();
  EXPECT_TRUE(after.ledger().charge(0, 40 * kMiB));
}

TEST_F(TenantSessionTest, NobodyIsAnsweredBeforeTheMemoryIsThere) {
  const Library before = registered();
  const pid_t child = child_with(30 * kMiB);
  open();
  Library empty_handed;
  ASSERT_TRUE(empty_handed.connect_to(dir / "socket"));
  ASSERT_TRUE(empty_handed.hello());
  handle();
  EXPECT_TRUE(session->awaits_usage()) << "the child may hand it over";
  char byte = 0;
  EXPECT_EQ(recv(empty_handed.socket, &byte, 1, MSG_DONTWAIT), -1);
  session->tidy(std::chrono::seconds(100));
  EXPECT_TRUE(session->awaits_usage());
  session->tidy(std::chrono::seconds(100) + TenantSession::kHandOver);
  EXPECT_FALSE(session->awaits_usage());
  ASSERT_TRUE(empty_handed.receive());
  EXPECT_EQ(empty_handed.welcome.answer, wire::Answer::kAccepted);
  EXPECT_EQ(empty_handed.welcome.slot, before.welcome.slot);
  EXPECT_NE(empty_handed.welcome.generation, before.welcome.generation) << "it tells what it holds";
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(TenantSessionTest, WithoutAnybodyWhoCouldHandItOverTheMemoryIsNew) {
  const Library before = registered();
  ASSERT_TRUE(before.ledger().charge(0, 60 * kMiB));
  open();
  const Library after = registered();
  EXPECT_FALSE(session->awaits_usage());
  EXPECT_EQ(session->usage().charged(0), 0U);
  EXPECT_NE(after.welcome.generation, before.welcome.generation);
}

TEST_F(TenantSessionTest, OtherMemoryThanTheTenantsIsNotTaken) {
  registered();
  const pid_t child = child_with(30 * kMiB);
  open();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Library liar;
  ASSERT_TRUE(liar.connect_to(dir / "socket"));
  ASSERT_TRUE(liar.hello_with(ends[0]));
  handle();
  EXPECT_FALSE(session->awaits_usage());
  ASSERT_TRUE(liar.receive());
  EXPECT_EQ(liar.welcome.answer, wire::Answer::kAccepted) << "with memory that is new";
  EXPECT_EQ(liar.usage->slot[liar.welcome.slot].charged[0], 0U);
  close(ends[0]);
  close(ends[1]);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(TenantSessionTest, WhoDiedWhileNoArbiterRanHoldsNothing) {
  const pid_t child = child_with(30 * kMiB);
  session.reset();
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  open();
  EXPECT_EQ(session->usage().charged(0), 0U);
  EXPECT_TRUE(session->slots().empty());
}

TEST_F(TenantSessionTest, NoticesArriveForDevicesThatThereAre) {
  const Library library = registered();
  EXPECT_TRUE(library.say(wire::Notice{wire::kHelloMagic, wire::Message::kWaiting, 0, 0}));
  EXPECT_TRUE(library.say(wire::Notice{wire::kHelloMagic, wire::Message::kContext, 1, 0}));
  handle();
  EXPECT_EQ(notices, (std::vector{std::pair{wire::Message::kWaiting, 0U}}));
}

TEST_F(TenantSessionTest, AnotherReleasesLibraryIsToldSo) {
  Library library;
  ASSERT_TRUE(library.connect_to(dir / "socket"));
  ASSERT_TRUE(library.hello(wire::kVersion + 1));
  handle();
  ASSERT_TRUE(library.receive());
  EXPECT_EQ(library.welcome.answer, wire::Answer::kVersionUnknown);
}

TEST_F(TenantSessionTest, NonsenseEndsTheConnectionAndTouchesNobodyElse) {
  const Library good = registered();
  const pid_t child = fork();
  if (child == 0) {
    Library bad;
    bad.connect_to(dir / "socket");
    bad.say(std::uint64_t{42});
    pause();
  }
  while (session->slots().size() < 2) poller->wait(std::chrono::milliseconds(5));
  while (session->slots().size() > 1) poller->wait(std::chrono::milliseconds(5));
  EXPECT_TRUE(good.ledger().charge(0, kMiB));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(TenantSessionTest, AProcessTakesTwoDescriptors) {
  const auto before = open_files();
  registered();
  EXPECT_EQ(open_files() - before, 2 + 2) << "two are the library's own";
}

TEST_F(TenantSessionTest, WhoComesWhileNoFileCanBeOpenedIsServedLaterAndNotTakenForGone) {
  for (const rlim_t more : {0U, 1U}) {  // of the connection and the pidfd
    clock.advance(std::chrono::minutes(2));
    session->tidy(clock.now().time_since_epoch());
    lines.clear();
    Library library;
    ASSERT_TRUE(library.connect_to(dir / "socket"));
    ASSERT_TRUE(library.hello());
    {
      const FewFiles few(more);
      handle(100);
    }
    EXPECT_EQ(lines.size(), 1U) << "said once";
    session->tidy(clock.now().time_since_epoch());
    handle();
    if (more == 1) {
      // The connection was closed, which the library sees: it tries again.
      EXPECT_FALSE(library.receive());
      library = registered();
    } else {
      EXPECT_TRUE(library.receive());
    }
    close(library.socket);
    handle();
  }
}

TEST_F(TenantSessionTest, AProcessThatThereIsNoPlaceForIsToldSo) {
  const std::vector<Places::Lease> others = [&] {
    std::vector<Places::Lease> leases;
    for (int i = 0; i < 998; ++i) leases.emplace_back(places);
    return leases;
  }();
  const pid_t child = child_with(kMiB);
  for (int i = 0; i < 3; ++i) {
    Library library;
    ASSERT_TRUE(library.connect_to(dir / "socket"));
    ASSERT_TRUE(library.hello());
    handle();
    ASSERT_TRUE(library.receive());
    EXPECT_EQ(library.welcome.answer, wire::Answer::kFull);
    close(library.socket);
  }
  EXPECT_EQ(lines.size(), 1U) << "said once";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  handle();
  registered();
}

TEST_F(TenantSessionTest, GarbageIsToldOnceAndThenCounted) {
  for (int i = 0; i < 300; ++i) {
    Library bad;
    ASSERT_TRUE(bad.connect_to(dir / "socket"));
    ASSERT_TRUE(bad.say(std::uint64_t{42}));
    handle();
    close(bad.socket);
    handle();
  }
  EXPECT_EQ(lines.size(), 1U);
  clock.advance(std::chrono::minutes(1));
  session->tidy(clock.now().time_since_epoch());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("that are no message (299 times in 60 s)"), std::string::npos)
      << lines[1];
}

TEST_F(TenantSessionTest, ARetiredTenantLeavesNoFile) {
  session->retire();
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

TEST_F(TenantSessionTest, ADeviceWithoutAUuidIsRefused) {
  auto wrong = limits(1);
  wrong.devices[0].uuid = "0";
  const auto opened =
      TenantSession::open(wrong, {dir / "other", dir, 1}, {*poller, clock, log, places});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what, "'0' is not the UUID of a device");
}

}  // namespace
}  // namespace tranche::arbiter::tenant_session_test
