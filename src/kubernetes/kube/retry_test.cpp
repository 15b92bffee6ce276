#include "kube/retry.h"

#include <gtest/gtest.h>

namespace tranche::kube::retry_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Retry, WhatIsRetriedAndWhen) {
  const struct {
    const char* name;
    Attempt attempt;
    std::optional<milliseconds> wait;
  } cases[] = {
      {"read, no answer", {1, true, true, 0}, milliseconds(100)},
      {"read, second", {2, true, true, 0}, milliseconds(200)},
      {"read, fourth", {4, true, true, 0}, milliseconds(800)},
      {"read, fifth", {5, true, true, 0}, std::nullopt},
      {"write that did not leave", {1, false, false, 0}, milliseconds(100)},
      {"write that may have happened", {1, false, true, 0}, std::nullopt},
      {"read, 500", {1, true, true, 500}, milliseconds(100)},
      {"read, 504", {1, true, true, 504}, milliseconds(100)},
      {"read, 505", {1, true, true, 505}, std::nullopt},
      {"read, 404", {1, true, true, 404}, std::nullopt},
      {"read, 401", {1, true, true, 401}, std::nullopt},
      {"write, 500", {1, false, true, 500}, std::nullopt},
      {"write, 503", {1, false, true, 503}, std::nullopt},
      {"write, 503 with Retry-After", {1, false, true, 503, seconds(2)}, seconds(2)},
      {"write, 429", {1, false, true, 429}, milliseconds(100)},
      {"write, 429 with Retry-After", {9, false, true, 429, seconds(1)}, seconds(5)},
      {"write, 429 for the tenth time", {10, false, true, 429, seconds(1)}, std::nullopt},
      {"Retry-After of an hour", {1, true, true, 429, seconds(3600)}, seconds(30)},
      {"write, 409 with Retry-After", {1, false, true, 409, seconds(1)}, std::nullopt},
  };
  for (const auto& test : cases) EXPECT_EQ(wait_before_next(test.attempt), test.wait) << test.name;
}

}  // namespace
}  // namespace tranche::kube::retry_test
