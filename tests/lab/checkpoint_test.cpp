#include "lab/kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include "lab/fake_plugin.h"

namespace tranche::lab::checkpoint_test {
namespace {

Checkpoint sample() {
  const Pod pod{.name = "a",
                .containers = {{.name = "c", .limits = {{"example.com/gpu", 2}}}},
                .init_containers = {{.name = "i"}},
                .pod_namespace = "ns",
                .uid = "uid-1"};
  Checkpoint checkpoint{.ledger = {}, .registered = {{"example.com/gpu", {"x", "y"}}}};
  checkpoint.ledger.add_pod(pod);
  checkpoint.ledger.insert("uid-1", "c", "example.com/gpu",
                           {.ids = {"x", "y"}, .answer = test::expected_answer({"x", "y"})});
  return checkpoint;
}

TEST(Checkpoint, ComesBackAsItWasWritten) {
  const auto read = parse_checkpoint(to_text(sample()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->registered, sample().registered);
  const auto entry = read->ledger.find("uid-1");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->containers, sample().ledger.find("uid-1")->containers);
  EXPECT_EQ(entry->pod.name, "a");
  EXPECT_EQ(entry->pod.pod_namespace, "ns");
  EXPECT_EQ(entry->pod.containers.at(0).limits.at("example.com/gpu"), 2);
  EXPECT_EQ(entry->pod.init_containers.at(0).name, "i");
}

TEST(Checkpoint, HasKubeletsShape) {
  const std::string text = to_text(sample());
  for (const char* key :
       {"\"Data\"", "\"Checksum\"", "\"PodDeviceEntries\"", "\"PodUID\"", "\"ContainerName\"",
        "\"ResourceName\"", "\"DeviceIDs\":{\"-1\":[", "\"AllocResp\"", "\"RegisteredDevices\""})
    EXPECT_NE(text.find(key), std::string::npos) << key;
}

struct Case {
  const char* name;
  std::string text;
};

class BadCheckpoint : public testing::TestWithParam<Case> {};

TEST_P(BadCheckpoint, IsRefused) {
  const auto read = parse_checkpoint(GetParam().text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(read.error().what.starts_with("checkpoint is corrupted: ")) << read.error().what;
}

std::string changed() {
  std::string text = to_text(sample());
  text.replace(text.find("\"x\""), 3, "\"z\"");
  return text;
}

INSTANTIATE_TEST_SUITE_P(Table, BadCheckpoint,
                         testing::Values(Case{"empty", ""}, Case{"not_json", "{"},
                                         Case{"no_data", "{}"},
                                         Case{"wrong_type", R"({"Data":1,"Checksum":"x"})"},
                                         Case{"changed", changed()}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tranche::lab::checkpoint_test
