#include "kubelet/channel.h"

#include <gtest/gtest.h>

namespace tranche::kubelet::channel_test {
namespace {

TEST(ErrorOf, KeepsTheServersWords) {
  struct Case {
    const char* name;
    grpc::Status status;
    Code code;
    const char* what;
  };
  // Longer than a string can hold without allocated memory.
  const std::string words = "the kubelet was told to refuse registrations";
  const Case cases[] = {
      {"refused",
       {grpc::StatusCode::UNKNOWN, words},
       Code::kFailedPrecondition,
       "registering x: the kubelet was told to refuse registrations"},
      {"away",
       {grpc::StatusCode::UNAVAILABLE, words},
       Code::kUnavailable,
       "registering x: the kubelet was told to refuse registrations"},
      {"late",
       {grpc::StatusCode::DEADLINE_EXCEEDED, words},
       Code::kTimeout,
       "registering x: no answer in time"},
  };
  for (const auto& c : cases) {
    const auto error = error_of(c.status, "registering x");
    EXPECT_EQ(error.code, c.code) << c.name;
    EXPECT_EQ(error.what, c.what) << c.name;
  }
}

}  // namespace
}  // namespace tranche::kubelet::channel_test
