#include "load/stop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace tranche::load::stop_test {
namespace {

constexpr std::chrono::hours kForEver{24};

class StopTest : public testing::Test {
 protected:
  StopTest() { EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0); }
  ~StopTest() override {
    end_input();
    ::close(pipe_[0]);
  }
  void end_input() {
    if (pipe_[1] >= 0) ::close(pipe_[1]);
    pipe_[1] = -1;
  }
  int input() const { return pipe_[0]; }
  void say(std::string_view text) const {
    EXPECT_EQ(::write(pipe_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

 private:
  std::array<int, 2> pipe_ = {-1, -1};
};

TEST_F(StopTest, ComesWithTheEndOfTheInputAndEndsASleep) {
  Stop stop(input());
  EXPECT_FALSE(stop.told());
  say("anything\n");
  end_input();
  stop.sleep(kForEver);
  EXPECT_TRUE(stop.told());
  stop.wait();
}

TEST_F(StopTest, ASleepEndsByItselfToo) {
  Stop stop(input());
  stop.sleep(nanoseconds(1));
  stop.sleep(nanoseconds(-1));
  EXPECT_FALSE(stop.told());
}

TEST_F(StopTest, GoesBeforeTheInputEnds) {
  {
    const Stop stop(input());
  }
  say("still open\n");
}

}  // namespace
}  // namespace tranche::load::stop_test
