#include "controller/namespace_turns.h"

#include <gtest/gtest.h>

#include <thread>

namespace tranche::controller::namespace_turns_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NamespaceTurns, OneNamespaceLeavesOthersTheirTurns) {
  NamespaceTurns turns({.at_once = 2, .patience = milliseconds(1)});
  auto first = turns.take("crowd", {});
  const auto second = turns.take("crowd", {});
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(turns.take("crowd", {}));
  EXPECT_TRUE(turns.take("other", {}));
  first.reset();
  EXPECT_TRUE(turns.take("crowd", {}));
}

TEST(NamespaceTurns, AWaitingCallGetsAnEndedTurn) {
  NamespaceTurns turns({.at_once = 1, .patience = seconds(60)});
  auto taken = turns.take("a", {});
  bool got = false;
  {
    const std::jthread waits([&] { got = turns.take("a", {}).has_value(); });
    taken.reset();
  }
  EXPECT_TRUE(got);
}

TEST(NamespaceTurns, NobodyWaitsWhenAllEnds) {
  NamespaceTurns turns({.at_once = 1, .patience = seconds(60)});
  const auto taken = turns.take("a", {});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(turns.take("a", stop.get_token()));
}

}  // namespace
}  // namespace tranche::controller::namespace_turns_test
