#include "process/driver_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/watch.h"
#include "support/temp_dir.h"

namespace tranche::process::driver_lock_test {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kLong{30};
constexpr milliseconds kNow{0};

class DriverLockTest : public testing::Test {
 protected:
  test::TempDir dir;
  std::filesystem::path file = dir.path() / kDriverLock;
  DriverUser user{file};
  DriverUser other{file};
};

TEST_F(DriverLockTest, SeveralUsersHaveTheDriverOpen) {
  EXPECT_EQ(user.begin(), true);
  EXPECT_EQ(other.begin(), true);
  EXPECT_FALSE(user.is_unwanted());
}

TEST_F(DriverLockTest, APauseKeepsUsersAwayUntilItEnds) {
  auto pause = DriverPause::take({.file = file}, kNow, {});
  ASSERT_TRUE(pause);
  EXPECT_EQ(user.begin(), false);
  pause->reset();
  EXPECT_EQ(user.begin(), true);
  EXPECT_FALSE(user.is_unwanted());
}

TEST_F(DriverLockTest, APauseBeginsWhenTheLastUserHasLetGo) {
  ASSERT_EQ(user.begin(), true);
  ASSERT_EQ(other.begin(), true);
  std::jthread lets_go([this] {
    while (!user.is_unwanted() || !other.is_unwanted()) std::this_thread::yield();
    EXPECT_EQ(DriverUser(file).begin(), false) << "a user that comes now stays away";
    user.end();
    other.end();
  });
  const auto pause = DriverPause::take({.file = file}, kLong, {});
  ASSERT_TRUE(pause) << pause.error().message();
}

TEST_F(DriverLockTest, WhoWatchesTheFolderIsToldOfTheWishAndOfItsEnd) {
  ASSERT_EQ(user.begin(), true);
  auto watch = Watch::open({dir.path()});
  ASSERT_TRUE(watch);
  const auto told = [&] { return watch->wait(kLong, {}) == Watch::Outcome::kChanged; };
  std::jthread lets_go([&] {
    do {
      EXPECT_TRUE(told());
    } while (!user.is_unwanted());
    user.end();
  });
  auto pause = DriverPause::take({.file = file}, kLong, {});
  ASSERT_TRUE(pause);
  lets_go.join();
  (void)watch->drain();
  pause->reset();
  EXPECT_TRUE(told());
  EXPECT_EQ(user.begin(), true);
}

TEST_F(DriverLockTest, AUserThatDoesNotLetGoIsNamed) {
  ASSERT_EQ(user.begin(), true);
  const auto pause = DriverPause::take({.file = file}, kNow, {});
  ASSERT_FALSE(pause);
  EXPECT_EQ(pause.error().code, Code::kTimeout);
  EXPECT_THAT(pause.error().what, testing::HasSubstr("the arbiter does not let go"));
  EXPECT_FALSE(user.is_unwanted()) << "nobody waits any more";
}

TEST_F(DriverLockTest, UsersReadWhatIsAskedOfThem) {
  ASSERT_EQ(user.begin(), true);
  {
    const auto earlier = DriverPause::take({.file = file, .wish = "a long list of GPUs"}, kNow, {});
    ASSERT_FALSE(earlier);
  }
  std::jthread lets_go([this] {
    while (!user.is_unwanted()) std::this_thread::yield();
    EXPECT_EQ(user.wish(), "GPU-a\n");
    user.end();
  });
  ASSERT_TRUE(DriverPause::take({.file = file, .wish = "GPU-a\n"}, kLong, {}));
}

TEST_F(DriverLockTest, OfTwoPausesOneWaits) {
  const auto first = DriverPause::take({.file = file}, kNow, {});
  ASSERT_TRUE(first);
  const auto second = DriverPause::take({.file = file}, kNow, {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, testing::HasSubstr("another change"));
}

TEST_F(DriverLockTest, AProgramThatIsKilledGivesUpItsLocks) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = DriverPause::take({.file = file}, kNow, {});
    (void)!::write(ready[1], held ? "1" : "0", 1);
    ::pause();
    ::_exit(0);
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, '1');
  EXPECT_EQ(user.begin(), false);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(user.begin(), true);
}

TEST_F(DriverLockTest, WithoutAFolderThereAreNoUsers) {
  const auto pause = DriverPause::take({.file = dir.path() / "none" / kDriverLock}, kNow, {});
  ASSERT_TRUE(pause);
  EXPECT_EQ(*pause, nullptr);
}

TEST_F(DriverLockTest, AFileThatWasRemovedIsMadeAnew) {
  ASSERT_EQ(user.begin(), true);
  std::filesystem::remove(file);
  ASSERT_EQ(user.begin(), true);
  EXPECT_FALSE(DriverPause::take({.file = file}, kNow, {}));
}

TEST_F(DriverLockTest, AStopEndsTheWait) {
  ASSERT_EQ(user.begin(), true);
  std::stop_source stop;
  stop.request_stop();
  const auto pause = DriverPause::take({.file = file}, kLong, stop.get_token());
  ASSERT_FALSE(pause);
  EXPECT_EQ(pause.error().code, Code::kTimeout);
}

}  // namespace
}  // namespace tranche::process::driver_lock_test
