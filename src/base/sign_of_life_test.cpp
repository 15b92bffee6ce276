#include "base/sign_of_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace tranche::sign_of_life_test {
namespace {

using testing::HasSubstr;

TEST(SignOfLife, ALoopThatStandsStillIsFoundByTheAgeOfItsBeat) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  const auto nobody = SignOfLife::check(file, clock, "arbiter");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kUnavailable);
  EXPECT_THAT(nobody.error().what,
              HasSubstr("no arbiter runs with the state folder " + dir.path().string()));
  {
    SignOfLife sign(file, clock);
    sign.beat();
    EXPECT_TRUE(SignOfLife::check(file, clock, "arbiter"));
    clock.advance(SignOfLife::kLongest);
    EXPECT_TRUE(SignOfLife::check(file, clock, "arbiter"));
    clock.advance(std::chrono::seconds(1));
    const auto dead = SignOfLife::check(file, clock, "arbiter");
    ASSERT_FALSE(dead);
    EXPECT_THAT(dead.error().what, HasSubstr("the arbiter's last sign of life is 31 s old"));
    ASSERT_TRUE(FsRoot().write_atomic(file, "soon\n"));
    EXPECT_FALSE(SignOfLife::check(file, clock, "arbiter"));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(SignOfLife, BeatsAreWrittenWhenTheLastOneIsOld) {
  const test::TempDir dir;
  const auto file = dir.path() / "alive";
  test::FakeClock clock;
  SignOfLife sign(file, clock);
  sign.beat();
  std::filesystem::remove(file);
  sign.beat();
  EXPECT_FALSE(std::filesystem::exists(file)) << "the last one is young";
  clock.advance(SignOfLife::kBeat);
  sign.beat();
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace tranche::sign_of_life_test
