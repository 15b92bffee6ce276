#include "mps/protocol.h"

#include <gtest/gtest.h>

#include <set>

namespace tranche::mps::protocol_test {
namespace {

TEST(Protocols, HaveNumbersOfTheirOwn) {
  std::set<int> numbers;
  for (const Protocol* one : protocols()) {
    EXPECT_TRUE(numbers.insert(one->number()).second) << one->number();
    EXPECT_EQ(&protocol_of(one->number()), one);
  }
}

TEST(Protocols, TheFirstIsTheWayBack) {
  EXPECT_EQ(protocols().front()->number(), 2);
  EXPECT_EQ(protocols().front()->since().cuda_version, 0) << "every program speaks it";
  EXPECT_EQ(&protocol_of(99), protocols().front());
}

}  // namespace
}  // namespace tranche::mps::protocol_test
