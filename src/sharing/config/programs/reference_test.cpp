#include "config/programs/reference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/fs.h"

namespace tranche::config::reference_test {
namespace {

struct Case {
  const char* name;
  std::string (*render)();
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ReferencePage : public testing::TestWithParam<Case> {};

TEST_P(ReferencePage, IsAsCommitted) {
  const auto path =
      std::filesystem::current_path() / "docs/reference" / (std::string(GetParam().name) + ".md");
  const auto committed = FsRoot().read(path);
  ASSERT_TRUE(committed) << committed.error().what;
  EXPECT_EQ(GetParam().render(), *committed)
      << "write the pages anew with: build/bin/tranche reference docs/reference";
}

std::string case_name(const testing::TestParamInfo<Case>& test) {
  std::string name = test.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Pages, ReferencePage,
                         testing::Values(Case{"flags", reference_flags},
                                         Case{"environment", reference_environment},
                                         Case{"config-file", reference_config_file}),
                         case_name);

}  // namespace
}  // namespace tranche::config::reference_test
