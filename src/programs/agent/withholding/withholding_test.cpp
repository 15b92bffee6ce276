#include "agent/withholding/withholding.h"

#include <gtest/gtest.h>

#include "agent/withholding/held_standing.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::withholding_test {
namespace {

using test::gpu_uuid;

// One GPU of 1000 MiB, half of which a container was granted under another name.
class WithholdingInputTest : public testing::Test {
 protected:
  WithholdingInputTest() {
    kubelet_.go_away(true);
    machine_.gpus[0].memory = Bytes::from_mib(1000);
    follow(2, {"nvidia.com/gpu.shared"});
    offer::Grant half{.resource = {"nvidia.com/gpu.shared"},
                      .ids = {offer::replica_id(gpu_uuid(0), 0)},
                      .envs = {}};
    half.tenant = "t";
    half.limits = {.enforcement = Enforcement::kStrict,
                   .devices = {{.uuid = gpu_uuid(0), .memory = Bytes::from_mib(500)}}};
    EXPECT_TRUE(book_.reserve(half));
    book_.commit(half);
  }
  // How many of `replicas` tranches are withheld.
  std::size_t follow(int replicas, config::ResourceName name = {"nvidia.com/gpu"}) {
    config::ReplicatedResource entry;
    entry.name = {"nvidia.com/gpu"};
    entry.replicas = replicas;
    if (name != entry.name) entry.rename = name;
    State state;
    state.machine = machine_;
    state.config.sharing.time_slicing = {.resources = {entry}};
    state.config.tranche.limits.general = {.enforcement = Enforcement::kStrict};
    const auto wished = offer::make_offer(machine_, state.config, {});
    input_.look(wished, state);
    const auto held = withhold_what_is_held(state, wished).held;
    return held.empty() ? 0 : held[0].withheld;
  }

  gpu::Machine machine_ = test::machine_of({test::l20(0)});
  test::FakeClock clock_;
  test::LogRecorder log_;
  test::FakePodResources kubelet_;
  HolderAnswers answers_{kubelet_, clock_};
  Book book_{clock_};
  Result<std::optional<DeviceLimits>> now_ = fail(Code::kInvalidArgument, "torn");
  WithholdingInput input_{book_,
                          kubelet_,
                          {.book = book_,
                           .answers = answers_,
                           .clock = clock_,
                           .log = log_.log(),
                           .look_again = [] {},
                           .renew_checkpoint = [] {}},
                          [this](const holdings::Holding& /*holding*/) { return now_; }};
};

TEST_F(WithholdingInputTest, APartThatCannotBeReadCountsAsItWasGranted) {
  EXPECT_EQ(follow(4), 2U);
  now_ = DeviceLimits{.uuid = gpu_uuid(0), .memory = Bytes::from_mib(250), .weight = 250};
  EXPECT_EQ(follow(4), 1U) << "as it is enforced now";
  now_ = std::nullopt;
  EXPECT_EQ(follow(4), 1U) << "it is not limited any more";
}

TEST_F(WithholdingInputTest, NothingIsKeptByWhoseLimitsFollow) {
  EXPECT_EQ(follow(4, {"nvidia.com/gpu.shared"}), 0U);
}

}  // namespace
}  // namespace tranche::agent::withholding_test
