// The test program is started twice; see container.h.

#include <gtest/gtest.h>

#include <cstring>

#include "limits/limited/lookups.h"
#include "limits/limited/outer.h"

int main(int count, char** arguments) {
  using namespace tranche;  // NOLINT(google-build-using-namespace)
  if (count == 2 && std::strcmp(arguments[1], "--lookups") == 0) return test::print_lookups();
  if (!test::is_inner()) return test::with_arbiter([&] { return test::run_inner(arguments); });
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
