// Drives a Server over its sockets with a plain gRPC client, as kubelet would.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "dra/server.h"
#include "kubelet/proto/dra_health.grpc.pb.h"
#include "kubelet/proto/dra_health_v1.grpc.pb.h"
#include "kubelet/proto/dra_v1.grpc.pb.h"
#include "kubelet/proto/dra_v1beta1.grpc.pb.h"
#include "kubelet/proto/pluginregistration.grpc.pb.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::dra::server_service_test {
namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kUid = "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a";
constexpr const char* kShare = "7d0a2b1e-93c4-4d52-8f7e-5a6b7c8d9e0f";

// Prepares each claim with one share, and refuses those named "bad".
class OneShare final : public Driver {
 public:
  Result<PreparedClaim> prepare(const ClaimName& claim) override {
    if (claim.name == "bad") return fail(Code::kNotFound, "this node has no such device");
    return PreparedClaim{.ns = claim.ns,
                         .name = claim.name,
                         .uid = claim.uid,
                         .devices = {{.request = "gpu",
                                      .pool = "gpu-n1",
                                      .device = "gpu-0",
                                      .share_id = claim.name == "whole" ? "" : kShare,
                                      .uuid = "GPU-1"}}};
  }
  Result<void> unprepare(const ClaimName& claim) override {
    if (claim.name == "bad") return fail(Code::kIo, "disk full");
    const std::scoped_lock lock(mutex_);
    ended_.push_back(claim.uid);
    return {};
  }
  std::vector<std::string> ended() {
    const std::scoped_lock lock(mutex_);
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> ended_;
};

class DriverServerTest : public testing::Test {
 protected:
  DriverServerTest() {
    std::filesystem::create_directories(registration_.parent_path());
    server_ = Server::start(
                  {.driver = "gpu.nvidia.com", .socket = socket_, .registration = registration_},
                  driver_, health_,
                  [this](Result<void> result) {
                    const std::scoped_lock lock(mutex_);
                    told_.push_back(result ? "taken" : result.error().message());
                  },
                  log_.log())
                  .value();
  }

  template <class Service>
  static auto stub(const std::filesystem::path& socket) {
    return Service::NewStub(
        grpc::CreateChannel("unix:" + socket.string(), grpc::InsecureChannelCredentials()));
  }
  template <class Request>
  static Request claims(std::initializer_list<const char*> names) {
    Request request;
    for (const char* name : names) {
      auto& claim = *request.add_claims();
      claim.set_namespace_("team");
      claim.set_name(name);
      claim.set_uid(std::string(name) == "bad" ? "bad-uid" : kUid);
    }
    return request;
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  OneShare driver_;
  HealthBoard health_;
  std::filesystem::path socket_ = dir_.path() / "plugins" / "gpu.nvidia.com" / "dra.sock";
  std::filesystem::path registration_ = dir_.path() / "registry" / "gpu.nvidia.com-reg.sock";
  std::mutex mutex_;
  std::vector<std::string> told_;
  std::unique_ptr<Server> server_;
};

TEST_F(DriverServerTest, PreparesEachClaimOfACallSeparately) {
  grpc::ClientContext context;
  v1::NodePrepareResourcesResponse answer;
  ASSERT_TRUE(stub<v1::DRAPlugin>(socket_)
                  ->NodePrepareResources(
                      &context, claims<v1::NodePrepareResourcesRequest>({"c", "bad"}), &answer)
                  .ok());
  ASSERT_EQ(answer.claims().size(), 2U) << "kubelet wants every claim answered";
  EXPECT_THAT(answer.claims().at("bad-uid").error(), HasSubstr("no such device"));
  const auto& good = answer.claims().at(kUid);
  EXPECT_EQ(good.error(), "");
  ASSERT_EQ(good.devices_size(), 1);
  const auto& device = good.devices(0);
  EXPECT_THAT(device.request_names(), ElementsAre("gpu"));
  EXPECT_EQ(device.pool_name(), "gpu-n1");
  EXPECT_EQ(device.device_name(), "gpu-0");
  EXPECT_EQ(device.share_id(), kShare);
  EXPECT_THAT(device.cdi_device_ids(),
              ElementsAre(std::string("k8s.gpu.nvidia.com/claim=") + kUid + "-gpu-0-" + kShare));
}

TEST_F(DriverServerTest, AWholeDeviceHasNoShare) {
  grpc::ClientContext context;
  v1::NodePrepareResourcesResponse answer;
  ASSERT_TRUE(stub<v1::DRAPlugin>(socket_)
                  ->NodePrepareResources(
                      &context, claims<v1::NodePrepareResourcesRequest>({"whole"}), &answer)
                  .ok());
  EXPECT_FALSE(answer.claims().at(kUid).devices(0).has_share_id());
}

TEST_F(DriverServerTest, ServesThePreviousVersion) {
  grpc::ClientContext context;
  v1beta1::NodePrepareResourcesResponse answer;
  ASSERT_TRUE(stub<v1beta1::DRAPlugin>(socket_)
                  ->NodePrepareResources(
                      &context, claims<v1beta1::NodePrepareResourcesRequest>({"c"}), &answer)
                  .ok());
  EXPECT_EQ(answer.claims().at(kUid).devices(0).device_name(), "gpu-0");
}

TEST_F(DriverServerTest, UndoesEachClaimOfACallSeparately) {
  grpc::ClientContext context;
  v1::NodeUnprepareResourcesResponse answer;
  ASSERT_TRUE(stub<v1::DRAPlugin>(socket_)
                  ->NodeUnprepareResources(
                      &context, claims<v1::NodeUnprepareResourcesRequest>({"bad", "c"}), &answer)
                  .ok());
  EXPECT_THAT(answer.claims().at("bad-uid").error(), HasSubstr("disk full"));
  EXPECT_EQ(answer.claims().at(kUid).error(), "");
  EXPECT_THAT(driver_.ended(), ElementsAre(kUid));
}

TEST_F(DriverServerTest, RegistersAndReportsKubeletsAnswer) {
  const auto kubelet = stub<pluginregistration::Registration>(registration_);
  pluginregistration::PluginInfo info;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(kubelet->GetInfo(&context, {}, &info).ok());
  }
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "gpu.nvidia.com");
  EXPECT_EQ(info.endpoint(), socket_.string());
  EXPECT_THAT(info.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                          "v1alpha1.DRAResourceHealth"));
  for (const bool taken : {false, true}) {
    grpc::ClientContext context;
    pluginregistration::RegistrationStatus status;
    pluginregistration::RegistrationStatusResponse answer;
    status.set_plugin_registered(taken);
    if (!taken) status.set_error("endpoint in use");
    ASSERT_TRUE(kubelet->NotifyRegistrationStatus(&context, status, &answer).ok());
  }
  const std::scoped_lock lock(mutex_);
  EXPECT_THAT(told_,
              ElementsAre("kubelet refuses driver gpu.nvidia.com: endpoint in use", "taken"));
}

// The service has one name up to Kubernetes 1.36, and another from 1.37 on.
template <class Names>
class HealthStreamTest : public DriverServerTest {};

struct Alpha {
  using Service = v1alpha1::DRAResourceHealth;
  using Message = v1alpha1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = v1alpha1::HEALTHY;
  static constexpr auto kUnhealthy = v1alpha1::UNHEALTHY;
};
struct Stable {
  using Service = ::v1::DRAResourceHealth;
  using Message = ::v1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = ::v1::HEALTHY;
  static constexpr auto kUnhealthy = ::v1::UNHEALTHY;
};
using HealthServices = testing::Types<Alpha, Stable>;
TYPED_TEST_SUITE(HealthStreamTest, HealthServices);

TYPED_TEST(HealthStreamTest, HasEveryDeviceAsItChanges) {
  const auto at = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  this->health_.set({{"gpu-n1", "gpu-0"}, {"gpu-n1", "gpu-1"}}, at);
  this->health_.note_taken({});
  const std::chrono::steady_clock::time_point later{std::chrono::hours(1)};
  EXPECT_TRUE(this->health_.goes_unasked(later));
  grpc::ClientContext context;
  const auto kubelet = this->template stub<typename TypeParam::Service>(this->socket_);
  const auto stream = kubelet->NodeWatchResources(&context, {});
  typename TypeParam::Message message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_FALSE(this->health_.goes_unasked(later));
  ASSERT_EQ(message.devices_size(), 2);
  EXPECT_EQ(message.devices(0).device().pool_name(), "gpu-n1");
  EXPECT_EQ(message.devices(0).device().device_name(), "gpu-0");
  EXPECT_EQ(message.devices(0).health(), TypeParam::kHealthy);
  EXPECT_EQ(message.devices(0).last_updated_time(), 1'700'000'000);
  this->health_.set({{"gpu-n1", "gpu-0", "XID 79"}, {"gpu-n1", "gpu-1"}}, at);
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.devices(0).health(), TypeParam::kUnhealthy);
  EXPECT_EQ(message.devices(0).message(), "XID 79");
  EXPECT_EQ(message.devices(1).health(), TypeParam::kHealthy);
  this->server_.reset();
  EXPECT_FALSE(stream->Read(&message)) << "the stream ends with its server";
}

// Killed agents leave their sockets, and kubelet tries each again and again.
TEST_F(DriverServerTest, RemovesDeadSockets) {
  const auto folder = registration_.parent_path();
  const auto dead = folder / "gpu.nvidia.com-gone-reg.sock";
  const auto other = folder / "other.example.com-gone-reg.sock";
  for (const auto& path : {dead, other}) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(fd);
  }
  const auto second = Server::start({.driver = "gpu.nvidia.com",
                                     .socket = dir_.path() / "plugins" / "second.sock",
                                     .registration = folder / "gpu.nvidia.com-second-reg.sock"},
                                    driver_, health_, {}, log_.log());
  ASSERT_TRUE(second);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(server_->intact());
}

// Kubelet tries every file in the folder, except names that begin with a dot.
TEST_F(DriverServerTest, LeavesNoFileInKubeletsFolder) {
  EXPECT_TRUE(server_->intact());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(registration_.parent_path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("gpu.nvidia.com-reg.sock"));
  std::filesystem::remove(registration_);
  EXPECT_FALSE(server_->intact());
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
}

}  // namespace
}  // namespace tranche::dra::server_service_test
