#include "mig/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/mig_tables.h"
#include "support/fake_clock.h"
#include "support/fake_mig_control.h"

namespace tranche::mig::apply_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr auto kForever = std::chrono::steady_clock::time_point::max();
const gpu::GpuUuid kGpu{"GPU-1"};
const gpu::GpuUuid kOther{"GPU-2"};

Instance small(int start) { return {.profile_id = 19, .placement = {start, 1}, .compute = {1}}; }
Instance large(int start, std::vector<int> compute = {3}) {
  return {.profile_id = 9, .placement = {start, 4}, .compute = std::move(compute)};
}
GpuLayout with(std::vector<Instance> instances) {
  return {.enabled = true, .instances = std::move(instances)};
}
const GpuLayout kOff{};

// Two GPUs of a model.
struct Node {
  explicit Node(const char* model, test::FakeMigGpu gpu = {}) {
    const auto* known = gpu::find_mig_model(model);
    gpu.geometry = known->geometry;
    gpu.mode_needs_reset = known->mode_needs_reset.value_or(false);
    for (const auto& uuid : {kGpu, kOther}) {
      const int index = static_cast<int>(machine.gpus.size());
      gpu.pci = {.bus = static_cast<std::uint32_t>(index + 1)};
      machine.gpus.push_back({.index = index,
                              .uuid = uuid,
                              .pci = gpu.pci,
                              .compute_capability = {gpu.mode_needs_reset ? 8 : 9, 0},
                              .mig_mode = gpu::MigMode::kDisabled,
                              .mig_geometry = known->geometry});
      control.add(uuid, gpu);
    }
  }

  Result<void> apply(const Layout& to, int tries = 1, const Watcher& watcher = {}) {
    return mig::apply(to, {control, reset, machine, users, quiet, from}, watcher, until, clock,
                      stop.get_token(), {.tries = tries, .wait = std::chrono::milliseconds(0)});
  }
  Result<void> apply(const GpuLayout& to, int tries = 1) {
    return apply(Layout{{kGpu, to}}, tries);
  }
  GpuLayout layout(const gpu::GpuUuid& gpu = kGpu) const { return layout_of(control.state(gpu)); }
  // Without the readings, from call number `first`.
  std::vector<std::string> changes(std::size_t first = 0) const {
    auto calls = control.calls();
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(first));
    std::erase_if(calls, [](const std::string& call) { return call.starts_with("read"); });
    return calls;
  }

  test::FakeMigControl control;
  test::FakeGpuReset reset{control};
  gpu::Machine machine;
  std::function<DeviceUsers(const gpu::Gpu&, std::optional<int>)> users;
  std::function<Result<std::shared_ptr<void>>(bool, const std::stop_token&)> quiet;
  const Layout* from = nullptr;
  std::chrono::steady_clock::time_point until = kForever;
  test::FakeClock clock;
  std::stop_source stop;
};

TEST(Apply, UsersOfTheDriverAreQuietFromTheFirstStepToTheLastWhereTheModeChanges) {
  for (const auto* model : {"a100-80gb", "h100-80gb"}) {
    Node node(model);
    std::weak_ptr<void> quiet;
    std::vector<bool> asked;  // whether a GPU will be reset
    node.quiet = [&](bool reset, const std::stop_token&) {
      asked.push_back(reset);
      auto held = std::make_shared<int>();
      quiet = held;
      return held;
    };
    const Watcher watcher{
        .step = [&](const Step&, std::size_t, std::size_t) { EXPECT_FALSE(quiet.expired()); }};
    ASSERT_TRUE(node.apply({{kGpu, with({large(0)})}}, 1, watcher));
    EXPECT_THAT(asked, testing::ElementsAre(mode_needs_reset(node.machine.gpus.front()))) << model;
    EXPECT_TRUE(quiet.expired());
    ASSERT_TRUE(node.apply({{kGpu, with({large(4)})}}, 1));
    EXPECT_EQ(asked.size(), 1U) << "the mode stays as it is";
  }
}

TEST(Apply, UsersOfTheDriverStayQuietBetweenTwoTries) {
  Node node("a100-80gb");
  std::weak_ptr<void> quiet;
  int asked = 0;
  node.quiet = [&](bool, const std::stop_token&) {
    auto held = std::make_shared<int>(++asked);
    quiet = held;
    return held;
  };
  node.control.fault_at(2, test::MigFault::kFails);  // the first is a reading
  ASSERT_TRUE(node.apply({{kGpu, with({large(0)})}}, 2));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(quiet.expired());
}

TEST(Apply, NothingIsTouchedWhereAUserOfTheDriverDoesNotLetGo) {
  Node node("a100-80gb");
  int asked = 0;
  node.quiet = [&](bool, const std::stop_token&) -> Result<std::shared_ptr<void>> {
    ++asked;
    return fail(Code::kTimeout, "the arbiter does not let go");
  };
  const auto applied = node.apply(with({large(0)}), 3);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().what, HasSubstr("the arbiter does not let go"));
  EXPECT_THAT(node.changes(), IsEmpty());
  EXPECT_EQ(asked, 1) << "its deadline was patience enough";
}

TEST(Apply, BringsAGpuToItsLayout) {
  Node node("h100-80gb");
  const auto to = with({large(0), small(4), small(6)});
  ASSERT_TRUE(node.apply(to));
  EXPECT_EQ(node.layout(), to);
  EXPECT_EQ(node.layout(kOther), kOff) << "nobody spoke of it";
}

TEST(Apply, AnExistingLayoutIsOnlyRead) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({small(0)})));
  const auto before = node.control.calls().size();
  ASSERT_TRUE(node.apply(with({small(0)})));
  EXPECT_THAT(node.changes(before), IsEmpty());
}

TEST(Apply, KeptInstancesStayInUse) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({large(0), small(4)})));
  const int kept = node.control.state(kGpu).instances[0].id;
  const int made = node.control.made(kGpu, kept);
  node.control.hold(kGpu, kept, 0);
  ASSERT_TRUE(node.apply(with({large(0), small(5)})));
  EXPECT_EQ(node.control.made(kGpu, kept), made);
}

TEST(Apply, AGpuInstanceStaysWhenItsComputeInstancesChange) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({large(0)})));
  const auto before = node.control.calls().size();
  ASSERT_TRUE(node.apply(with({large(0, {2, 1})})));
  EXPECT_EQ(node.layout(), with({large(0, {2, 1})}));
  EXPECT_THAT(node.changes(before),
              AllOf(Not(testing::Contains(HasSubstr("gpu_instance"))), SizeIs(3)))
      << "the driver is asked for free places only";
}

TEST(Apply, AComputeInstanceIsMadeInAGapThatOthersLeft) {
  Node node("h100-80gb");
  node.control.set_state(kGpu, {.enabled = true,
                                .pending = true,
                                .instances = {{.id = 1,
                                               .profile_id = 9,
                                               .placement = {0, 4},
                                               .compute = {{.id = 0, .slices = 1, .start = 0},
                                                           {.id = 2, .slices = 1, .start = 2}}}}});
  ASSERT_TRUE(node.apply(with({large(0, {1, 1, 1})})));
  EXPECT_THAT(node.changes(), SizeIs(1)) << "the driver is asked for free places only";
  EXPECT_EQ(node.control.state(kGpu).instances[0].compute[1].start, 1);
}

TEST(Apply, AComputeInstanceIsMadeWhereTheDriverTakesIt) {
  Node node("h100-80gb", {.compute_aligned = true});
  node.control.set_state(kGpu, {.enabled = true,
                                .pending = true,
                                .instances = {{.id = 0,
                                               .profile_id = 0,
                                               .placement = {0, 8},
                                               .compute = {{.id = 0, .slices = 1, .start = 0}}}}});
  const auto to = with({{.profile_id = 0, .placement = {0, 8}, .compute = {1, 2}}});
  node.control.fail_calls("create_compute", {Code::kUnavailable, "Unknown Error"});
  ASSERT_FALSE(node.apply(to));
  EXPECT_THAT(node.changes(), SizeIs(1)) << "of another trouble no other place is the cure";
  node.control.heal();
  ASSERT_TRUE(node.apply(to));
  EXPECT_EQ(node.control.state(kGpu).instances[0].compute[1].start, 2);
}

TEST(Apply, ComputeInstancesInTheWayAreRecreated) {
  Node node("h100-80gb");
  node.control.set_state(kGpu, {.enabled = true,
                                .pending = true,
                                .instances = {{.id = 1,
                                               .profile_id = 9,
                                               .placement = {0, 4},
                                               .compute = {{.id = 0, .slices = 1, .start = 1}}}}});
  const auto done = node.apply(with({large(0, {2, 1})}), 2);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(node.layout(), with({large(0, {2, 1})}));
}

// An instance that only gets more is left alone, and so is one that was already recreated.
TEST(Apply, ComputeInstancesAreRecreatedOnceIfALargerOneFindsNoPlace) {
  Node node("h100-80gb");
  using gpu::GpuInstance;
  const GpuInstance crowded{.id = 1, .profile_id = 9, .placement = {0, 4}, .compute = {{0, 1, 1}}};
  const GpuInstance roomy{.id = 2, .profile_id = 9, .placement = {4, 4}, .compute = {{0, 1, 0}}};
  const GpuInstance whole{
      .id = 0, .profile_id = 0, .placement = {0, 8}, .compute = {{0, 1, 1}, {1, 1, 4}}};
  node.control.set_state(kGpu, {.enabled = true, .pending = true, .instances = {crowded, roomy}});
  node.control.set_state(kOther, {.enabled = true, .pending = true, .instances = {whole}});
  node.control.hold(kGpu, roomy.id, 0);
  // The second GPU fails once when the first is done.
  int begun = 0;
  const Watcher watcher{.step = [&](const Step& step, std::size_t, std::size_t) {
    if (step.gpu != kOther || step.kind != Step::Kind::kCreateCompute || step.compute != 2) return;
    if (++begun == 1) node.control.hold(kGpu, crowded.id, 0);
    if (begun == 2) node.control.fail_calls("create_compute", {Code::kUnavailable, "Unknown"});
    if (begun == 3) node.control.heal();
  }};
  const Layout to{{kGpu, with({large(0, {2, 1}), large(4, {1, 1})})},
                  {kOther, with({{.profile_id = 0, .placement = {0, 8}, .compute = {1, 1, 3}}})}};
  const auto done = node.apply(to, 5, watcher);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(node.layout(), with({large(0, {2, 1}), large(4, {1, 1})}));
  EXPECT_EQ(begun, 3) << "it finds no place, fails, and is made";
}

TEST(Apply, TheWatcherSeesEachStepBeforeItIsTaken) {
  Node node("h100-80gb");
  std::vector<std::string> seen;
  const Watcher watcher{.step = [&](const Step& step, std::size_t done, std::size_t all) {
    seen.push_back(describe(step, node.machine.gpus[0].mig_geometry, 0) + " " +
                   std::to_string(done) + "/" + std::to_string(all));
  }};
  ASSERT_TRUE(node.apply({{kGpu, with({small(0)})}}, 3, watcher));
  EXPECT_THAT(seen, ElementsAre("turn MIG mode on: GPU 0 0/3", "create 1g.10gb at 0 of GPU 0 1/3",
                                "create a compute instance (1c) in 1g.10gb at 0 of GPU 0 2/3"));
}

TEST(Apply, GpusComeInTheOrderOfTheirIndices) {
  Node node("h100-80gb");
  std::swap(node.machine.gpus[0].index, node.machine.gpus[1].index);
  ASSERT_TRUE(node.apply({{kGpu, with({})}, {kOther, with({})}}));
  EXPECT_THAT(node.changes(), ElementsAre("set_mode on GPU-2", "set_mode on GPU-1"));
}

TEST(Apply, TheDriverThatResetsByItselfNeedsNoReset) {
  Node node("a100-80gb");
  ASSERT_TRUE(node.apply(with({})));
  EXPECT_THAT(node.changes(), ElementsAre("set_mode on GPU-1"));
}

TEST(Apply, AModeThatIsPendingGetsAReset) {
  Node node("a100-80gb", {.mode_resets_itself = false});
  ASSERT_TRUE(node.apply(with({small(0)})));
  EXPECT_EQ(node.layout(), with({small(0)}));
  EXPECT_EQ(node.changes()[1], "reset GPU-1");
  ASSERT_TRUE(node.apply(kOff));
  EXPECT_EQ(node.layout(), kOff);
}

TEST(Apply, AnUnknownModelThatNeedsAResetGetsOneToo) {
  Node node("a100-80gb", {.mode_resets_itself = false});
  for (auto& gpu : node.machine.gpus) gpu.compute_capability = {};
  ASSERT_TRUE(node.apply(with({small(0)})));
  EXPECT_EQ(node.layout(), with({small(0)}));
}

TEST(Apply, ProcessesThatHaveTheGpuOpenAreNamed) {
  Node node("a100-80gb");
  node.control.hold(kGpu);
  node.users = [](const gpu::Gpu& gpu, std::optional<int> instance) {
    EXPECT_EQ(instance, std::nullopt);
    return DeviceUsers{.names = {"python (pid 4711) on GPU " + std::to_string(gpu.index)}};
  };
  const auto done = node.apply(with({}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().message(),
              AllOf(HasSubstr("turn MIG mode on: GPU 0"), HasSubstr("python (pid 4711)")));
}

TEST(Apply, AHeldGpuIsNotResetAndIsNamed) {
  Node node("a100-80gb", {.mode_resets_itself = false});
  node.users = [](const gpu::Gpu&, std::optional<int>) {
    return DeviceUsers{.names = {"dcgm (pid 3)"}};
  };
  node.control.fail_calls("reset", {Code::kFailedPrecondition, "in use by another client"});
  const auto done = node.apply(with({}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, AllOf(HasSubstr("reset GPU 0"), HasSubstr("dcgm (pid 3)")));
}

TEST(Apply, UsersOfALeavingInstanceAreNamed) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({small(0), small(1)})));
  const auto instances = node.control.state(kGpu).instances;
  node.control.hold(kGpu, instances[1].id, instances[1].compute[0].id);
  node.users = [&](const gpu::Gpu&, std::optional<int> instance) {
    EXPECT_EQ(instance, instances[1].id);
    return DeviceUsers{.names = {"python (pid 7, no Pod: python train.py)"}};
  };
  const auto done = node.apply(with({small(0)}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().what, HasSubstr("python (pid 7, no Pod: python train.py)"));
}

TEST(Apply, UnseenUsersAreMentioned) {
  Node node("a100-80gb");
  node.control.hold(kGpu);
  node.users = [](const gpu::Gpu&, std::optional<int>) {
    return DeviceUsers{.names = {}, .unseen = "processes of other Pods cannot be seen"};
  };
  const auto done = node.apply(with({}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("processes of other Pods cannot be seen"));
}

TEST(Apply, APendingModeIsRevertedByTheUndo) {
  Node node("a100-80gb");
  node.control.hold(kGpu);
  ASSERT_FALSE(node.apply(with({})));
  EXPECT_TRUE(node.control.state(kGpu).pending);
  ASSERT_TRUE(node.apply(kOff));
  EXPECT_FALSE(node.control.state(kGpu).pending);
}

TEST(Apply, WhereNothingResetsTheGpuTheErrorSpeaksOfARebootAndIsNotTriedAgain) {
  Node node("a100-80gb", {.no_reset = true});
  const auto done = node.apply(with({}), 3);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnsupported);
  EXPECT_THAT(done.error().message(),
              AllOf(HasSubstr("passed through"), HasSubstr("nvidia-smi -i 0 -mig 1"),
                    HasSubstr("reboot this machine")));
  EXPECT_EQ(node.changes().size(), 1U);
}

TEST(Apply, AForeignPendingModeIsReportedAndRestoredByTheUndo) {
  Node node("a100-80gb", {.no_reset = true});
  node.control.set_state(kGpu, {.enabled = false, .pending = true});
  const Layout had{{kGpu, node.layout()}, {kOther, node.layout(kOther)}};
  const Layout to{{kGpu, with({})}, {kOther, with({})}};
  const auto done = node.apply(to, 3);
  ASSERT_FALSE(done);
  EXPECT_THAT(
      done.error().message(),
      HasSubstr("MIG mode on of GPU 0 is already waiting for a reboot: reboot this machine, "
                "then apply"));
  node.control.set_state(kGpu, {.enabled = false, .pending = false});
  ASSERT_TRUE(node.apply(had)) << "also where it was lost on the way";
  EXPECT_TRUE(node.control.state(kGpu).pending);
  EXPECT_FALSE(node.control.state(kOther).pending);
}

TEST(Apply, AModeSetByThisChangeIsNotForeign) {
  Node node("a100-80gb", {.no_reset = true});
  const Layout had{{kGpu, kOff}};
  node.from = &had;
  node.control.hold(kGpu);
  ASSERT_FALSE(node.apply(with({})));
  ASSERT_TRUE(node.control.state(kGpu).pending);
  node.control.release(kGpu);
  const auto done = node.apply(with({}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("nvidia-smi -i 0 -mig 1"));
}

TEST(Apply, NobodyIsQuietedForARevertedPendingMode) {
  Node node("a100-80gb");
  node.control.set_state(kGpu, {.enabled = false, .pending = true});
  node.quiet = [](bool, const std::stop_token&) -> Result<std::shared_ptr<void>> {
    return fail(Code::kTimeout, "it does not let go");
  };
  EXPECT_TRUE(node.apply(kOff));
  EXPECT_FALSE(node.control.state(kGpu).pending);
}

TEST(Apply, TheWayBackKeepsAModeSetInBetween) {
  Node node("a100-80gb");
  ASSERT_TRUE(node.apply(with({})));
  const Layout from{{kGpu, with({})}, {kOther, kOff}};
  const Layout to{{kGpu, with({small(0)})}, {kOther, with({})}};
  node.control.set_state(kGpu, {.enabled = true, .pending = false});
  node.control.set_state(kOther, {.enabled = false, .pending = true});
  const auto back = way_back(from, to, node.control);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->at(kGpu).waits) << "the change has not touched its mode";
  EXPECT_FALSE(back->at(kOther).waits) << "the change has, or may have";
}

TEST(Layout, WhichModesARebootExplains) {
  const GpuLayout on = with({small(0)});
  const GpuLayout on_waits{.enabled = false, .instances = {}, .waits = true};
  const GpuLayout off_waits{.enabled = true, .instances = {}, .waits = true};
  struct Case {
    const char* name;
    GpuLayout before;
    bool now, ampere, hopper;
  };
  for (const auto& [name, before, now, ampere, hopper] : std::initializer_list<Case>{
           {"on stays on", on, true, true, true},
           {"on goes off", on, false, false, true},
           {"off stays off", kOff, false, true, true},
           {"off goes on", kOff, true, false, false},
           {"on waited, and came", on_waits, true, true, true},
           {"on waited, and did not come", on_waits, false, false, true},
           {"off waited, and came", off_waits, false, true, true},
       }) {
    EXPECT_EQ(explained_by_reboot(before, now, true), ampere) << name;
    EXPECT_EQ(explained_by_reboot(before, now, false), hopper) << name;
  }
}

TEST(Apply, TheRebootHintIsForTheWantedMode) {
  Node node("a100-80gb", {.mode_resets_itself = false});
  node.control.fail_calls("reset", {Code::kUnsupported, "it cannot be reset here"});
  for (const bool on : {true, false}) {
    // `node.machine` still has the mode off.
    node.control.set_state(kGpu, {.enabled = !on, .pending = !on, .instances = {}});
    const auto done = node.apply(on ? with({}) : kOff);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kUnsupported);
    EXPECT_THAT(done.error().hint, HasSubstr(on ? "nvidia-smi -i 0 -mig 1" : "-mig 0"));
  }
}

TEST(Apply, ForeignChangesDoNotBlock) {
  using Kind = Step::Kind;
  const auto state_of = [](std::vector<gpu::GpuInstance> instances) {
    return gpu::MigState{.enabled = true, .pending = true, .instances = std::move(instances)};
  };
  const gpu::GpuInstance goes{
      .id = 1, .profile_id = 9, .placement = {0, 4}, .compute = {{0, 3, 0}}};
  // An instance of another profile in the place of the new one, with the id of the removed one.
  gpu::GpuInstance strange{.id = 1, .profile_id = 5, .placement = {0, 4}, .compute = {{0, 4, 0}}};
  const struct {
    const char* name;
    Kind before;
    gpu::MigState then;
  } cases[] = {
      {"its compute instance is gone", Kind::kDestroyCompute,
       state_of({{.id = 1, .profile_id = 9, .placement = {0, 4}, .compute = {}}})},
      {"it is gone", Kind::kDestroyGpuInstance, state_of({})},
      {"its id is another one's", Kind::kDestroyGpuInstance, state_of({strange})},
      {"its place is taken", Kind::kCreateGpuInstance, state_of({strange})},
      {"the new one is there", Kind::kCreateGpuInstance,
       state_of({{.id = 7, .profile_id = 19, .placement = {0, 1}, .compute = {}}})},
      {"MIG mode is off", Kind::kCreateGpuInstance, {}},
  };
  for (const auto& one : cases) {
    Node node("h100-80gb");
    node.control.set_state(kGpu, state_of({goes}));
    bool done = false;
    const Watcher watcher{.step = [&](const Step& step, std::size_t, std::size_t) {
      if (step.kind == one.before && !done) node.control.set_state(kGpu, one.then);
      done = done || step.kind == one.before;
    }};
    const auto applied = node.apply({{kGpu, with({small(0)})}}, 3, watcher);
    ASSERT_TRUE(applied) << one.name << ": " << applied.error().message();
    EXPECT_EQ(node.layout(), with({small(0)})) << one.name;
  }
}

TEST(Apply, AFailedStepIsRetried) {
  Node node("h100-80gb");
  node.control.fault_at(3, test::MigFault::kFails);
  ASSERT_TRUE(node.apply(with({large(0), large(4)}), 2));
  EXPECT_EQ(node.layout(), with({large(0), large(4)}));
}

TEST(Apply, AnErrorNamesStepGpuAndCause) {
  Node node("h100-80gb");
  node.control.fail_calls("create_gpu_instance", {Code::kUnavailable, "Unknown Error"});
  const auto done = node.apply(with({large(4)}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what,
              testing::StartsWith("create 3g.40gb at 4 of GPU 0: Unknown Error"));
}

TEST(Apply, AHeldLeavingInstanceIsAnErrorAndOthersStay) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({large(0), small(4)})));
  node.control.hold(kGpu, node.control.state(kGpu).instances[0].id, 0);
  const auto done = node.apply(with({small(4)}), 3);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(node.layout(), with({large(0), small(4)}));
}

TEST(Apply, AGpuInstanceThatCannotBeDestroyedIsNamed) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({large(0)})));
  node.control.fail_calls("destroy_gpu_instance", {Code::kFailedPrecondition, "In use"});
  const auto done = node.apply(with({}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(done.error().what,
              AllOf(HasSubstr("destroy 3g.40gb at 0 of GPU 0"), HasSubstr("In use")));
}

TEST(Apply, WithoutMigNothingIsTried) {
  Node node("h100-80gb");
  node.control.fail_calls("read", {Code::kUnsupported, "the GPU has no MIG"});
  const auto done = node.apply(with({small(0)}), 3);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnsupported);
  EXPECT_THAT(node.changes(), IsEmpty());
}

TEST(Apply, IsLeftBetweenTwoStepsWhenItsTimeIsOver) {
  Node node("h100-80gb");
  node.until = node.clock.now() + std::chrono::seconds(5);
  const Watcher watcher{.step = [&](const Step&, std::size_t, std::size_t) {
    node.clock.advance(std::chrono::seconds(3));
  }};
  const auto done = node.apply({{kGpu, with({small(0)})}}, 3, watcher);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTimeout);
  EXPECT_EQ(node.changes().size(), 2U);
  node.until = kForever;
  ASSERT_TRUE(node.apply(with({small(0)}))) << "who comes next goes on from there";
}

TEST(Apply, StopsBetweenTwoSteps) {
  Node node("h100-80gb");
  const Watcher watcher{
      .step = [&](const Step&, std::size_t, std::size_t) { node.stop.request_stop(); }};
  const auto done = node.apply({{kGpu, with({small(0)})}}, 3, watcher);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTimeout);
  EXPECT_EQ(node.changes().size(), 1U);
}

TEST(Apply, ALastStepInTheLastMomentIsNoFailure) {
  Node node("h100-80gb");
  node.until = node.clock.now() + std::chrono::seconds(1);
  const Watcher watcher{.step = [&](const Step&, std::size_t, std::size_t) {
    node.clock.advance(std::chrono::seconds(1));
  }};
  EXPECT_TRUE(node.apply({{kGpu, with({})}}, 3, watcher));
}

TEST(ReadLayout, IsWhatTheGpusHave) {
  Node node("h100-80gb");
  ASSERT_TRUE(node.apply(with({small(2)})));
  EXPECT_EQ(*read_layout(node.control, {kGpu, kOther}),
            (Layout{{kGpu, with({small(2)})}, {kOther, kOff}}));
  node.control.fail_calls("read GPU-2", {Code::kTimeout, "hangs"});
  const auto read = read_layout(node.control, {kGpu, kOther});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("GPU-2"));
}

}  // namespace
}  // namespace tranche::mig::apply_test
