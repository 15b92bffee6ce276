// Drives a Server over its socket with a plain gRPC client, as kubelet would.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/fs.h"
#include "deviceplugin/server.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::deviceplugin::server_service_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ResourceState state_of(int replicas, const std::string& unhealthy = "") {
  ResourceState state;
  state.offer.name = state.offer.base = {"nvidia.com/gpu"};
  state.offer.endpoint = "nvidia-gpu.sock";
  state.offer.fail_requests_greater_than_one = true;
  if (replicas > 1) state.offer.sharing = config::SharingStrategy::kTimeSlicing;
  state.offer.replicas = replicas;
  state.offer.devices.push_back({.uuid = "GPU-a",
                                 .index = "0",
                                 .gpu_uuid = "GPU-a",
                                 .numa_node = 0,
                                 .paths = {"/dev/nvidia0"},
                                 .unhealthy_reason = unhealthy});
  for (int i = 0; i < replicas; ++i) {
    state.offer.tranches.push_back(
        {replicas > 1 ? offer::replica_id("GPU-a", i) : std::string("GPU-a"), 0});
  }
  return state;
}

class ServerTest : public testing::Test {
 protected:
  ServerTest()
      : socket_(dir_.path() / "nvidia-gpu.sock"),
        resource_(state_of(2), [this](const offer::Grant& grant) -> Result<void> {
          if (store_fails_) return fail(Code::kIo, "disk full");
          const std::scoped_lock lock(mutex_);
          stored_.push_back(grant);
          return {};
        }) {
    server_ = start().value();
    stub_ = v1beta1::DevicePlugin::NewStub(
        grpc::CreateChannel("unix:" + socket_.string(), grpc::InsecureChannelCredentials()));
  }

  Result<std::unique_ptr<Server>> start(bool take_over = false) {
    return Server::start({.socket = socket_, .take_over = take_over}, resource_, log_.log());
  }

  std::vector<offer::Grant> stored() {
    const std::scoped_lock lock(mutex_);
    return stored_;
  }

  grpc::Status allocate(const std::vector<std::string>& ids, v1beta1::AllocateResponse& answer) {
    grpc::ClientContext context;
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (const auto& id : ids) container.add_devices_ids(id);
    return stub_->Allocate(&context, request, &answer);
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  std::filesystem::path socket_;
  // The store is called on gRPC's threads.
  std::atomic<bool> store_fails_ = false;
  std::mutex mutex_;
  std::vector<offer::Grant> stored_;
  Resource resource_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

TEST_F(ServerTest, OffersPreferredAllocation) {
  grpc::ClientContext context;
  v1beta1::DevicePluginOptions options;
  ASSERT_TRUE(stub_->GetDevicePluginOptions(&context, {}, &options).ok());
  EXPECT_TRUE(options.get_preferred_allocation_available());
  EXPECT_FALSE(options.pre_start_required());
}

TEST_F(ServerTest, AWithheldTrancheIsListedAsUnhealthy) {
  auto state = state_of(2);
  state.offer.tranches[1].withheld = true;
  resource_.publish(state);
  grpc::ClientContext context;
  const auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  ASSERT_EQ(list.devices_size(), 2);
  EXPECT_EQ(list.devices(0).health(), "Healthy");
  EXPECT_EQ(list.devices(1).health(), "Unhealthy");
}

TEST_F(ServerTest, SendsTheListAtOnceAndAgainWhenItChanges) {
  grpc::ClientContext context;
  const auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  ASSERT_EQ(list.devices_size(), 2);
  EXPECT_EQ(list.devices(0).id(), "GPU-a::0");
  EXPECT_EQ(list.devices(0).health(), "Healthy");
  ASSERT_EQ(list.devices(0).topology().nodes_size(), 1);
  EXPECT_EQ(list.devices(0).topology().nodes(0).id(), 0);

  resource_.publish(state_of(2));  // no change: nothing is sent
  resource_.publish(state_of(3, "XID 79"));
  ASSERT_TRUE(stream->Read(&list));
  ASSERT_EQ(list.devices_size(), 3);
  EXPECT_EQ(list.devices(2).health(), "Unhealthy");
  context.TryCancel();
}

TEST_F(ServerTest, StreamsEndWhenTheServerStops) {
  grpc::ClientContext context;
  const auto stream = stub_->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  server_.reset();
  EXPECT_FALSE(stream->Read(&list));
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(ServerTest, AllocatesAndStoresBeforeItAnswers) {
  v1beta1::AllocateResponse answer;
  ASSERT_TRUE(allocate({"GPU-a::1"}, answer).ok());
  ASSERT_EQ(answer.container_responses_size(), 1);
  EXPECT_EQ(answer.container_responses(0).envs().at("NVIDIA_VISIBLE_DEVICES"), "GPU-a");
  ASSERT_EQ(stored().size(), 1U);
  EXPECT_THAT(stored()[0].ids, ElementsAre("GPU-a::1"));
}

TEST_F(ServerTest, RefusesWithNvidiasWordsAsUnknown) {
  v1beta1::AllocateResponse answer;
  const auto unknown = allocate({"GPU-b::0"}, answer);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(unknown.error_message(),
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-b::0");
  const auto two = allocate({"GPU-a::0", "GPU-a::1"}, answer);
  EXPECT_THAT(two.error_message(),
              HasSubstr("maximum request size for shared resources is 1; found 2"));
  EXPECT_TRUE(stored().empty());
}

TEST_F(ServerTest, AGrantThatCannotBeStoredIsNotGiven) {
  store_fails_ = true;
  v1beta1::AllocateResponse answer;
  const auto status = allocate({"GPU-a::0"}, answer);
  EXPECT_THAT(status.error_message(), HasSubstr("disk full"));
}

TEST_F(ServerTest, AnswersOneResponsePerContainerRequest) {
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("GPU-a::0");
  request.add_container_requests()->add_devices_ids("GPU-a::1");
  v1beta1::AllocateResponse answer;
  ASSERT_TRUE(stub_->Allocate(&context, request, &answer).ok());
  EXPECT_EQ(answer.container_responses_size(), 2);
}

TEST_F(ServerTest, PrefersOverTheWire) {
  grpc::ClientContext context;
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.add_available_deviceids("GPU-a::0");
  container.add_available_deviceids("GPU-a::1");
  container.set_allocation_size(1);
  v1beta1::PreferredAllocationResponse answer;
  ASSERT_TRUE(stub_->GetPreferredAllocation(&context, request, &answer).ok());
  EXPECT_THAT(answer.container_responses(0).deviceids(), ElementsAre("GPU-a::0"));
}

TEST_F(ServerTest, DoesNotTakeASocketThatAnswers) {
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().hint, HasSubstr("--take-over"));
  v1beta1::AllocateResponse answer;
  EXPECT_TRUE(allocate({"GPU-a::0"}, answer).ok()) << "the first one still serves";
}

TEST_F(ServerTest, TakesOverWhenToldAndTheOldOneLeavesTheNewSocketAlone) {
  const auto second = start(true);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_FALSE(server_->socket_intact());
  EXPECT_TRUE((*second)->socket_intact());
  server_.reset();
  EXPECT_TRUE((*second)->socket_intact());
}

TEST_F(ServerTest, ReplacesASocketThatNobodyAnswers) {
  server_.reset();
  ASSERT_TRUE(FsRoot(dir_.path()).write_atomic("/nvidia-gpu.sock", "left behind"));
  EXPECT_TRUE(start());
}

TEST_F(ServerTest, SeesThatItsSocketWasDeleted) {
  EXPECT_TRUE(server_->socket_intact());
  std::filesystem::remove(socket_);
  EXPECT_FALSE(server_->socket_intact());
}

TEST_F(ServerTest, APathTooLongIsAClearError) {
  const auto server = Server::start(
      {.socket = dir_.path() / std::string(120, 'x') / "nvidia-gpu.sock"}, resource_, log_.log());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kInvalidArgument);
  EXPECT_THAT(server.error().hint, HasSubstr("--kubelet-root"));
}

TEST_F(ServerTest, AStreamEndsWithTheNewestListHoweverOftenItChanges) {
  grpc::ClientContext context;
  const auto stream = stub_->ListAndWatch(&context, {});
  for (int i = 3; i <= 200; ++i) resource_.publish(state_of(i));
  v1beta1::ListAndWatchResponse list;
  while (list.devices_size() != 200) ASSERT_TRUE(stream->Read(&list));
  context.TryCancel();
}

TEST_F(ServerTest, EveryStreamGetsTheList) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>>> streams;
  v1beta1::ListAndWatchResponse list;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub_->ListAndWatch(contexts.back().get(), {}));
    ASSERT_TRUE(streams.back()->Read(&list));
  }
  contexts[1]->TryCancel();
  resource_.publish(state_of(3));
  ASSERT_TRUE(streams[0]->Read(&list));
  EXPECT_EQ(list.devices_size(), 3);
  ASSERT_TRUE(streams[2]->Read(&list));
  EXPECT_EQ(list.devices_size(), 3);
  contexts[0]->TryCancel();
  contexts[2]->TryCancel();
}

TEST_F(ServerTest, EndsWhileItIsAskedAndWhileTheListChanges) {
  std::vector<std::jthread> threads;
  std::atomic<int> answered{0};
  for (int c = 0; c < 4; ++c) {
    threads.emplace_back([&] {
      v1beta1::AllocateResponse answer;
      while (allocate({"GPU-a::0"}, answer).ok()) {
        ++answered;
        answered.notify_all();
      }
    });
  }
  grpc::ClientContext context;
  const auto stream = stub_->ListAndWatch(&context, {});
  threads.emplace_back([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) resource_.publish(state_of(2 + i % 3));
  });
  for (int seen = 0; seen < 20; seen = answered) answered.wait(seen);
  server_.reset();
  threads.back().request_stop();
  threads.clear();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(ServerTest, ManyClientsWhileTheListChanges) {
  std::vector<std::jthread> clients;
  std::atomic<int> good{0};
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        v1beta1::PreferredAllocationRequest request;
        auto& container = *request.add_container_requests();
        container.add_available_deviceids("GPU-a::0");
        container.set_allocation_size(1);
        v1beta1::PreferredAllocationResponse answer;
        good += stub_->GetPreferredAllocation(&context, request, &answer).ok() ? 1 : 0;
      }
    });
  }
  for (int i = 0; i < 50; ++i) resource_.publish(state_of(2 + i % 3));
  clients.clear();
  EXPECT_EQ(good, 200);
}

}  // namespace
}  // namespace tranche::deviceplugin::server_service_test
