#include "config/file/fields.h"

#include <gtest/gtest.h>

namespace tranche::config::fields_test {
namespace {

TEST(Fields, KeysOfEveryMapping) {
  using Keys = std::vector<std::string_view>;
  EXPECT_EQ(keys_under(""), (Keys{"version", "flags", "imex", "resources", "sharing", "tranche"}));
  EXPECT_EQ(keys_under("imex"), (Keys{"channelIDs", "required"}));
  EXPECT_EQ(keys_under("resources"), (Keys{"gpus", "mig"}));
  EXPECT_EQ(keys_under("resources.gpus[]"), (Keys{"pattern", "name"}));
  EXPECT_EQ(keys_under("sharing"), (Keys{"timeSlicing", "mps"}));
  EXPECT_EQ(keys_under("sharing.mps"),
            (Keys{"renameByDefault", "failRequestsGreaterThanOne", "resources"}));
  EXPECT_EQ(keys_under("sharing.mps.resources[]"), (Keys{"name", "rename", "devices", "replicas"}));
  EXPECT_EQ(keys_under("flags.gfd"),
            (Keys{"oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"}));
  EXPECT_EQ(keys_under("flags.migStrategy"), Keys{});
}

}  // namespace
}  // namespace tranche::config::fields_test
