#include "process/status_socket.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace tranche::process::status_socket_test {
namespace {

using std::chrono::seconds;

// Unique to this process and test.
std::string own(const char* name) { return std::string(name) + std::to_string(::getpid()); }

TEST(StatusSocket, TellsTheTextAndTheAgeOfTheLastBeat) {
  test::FakeClock clock;
  const auto of = own("tells");
  EXPECT_EQ(StatusSocket::ask("agent", of).error().code, Code::kUnavailable);
  {
    StatusSocket socket("agent", of, clock);
    EXPECT_FALSE(StatusSocket::ask("agent", of)) << "before the first beat";
    ASSERT_TRUE(socket.beat("waiting for\nsomething"));
    clock.advance(seconds(40));
    const auto answer = StatusSocket::ask("agent", of);
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->text, "waiting for something");
    EXPECT_EQ(answer->age, seconds(40)) << "the loop stands still";
    ASSERT_TRUE(socket.beat(""));
    EXPECT_EQ(StatusSocket::ask("agent", of)->age, seconds(0));
    EXPECT_EQ(StatusSocket::ask("agent", of)->text, "");
    EXPECT_FALSE(StatusSocket::ask("arbiter", of));
    EXPECT_FALSE(StatusSocket::ask("agent", of + "x"));
  }
  EXPECT_FALSE(StatusSocket::ask("agent", of)) << "gone with the process";
}

TEST(StatusSocket, ANameThatIsTakenIsTriedAgain) {
  const test::FakeClock clock;
  const auto of = own("taken");
  std::optional<StatusSocket> first(std::in_place, "agent", of, clock);
  ASSERT_TRUE(first->beat("first"));
  StatusSocket second("agent", of, clock);
  EXPECT_FALSE(second.beat("second"));
  first.reset();
  EXPECT_TRUE(second.beat("second"));
  EXPECT_EQ(StatusSocket::ask("agent", of)->text, "second");
}

TEST(StatusSocket, AnyTextIsAnsweredWhole) {
  const test::FakeClock clock;
  const auto of = own("long");
  StatusSocket socket("agent", of, clock);
  ASSERT_TRUE(socket.beat(std::string(100'000, 'x')));
  const auto answer = StatusSocket::ask("agent", of);
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->text.size(), 1000U);
}

}  // namespace
}  // namespace tranche::process::status_socket_test
