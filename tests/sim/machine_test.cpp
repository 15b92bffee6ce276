// Machine files: every shipped one is valid, and a wrong one gets an error with its place.

#include "sim/machine/machine.h"

#include <gmock/gmock.h>

#include <memory>

#include "base/fs.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/topology.h"
#include "sim/machine/identity.h"
#include "sim/machine/mig_tables.h"
#include "sim/state/build_state.h"
#include "support.h"

namespace tranche::sim::test::machine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<State> built(const MachineSpec& spec) {
  auto state = std::make_unique<State>();
  const auto result = build_state(spec, *state);
  EXPECT_TRUE(result) << result.error().message();
  return state;
}

TEST(MachineFiles, EveryShippedOneBuilds) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TRANCHE_SIM_MACHINES)) {
    const auto text = FsRoot().read(entry.path());
    ASSERT_TRUE(text);
    const auto spec = parse_machine(*text, entry.path().filename().string());
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(spec->name, entry.path().stem().string());
    built(*spec);
    ++files;
  }
  EXPECT_GE(files, 16U);
}

constexpr std::string_view kModel =
    "models: {t4: {name: Tesla T4, architecture: turing, compute_capability: '7.5', memory: 1Gi, "
    "sm: 40, pci_device: 1}, a100: {name: A100, compute_capability: '8.0', memory: 40Gi, sm: 108, "
    "pci_device: 2, mig: a100-40gb}}\n";

struct WrongCase {
  std::string name;
  std::string text;
  std::string message;
};

class WrongMachine : public ::testing::TestWithParam<WrongCase> {};

TEST_P(WrongMachine, IsRefused) {
  const auto spec = parse_machine(GetParam().text, "m.yaml");
  std::string message;
  if (!spec) {
    message = spec.error().message();
  } else {
    auto state = std::make_unique<State>();
    const auto result = build_state(*spec, *state);
    ASSERT_FALSE(result);
    message = result.error().message();
  }
  EXPECT_THAT(message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongMachine,
    ::testing::Values(
        WrongCase{"no_name", "gpus: []\n", "m.yaml:1: machine: missing"},
        WrongCase{"unknown_field", "machine: m\ngpu: []\n", "m.yaml:2: gpu: unknown field"},
        WrongCase{"not_a_map", "- 1\n", "expected a mapping"},
        WrongCase{"twice", "machine: m\nmachine: n\n",
                  "m.yaml:2: machine: written before in line 1"},
        WrongCase{"memory", "machine: m\nmodels: {x: {memory: big}}\n", "models.x.memory"},
        WrongCase{"no_such_model", "machine: m\ngpus: [{model: x}]\n", "gpus[0].model: unknown"},
        WrongCase{"pci", "machine: m\ngpus: [{model: t4, pci: here}]\n", "gpus[0].pci: expected"},
        WrongCase{"level", "machine: m\ntopology: {all: NEAR}\n", "topology.all: unknown"},
        WrongCase{
            "mig_on_t4",
            "machine: m\n" + std::string(kModel) + "gpus: [{model: t4, mig: {enabled: true}}]\n",
            "Tesla T4 has no MIG"},
        WrongCase{"mig_profile",
                  "machine: m\n" + std::string(kModel) +
                      "gpus: [{model: a100, mig: {enabled: true, instances: [9g.1gb]}}]\n",
                  "unknown value '9g.1gb'"},
        WrongCase{"mig_full",
                  "machine: m\n" + std::string(kModel) +
                      "gpus: [{model: a100, mig: {enabled: true, instances: [7g.40gb, 1g.5gb]}}]\n",
                  "no room for 1g.5gb"},
        WrongCase{"mig_off",
                  "machine: m\n" + std::string(kModel) +
                      "gpus: [{model: a100, mig: {instances: [1g.5gb]}}]\n",
                  "instances need enabled"},
        WrongCase{"pair", "machine: m\nnvlink: {pairs: [{a: 0, b: 1, links: 2}]}\n",
                  "no such pair"},
        WrongCase{"init_error", "machine: m\ndriver: {init_error: OOPS}\n",
                  "unknown value 'OOPS'"}),
    [](const auto& param) { return param.param.name; });

TEST(MachineFiles, AllComplaintsComeTogether) {
  const auto spec = parse_machine("a: 1\nb: 2\n", "m.yaml");
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message(), HasSubstr("m.yaml:1: a: unknown"));
  EXPECT_THAT(spec.error().message(), HasSubstr("m.yaml:2: b: unknown"));
}

std::vector<std::string> profile_names(const State& state, std::uint32_t gpu) {
  std::vector<std::string> names;
  for (const MigDevice device : mig_devices(state.gpus[gpu])) {
    names.push_back(mig_profile_name(state, state.gpus[gpu], device));
  }
  return names;
}

TEST(MachineFiles, MigInstancesArePlacedWhateverTheirOrder) {
  const auto spec = parse_machine(
      "machine: m\n" + std::string(kModel) +
          "gpus: [{model: a100, mig: {enabled: true, instances: [1g.5gb, 1c.2g.10gb, 3g.20gb, "
          "1g.5gb+me]}}]\n",
      "m.yaml");
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(profile_names(*built(*spec), 0),
              ::testing::UnorderedElementsAre("3g.20gb", "1c.2g.10gb", "1g.5gb", "1g.5gb+me"));
}

TEST(MachineFiles, MigInstancesTakeAStartAndSeveralComputeInstances) {
  const auto spec = parse_machine(
      "machine: m\n" + std::string(kModel) +
          "gpus: [{model: a100, mig: {enabled: true, instances: [3g.20gb@0, {profile: "
          "2g.10gb, start: 4, compute: [1, 1]}]}}]\n",
      "m.yaml");
  ASSERT_TRUE(spec) << spec.error().message();
  const auto state = built(*spec);
  EXPECT_THAT(profile_names(*state, 0), ElementsAre("3g.20gb", "1c.2g.10gb", "1c.2g.10gb"));
  EXPECT_EQ(state->gpus[0].instances[1].start, 0U);
  EXPECT_EQ(state->gpus[0].instances[5].start, 4U);
}

TEST(Uuids, AreStableAndWellFormed) {
  EXPECT_EQ(make_uuid("l20/0"), make_uuid("l20/0"));
  EXPECT_NE(make_uuid("l20/0"), make_uuid("l20/1"));
  EXPECT_THAT(make_uuid("l20/0"),
              ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                      "[0-9a-f]{12}"));
  EXPECT_EQ(uuid_bytes("GPU-12345678-1234-1234-1234-1234567800ff")[15], 0xFF);
}

TEST(Topology, FollowsTheGroups) {
  const World world("gpus-16");
  const auto sim = world.open();
  EXPECT_EQ(topology_level(sim->state(), 0, 0), 0U);
  EXPECT_EQ(topology_level(sim->state(), 0, 1), 10U);
  EXPECT_EQ(topology_level(sim->state(), 0, 2), 20U);
  EXPECT_EQ(topology_level(sim->state(), 0, 4), 40U);
  EXPECT_EQ(topology_level(sim->state(), 0, 8), 50U);
}

}  // namespace
}  // namespace tranche::sim::test::machine_test
