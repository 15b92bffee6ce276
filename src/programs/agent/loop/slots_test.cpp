#include "agent/loop/slots.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/loop/state.h"

namespace tranche::agent::slots_test {
namespace {

struct Seen {
  int count = 7;
  bool operator==(const Seen&) const = default;
};
struct Name {
  std::string text;
  bool operator==(const Name&) const = default;
};

TEST(Slots, AValueIsItsTypesDefaultUntilItIsSet) {
  Slots slots;
  EXPECT_EQ(slots.get<Seen>().count, 7);
  slots.set(Seen{3});
  EXPECT_EQ(slots.get<Seen>().count, 3);
  EXPECT_EQ(slots.get<Name>().text, "");
}

TEST(Slots, ACopyKeepsWhatItHad) {
  Slots slots;
  slots.set(Name{"before"});
  const auto copy = slots;
  EXPECT_EQ(copy, slots);
  slots.set(Name{"after"});
  EXPECT_EQ(copy.get<Name>().text, "before");
  EXPECT_NE(copy, slots);
}

TEST(Slots, EqualValuesAreEqualWhoeverSetThem) {
  Slots a;
  Slots b;
  a.set(Name{"same"});
  b.set(Name{"same"});
  EXPECT_EQ(a, b);
  b.set(Name{"other"});
  EXPECT_NE(a, b);
}

TEST(Slots, TwoStatesDifferByOneSlot) {
  State a;
  State b;
  EXPECT_EQ(a, b);
  b.set(Seen{1});
  EXPECT_NE(a, b);
  EXPECT_EQ(b.get<Seen>().count, 1);
}

}  // namespace
}  // namespace tranche::agent::slots_test
