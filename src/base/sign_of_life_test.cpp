// A probe's view of the arbiter: its sign of life, by age.

#include "arbiter/alive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_dir.h"

namespace tranche::arbiter {
namespace {

// The file's own time is the system's, so this clock goes ahead of that.
class Later final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return SystemClock().now() + ahead; }
  std::chrono::system_clock::time_point wall_now() const override {
    return SystemClock().wall_now() + ahead;
  }
  std::chrono::seconds ahead{0};
};

TEST(Alive, ALoopThatStandsStillIsFoundByTheAgeOfItsBeat) {
  const test::TempDir dir;
  Later clock;
  EXPECT_EQ(Alive::check(dir.path(), clock).error().code, Code::kUnavailable);
  {
    Alive alive(dir.path(), clock);
    alive.beat();
    EXPECT_TRUE(Alive::check(dir.path(), clock));
    clock.ahead = Alive::kLongest - Alive::kBeat;
    EXPECT_TRUE(Alive::check(dir.path(), clock));
    clock.ahead = Alive::kLongest + Alive::kBeat;
    const auto dead = Alive::check(dir.path(), clock);
    ASSERT_FALSE(dead);
    EXPECT_NE(dead.error().what.find("last sign of life is"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "alive"));
}

TEST(Alive, BeatsAreWrittenWhenTheLastOneIsOld) {
  const test::TempDir dir;
  Later clock;
  Alive alive(dir.path(), clock);
  const auto file = dir.path() / "alive";
  alive.beat();
  std::filesystem::remove(file);
  alive.beat();
  EXPECT_FALSE(std::filesystem::exists(file)) << "the last one is young";
  clock.ahead = Alive::kBeat;
  alive.beat();
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace tranche::arbiter
