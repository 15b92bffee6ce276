#include "offer/unplanned_mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.h"

namespace tranche::offer::unplanned_mig_test {
namespace {

using config::MigStrategy;
using test::a100_40gb;
using test::machine_of;
using test::t4;
using ::testing::HasSubstr;

struct Row {
  const char* name;
  gpu::Machine machine;
  MigStrategy strategy;
  bool planned;
  std::vector<std::string> words;  // none: nothing is said
};

TEST(UnplannedMig, IsSaidOfMixturesThatNoLayoutNames) {
  const auto mixture = machine_of({a100_40gb(0), a100_40gb(1).mig({"1g.5gb"}), a100_40gb(2).mig()});
  const auto cut = machine_of({a100_40gb(0).mig({"1g.5gb"}), a100_40gb(1).mig({"2g.10gb"})});
  const std::vector<Row> rows = {
      {"mixture",
       mixture,
       MigStrategy::kMixed,
       false,
       {"GPU 0 advertised whole", "GPUs 1, 2 in MIG", "nvidia.com/mig.config"}},
      {"mixture by a layout", mixture, MigStrategy::kMixed, true, {}},
      {"several profiles", cut, MigStrategy::kMixed, false, {}},
      {"no MIG", machine_of({a100_40gb(0), a100_40gb(1)}), MigStrategy::kMixed, false, {}},
      {"a GPU that cannot have MIG",
       machine_of({a100_40gb(0).mig({"1g.5gb"}), t4(1)}),
       MigStrategy::kMixed,
       false,
       {}},
      {"single refuses by itself", mixture, MigStrategy::kSingle, false, {}},
      {"none", mixture, MigStrategy::kNone, false, {"GPUs 1, 2 in MIG mode", "migStrategy none"}},
      {"none, whatever a layout names", mixture, MigStrategy::kNone, true, {"migStrategy none"}},
      {"none without MIG", machine_of({a100_40gb(0)}), MigStrategy::kNone, false, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto text = unplanned_mig(row.machine, row.strategy, row.planned);
    EXPECT_EQ(text.empty(), row.words.empty()) << text;
    for (const auto& word : row.words) EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(UnplannedMig, TheOperatorsDefaultLabelPlansNothing) {
  EXPECT_FALSE(names_a_layout(""));
  EXPECT_FALSE(names_a_layout("all-disabled"));
  EXPECT_TRUE(names_a_layout("mixed-workload"));
}

}  // namespace
}  // namespace tranche::offer::unplanned_mig_test
