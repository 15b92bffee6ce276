#include "deviceplugin/wire.h"

#include <gtest/gtest.h>

#include <vector>

#include "offer/list_size.h"
#include "support/machines.h"

namespace tranche::deviceplugin::wire_test {
namespace {

struct Row {
  const char* name;
  std::string uuid;
  int replicas;
  std::optional<int> numa;
};

// offer/ counts the bytes of what is written here.
TEST(ListSize, IsThatOfTheMessage) {
  const std::vector<Row> rows = {
      {"whole", test::gpu_uuid(0), 1, 0},
      {"without NUMA", test::gpu_uuid(0), 7, std::nullopt},
      {"NUMA node 0", test::gpu_uuid(0), 1'234, 0},
      {"another NUMA node", test::gpu_uuid(0), 20'000, 3},
      {"a large number", test::mig_uuid(0, 3), 101, 300},
      {"long", std::string(130, 'x'), 11, 1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    offer::ResourceOffer resource;
    resource.devices.push_back(
        {.uuid = row.uuid, .numa_node = row.numa, .unhealthy_reason = "XID 79"});
    for (int i = 0; i < row.replicas; ++i) {
      resource.tranches.push_back(
          {row.replicas > 1 ? offer::replica_id(row.uuid, i) : row.uuid, 0});
    }
    const offer::Listed listed{&resource.devices[0], row.replicas};
    EXPECT_EQ(offer::list_bytes({&listed, 1}), to_wire(resource).ByteSizeLong());
  }
}

}  // namespace
}  // namespace tranche::deviceplugin::wire_test
