#include "cli/layout/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/mig_tables.h"
#include "support/fake_clock.h"
#include "support/fake_mig_control.h"
#include "support/temp_dir.h"

namespace tranche::cli::layout_change_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Wishes = std::map<gpu::GpuUuid, mig::GpuWish>;
const gpu::GpuUuid kGpu{"GPU-1"};
const gpu::GpuUuid kOther{"GPU-2"};

mig::GpuWish wish(std::map<std::string, int> devices) {
  return {.enabled = true, .devices = std::move(devices)};
}

// Two A100 with 80 GB.
struct Node {
  explicit Node(bool no_reset = false) {
    const auto* model = gpu::find_mig_model("a100-80gb");
    for (const auto& uuid : {kGpu, kOther}) {
      const int index = static_cast<int>(machine.gpus.size());
      const gpu::PciAddress pci{.bus = static_cast<std::uint32_t>(index + 1)};
      machine.gpus.push_back({.index = index,
                              .uuid = uuid,
                              .name = "A100",
                              .pci = pci,
                              .compute_capability = {8, 0},
                              .mig_mode = gpu::MigMode::kDisabled,
                              .mig_geometry = model->geometry});
      control.add(uuid, {.pci = pci,
                         .geometry = model->geometry,
                         .mode_needs_reset = true,
                         .no_reset = no_reset});
    }
  }
  Result<LayoutChange> plan(const Wishes& wishes) {
    const auto cut_off = journal.load();
    if (!cut_off) return std::unexpected(cut_off.error());
    return plan_layout(wishes, machine, control, *cut_off);
  }
  LayoutEnd take(const Wishes& wishes) {
    const auto change = plan(wishes);
    if (!change) return {.trouble = change.error(), .undo_trouble = {}};
    return take_layout(*change, "one",
                       {.hardware = {control, reset, machine},
                        .journal = journal,
                        .clock = clock,
                        .watcher = {},
                        .retries = {.tries = 2, .wait = std::chrono::milliseconds(0)}});
  }
  std::string layout(const gpu::GpuUuid& gpu = kGpu) {
    return describe(mig::layout_of(control.state(gpu)), machine.gpus[0].mig_geometry);
  }
  // Reads the devices into the machine.
  void see_devices() {
    for (auto& gpu : machine.gpus) {
      gpu.mig_instances.clear();
      const auto state = control.state(gpu.uuid);
      for (const auto& instance : state.instances) {
        gpu.mig_instances.push_back(
            {.uuid = {"MIG-" + std::to_string(instance.id)}, .gpu_instance_id = instance.id});
      }
    }
  }

  test::TempDir dir;
  JournalFile journal{FsRoot(dir.path()), "/state/layout.json"};
  test::FakeMigControl control;
  test::FakeGpuReset reset{control};
  gpu::Machine machine;
  test::FakeClock clock;
};

TEST(LayoutChange, BringsTheWishAndLeavesNoJournal) {
  Node node;
  const auto end = node.take({{kGpu, wish({{"3g.40gb", 1}, {"1g.10gb", 2}})}});
  EXPECT_FALSE(end.trouble) << end.trouble->message();
  EXPECT_EQ(node.layout(), "3g.40gb, 1g.10gb x 2");
  EXPECT_EQ(*node.journal.load(), std::nullopt);
}

TEST(LayoutChange, IsShownGpuByGpu) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 1}, {"1g.10gb", 1}})}}).trouble);
  const auto change =
      node.plan({{kGpu, wish({{"3g.40gb", 1}, {"2g.20gb", 1}})}, {kOther, {.enabled = false}}});
  ASSERT_TRUE(change);
  EXPECT_THAT(show(*change, node.machine),
              AllOf(HasSubstr("GPU 0 (A100): 3g.40gb, 1g.10gb -> 3g.40gb, 2g.20gb\n"),
                    HasSubstr("  goes   1g.10gb at "), HasSubstr("  stays  3g.40gb at "),
                    HasSubstr("  comes  2g.20gb at "), HasSubstr("GPU 1 (A100): stays MIG off\n")));
  const auto off = node.plan({{kGpu, {.enabled = false}}});
  EXPECT_THAT(show(*off, node.machine), HasSubstr("MIG mode goes off; the GPU is reset for it\n"));
}

TEST(LayoutChange, APendingModeIsReverted) {
  Node node;
  node.control.set_state(kGpu, {.enabled = false, .pending = true, .instances = {}});
  const Wishes off{{kGpu, {.enabled = false, .devices = {}}}};
  EXPECT_EQ(show(*node.plan(off), node.machine),
            "GPU 0 (A100): MIG off (MIG mode on waits for a reset) -> MIG off\n  MIG mode on, "
            "which waits for a reset, is taken back\n");
  EXPECT_FALSE(node.take(off).trouble);
  EXPECT_FALSE(node.control.state(kGpu).pending);
  EXPECT_THAT(node.plan(off)->change.steps, IsEmpty());
}

TEST(LayoutChange, AFailedChangeKeepsAForeignPendingMode) {
  const Wishes wishes{{kGpu, wish({{"1g.10gb", 7}})}, {kOther, wish({{"1g.10gb", 7}})}};
  struct Case {
    const char* name;
    bool first, second;  // the mode was set before
    const char* hint;    // of the dry run
  };
  for (const auto& [name, first, second, hint] : std::initializer_list<Case>{
           {"both wait", true, true,
            "MIG mode on of GPU 0, 1 is already waiting for a reboot: reboot this machine, then "
            "apply"},
           {"one waits", true, false, "`nvidia-smi -i 0,1 -mig 1` and reboot"},
           {"the other waits", false, true, "`nvidia-smi -i 0,1 -mig 1` and reboot"},
           {"none waits", false, false, "`nvidia-smi -i 0,1 -mig 1` and reboot"},
       }) {
    Node node(true);
    node.control.set_state(kGpu, {.enabled = false, .pending = first});
    node.control.set_state(kOther, {.enabled = false, .pending = second});
    const auto looked = check_resets(*node.plan(wishes), node.machine);
    ASSERT_FALSE(looked) << name;
    EXPECT_THAT(looked.error().message(),
                AllOf(HasSubstr("nothing can reset GPU 0, 1 on this machine"), HasSubstr(hint)))
        << name;
    const auto end = node.take(wishes);
    ASSERT_TRUE(end.trouble && !end.undo_trouble) << name;
    EXPECT_EQ(node.control.state(kGpu).pending, first) << name;
    EXPECT_EQ(node.control.state(kOther).pending, second) << name;
    EXPECT_EQ(*node.journal.load(), std::nullopt) << name;
    node.control.reboot();
    if (!first || !second) continue;
    EXPECT_FALSE(node.take(wishes).trouble) << name;
  }
}

TEST(LayoutChange, WhereGpusCanBeResetADryRunRefusesNothing) {
  Node node;
  EXPECT_TRUE(check_resets(*node.plan({{kGpu, wish({{"1g.10gb", 7}})}}), node.machine));
}

TEST(LayoutChange, AFailureIsUndone) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 2}})}}).trouble);
  node.control.fail_calls("create_gpu_instance 19", {Code::kUnavailable, "Unknown Error"});
  const auto end = node.take({{kGpu, wish({{"3g.40gb", 1}, {"1g.10gb", 3}})}});
  ASSERT_TRUE(end.trouble);
  EXPECT_THAT(end.trouble->what, HasSubstr("create 1g.10gb"));
  EXPECT_FALSE(end.undo_trouble);
  EXPECT_EQ(node.layout(), "3g.40gb x 2");
  EXPECT_EQ(*node.journal.load(), std::nullopt);
}

TEST(LayoutChange, StoppingRestoresTheOldLayout) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 2}})}}).trouble);
  const auto change = node.plan({{kGpu, wish({{"1g.10gb", 7}})}});
  std::stop_source stop;
  const auto end = take_layout(
      *change, "one",
      {.hardware = {node.control, node.reset, node.machine},
       .journal = node.journal,
       .clock = node.clock,
       .watcher = {.step = [&](const mig::Step&, std::size_t done,
                               std::size_t) { return done == 3 && stop.request_stop(); }},
       .retries = {},
       .stop = stop.get_token()});
  EXPECT_TRUE(end.trouble);
  EXPECT_FALSE(end.undo_trouble);
  EXPECT_EQ(node.layout(), "3g.40gb x 2");
  EXPECT_EQ(*node.journal.load(), std::nullopt);
}

TEST(LayoutChange, AFailedUndoKeepsTheJournalAndTheNextCallContinues) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 2}})}}).trouble);
  node.control.fail_calls("create_gpu_instance", {Code::kUnavailable, "Unknown Error"});
  const auto end = node.take({{kGpu, wish({{"1g.10gb", 7}})}});
  EXPECT_TRUE(end.trouble && end.undo_trouble);
  const auto journal = *node.journal.load();
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->phase, mig::Journal::Phase::kUndoing);
  EXPECT_THAT(journal->trouble, HasSubstr("Unknown Error"));
  node.control.heal();
  EXPECT_FALSE(node.take({{kGpu, wish({{"1g.10gb", 7}})}}).trouble);
  EXPECT_EQ(node.layout(), "1g.10gb x 7");
  EXPECT_EQ(*node.journal.load(), std::nullopt);
}

// Kills a change of the first GPU at its call number `n`.
void kill_at(Node& node, int n) {
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 2}})}}).trouble);
  node.control.fault_at(n, test::MigFault::kKilledDone);
  EXPECT_THROW((void)node.take({{kGpu, wish({{"1g.10gb", 7}})}}), test::Killed);
}

TEST(LayoutChange, AKilledChangeIsFinishedByTheSameCall) {
  Node node;
  kill_at(node, 8);
  EXPECT_FALSE(node.take({{kGpu, wish({{"1g.10gb", 7}})}}).trouble);
  EXPECT_EQ(node.layout(), "1g.10gb x 7");
}

TEST(LayoutChange, AKilledChangeIsUndoneByACallForAnotherGpu) {
  Node node;
  kill_at(node, 8);
  EXPECT_FALSE(node.take({{kOther, wish({{"1g.10gb", 1}})}}).trouble);
  EXPECT_EQ(node.layout(), "3g.40gb x 2");
  EXPECT_EQ(node.layout(kOther), "1g.10gb");
}

TEST(LayoutChange, AFailureAfterAKilledChangeRestoresTheOriginalLayout) {
  Node node;
  kill_at(node, 8);
  node.control.fail_calls("create_gpu_instance 14", {Code::kUnavailable, "Unknown Error"});
  const auto end = node.take({{kGpu, wish({{"2g.20gb", 3}})}});
  EXPECT_TRUE(end.trouble);
  EXPECT_FALSE(end.undo_trouble);
  EXPECT_EQ(node.layout(), "3g.40gb x 2");
}

TEST(LayoutChange, WithoutAPlaceForItsJournalNothingIsChanged) {
  Node node;
  ASSERT_TRUE(FsRoot(node.dir.path()).write_atomic("/state", "a file"));
  const auto change = plan_layout({{kGpu, wish({})}}, node.machine, node.control, std::nullopt);
  const auto end = take_layout(*change, "one",
                               {.hardware = {node.control, node.reset, node.machine},
                                .journal = node.journal,
                                .clock = node.clock,
                                .watcher = {},
                                .retries = {}});
  ASSERT_TRUE(end.trouble);
  EXPECT_THAT(end.trouble->what, testing::StartsWith("nothing was changed: "));
  EXPECT_EQ(node.layout(), "MIG off");
}

TEST(LayoutChange, ATornJournalIsNamed) {
  Node node;
  ASSERT_TRUE(FsRoot(node.dir.path()).make_directories("/state"));
  ASSERT_TRUE(FsRoot(node.dir.path()).write_atomic("/state/layout.json", "{"));
  const auto end = node.take({{kGpu, wish({})}});
  ASSERT_TRUE(end.trouble);
  EXPECT_THAT(end.trouble->message(), AllOf(HasSubstr("/state/layout.json"), HasSubstr("remove")));
}

struct Users {
  Result<std::vector<std::string>> operator()(std::vector<std::string> uuids) {
    asked.insert(asked.end(), uuids.begin(), uuids.end());
    return found;
  }
  std::vector<std::string>& asked;
  Result<std::vector<std::string>> found;
};

TEST(LayoutUsers, OnlyOfLeavingDevicesAreReadAndNamed) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 1}, {"1g.10gb", 1}})}}).trouble);
  node.see_devices();
  const auto change = node.plan({{kGpu, wish({{"3g.40gb", 1}})}});
  const int small = node.control.state(kGpu).instances[0].profile_id == 19
                        ? node.control.state(kGpu).instances[0].id
                        : node.control.state(kGpu).instances[1].id;
  std::vector<std::string> asked;
  EXPECT_TRUE(check_unused(*change, node.machine, Users{asked, std::vector<std::string>{}}));
  EXPECT_THAT(asked, ElementsAre("MIG-" + std::to_string(small)));
  const auto used =
      check_unused(*change, node.machine, Users{asked, std::vector<std::string>{"python (pid 7)"}});
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(used.error().what, HasSubstr("GPU 0: python (pid 7)"));
}

// Two adjacent slices are free only where the present one is.
TEST(LayoutUsers, OfAComputeInstanceThatMustMakeRoomAreNamed) {
  Node node;
  ASSERT_FALSE(node.take({{kGpu, wish({{"3g.40gb", 1}})}}).trouble);
  const int instance = node.control.state(kGpu).instances[0].id;
  ASSERT_TRUE(node.control.destroy_compute_instance(kGpu, instance, 0));
  ASSERT_TRUE(node.control.create_compute_instance(kGpu, instance, 1, 1));
  node.see_devices();
  const auto change = node.plan({{kGpu, wish({{"1c.3g.40gb", 1}, {"2c.3g.40gb", 1}})}});
  std::vector<std::string> asked;
  EXPECT_FALSE(check_unused(*change, node.machine,
                            Users{asked, std::vector<std::string>{"python (pid 7)"}}));
  EXPECT_THAT(asked, ElementsAre("MIG-" + std::to_string(instance)));
  EXPECT_THAT(show(*change, node.machine), HasSubstr("  goes   1c.3g.40gb at 4\n"));
}

TEST(LayoutUsers, ForAnotherModeTheGpuItselfIsAsked) {
  Node node;
  std::vector<std::string> asked;
  const auto change = node.plan({{kGpu, wish({})}, {kOther, {.enabled = false}}});
  EXPECT_TRUE(check_unused(*change, node.machine, Users{asked, std::vector<std::string>{}}));
  EXPECT_THAT(asked, ElementsAre("GPU-1"));
}

TEST(LayoutUsers, UnreadableUsersAreNotTakenForNone) {
  Node node;
  std::vector<std::string> asked;
  const auto change = node.plan({{kGpu, wish({})}});
  const auto used =
      check_unused(*change, node.machine, Users{asked, fail(Code::kTimeout, "hangs")});
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, Code::kTimeout);
}

}  // namespace
}  // namespace tranche::cli::layout_change_test
