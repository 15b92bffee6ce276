// The line protocol: each command once, and lines that are wrong.

#include "lab/kubelet/commands.h"

#include <nlohmann/json.hpp>

#include "lab/kubelet_fixture.h"

namespace tranche::test::commands_test {
namespace {

using nlohmann::json;

class CommandsTest : public KubeletTest {
 protected:
  json run(std::string_view line) { return json::parse(lab::run_command(kubelet, line)); }
};

TEST_F(CommandsTest, DriveAPodThroughItsLife) {
  const auto plugin = connect({.devices = devices({"a", "b"})});
  EXPECT_TRUE(run(R"({"op":"wait","resource":"example.com/gpu","allocatable":2})").at("ok"));

  const json admitted =
      run(R"({"op":"admit","pod":"p","containers":[{"name":"c","limits":{"example.com/gpu":1}}]})");
  EXPECT_EQ(admitted.at("phase"), "Running");
  const json& given = admitted.at("containers").at("c").at("example.com/gpu");
  EXPECT_EQ(given.at("ids"), json::array({"a"}));
  EXPECT_EQ(given.at("answer").at("envs"), json({{"VISIBLE", "a"}}));
  EXPECT_EQ(given.at("answer").at("mounts").at(0).at("host_path"), "/out");
  EXPECT_EQ(given.at("answer").at("devices").at(0).at("permissions"), "rw");
  EXPECT_EQ(given.at("answer").at("cdi_devices"), json::array({"example.com/gpu=0"}));

  const json node = run(R"({"op":"node"})");
  EXPECT_EQ(node.at("resources").at("example.com/gpu"),
            json({{"capacity", 2}, {"allocatable", 2}, {"allocated", 1}, {"connected", true}}));
  const json again = run(R"({"op":"restart-container","pod":"p","container":"c"})");
  EXPECT_EQ(again.at("resources").at("example.com/gpu"), given);
  EXPECT_TRUE(run(R"({"op":"remove","pod":"p"})").at("ok"));
  EXPECT_FALSE(run(R"({"op":"remove","pod":"p"})").at("ok"));
}

TEST_F(CommandsTest, ARejectedPodIsAnAnswer) {
  const json answer =
      run(R"({"op":"admit","pod":"p","containers":[{"name":"c","limits":{"example.com/gpu":1}}]})");
  EXPECT_TRUE(answer.at("ok"));
  EXPECT_EQ(answer.at("phase"), "Failed");
  EXPECT_EQ(answer.at("reason"), "OutOfexample.com/gpu");
}

TEST_F(CommandsTest, ShowWhatThePluginSays) {
  const auto plugin =
      connect({.devices = {{.id = "a", .numa_nodes = {1}}}, .preferred = lab::Ids{"a"}});
  EXPECT_EQ(run(R"({"op":"devices","resource":"example.com/gpu"})").at("devices"),
            json::array({{{"id", "a"}, {"healthy", true}, {"numa_nodes", {1}}}}));
  const json registrations = run(R"({"op":"registrations"})");
  EXPECT_EQ(registrations.at("count"), 1);
  EXPECT_EQ(registrations.at("registrations").at(0).at("endpoint"), "example-gpu.sock");
  EXPECT_EQ(registrations.at("registrations").at(0).at("time"), 1'767'225'600.0);
  EXPECT_EQ(run(R"({"op":"stream-count"})").at("streams").at("example.com/gpu"),
            json({{"open", 1}, {"opened", 1}, {"lists", 1}}));
  const json raw = run(R"({"op":"allocate-raw","resource":"example.com/gpu","ids":["x","x"]})");
  EXPECT_EQ(raw.at("answer").at("envs").at("VISIBLE"), "x,x");
  EXPECT_EQ(run(R"({"op":"preferred-raw","resource":"example.com/gpu","available":["a"],"size":1})")
                .at("ids"),
            json::array({"a"}));
}

TEST_F(CommandsTest, StopStartAndFaults) {
  auto plugin = connect({.devices = devices({"a"})});
  EXPECT_TRUE(run(R"({"op":"stop"})").at("ok"));
  EXPECT_FALSE(std::filesystem::exists(kubelet.registration_socket()));
  EXPECT_TRUE(run(R"({"op":"start"})").at("ok"));
  EXPECT_FALSE(run(R"({"op":"start"})").at("ok"));
  EXPECT_TRUE(run(R"({"op":"restart"})").at("ok"));
  plugin.reset();
  EXPECT_TRUE(run(R"({"op":"fault","register":"error"})").at("ok"));
  FakePlugin other(plugins(), {.devices = devices({"a"})});
  EXPECT_FALSE(other.register_with_kubelet());
  EXPECT_TRUE(run(R"({"op":"fault","register":"none"})").at("ok"));
  EXPECT_TRUE(other.register_with_kubelet());
}

struct Case {
  const char* name;
  const char* line;
  const char* error;
};

class BadCommand : public CommandsTest, public testing::WithParamInterface<Case> {};

TEST_P(BadCommand, IsAnsweredWithTheReason) {
  const json answer = run(GetParam().line);
  EXPECT_FALSE(answer.at("ok"));
  EXPECT_NE(answer.at("error").get<std::string>().find(GetParam().error), std::string::npos)
      << answer;
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadCommand,
    testing::Values(
        Case{"not_json", "{", "parse error"}, Case{"no_object", "3", "type_error"},
        Case{"no_op", "{}", "key 'op' not found"},
        Case{"unknown_op", R"({"op":"x"})", "op x: unknown"},
        Case{"no_pod", R"({"op":"admit","containers":[]})", "key 'pod' not found"},
        Case{"wrong_count", R"({"op":"admit","pod":"p","containers":[{"name":"c","limits":3}]})",
             "type must be"},
        Case{"unknown_fault", R"({"op":"fault","register":"x"})", "register: x: unknown fault"},
        Case{"too_late", R"({"op":"wait","resource":"example.com/gpu","capacity":1,"timeout_s":0})",
             "not so after 0 s"},
        Case{"no_plugin", R"({"op":"allocate-raw","resource":"example.com/gpu"})",
             "no plugin is connected for example.com/gpu"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tranche::test::commands_test
