#include "kubelet/pod_resources_proxy.h"

#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "kubelet/channel.h"
#include "kubelet/proto/podresources.grpc.pb.h"
#include "kubelet/socket_server.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::kubelet::pod_resources_proxy_test {
namespace {

constexpr const char* kGpu = "GPU-8f1b2c3d-0000-4000-8000-000000000001";
constexpr const char* kMig = "MIG-8f1b2c3d-0000-4000-8000-000000000002";

// Kubelet with one answer to all.
class Kubelet final : public v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* answer) override {
    *answer = all;
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* answer) override {
    for (const auto& pod : all.pod_resources()) {
      if (pod.name() == request->pod_name()) *answer->mutable_pod_resources() = pod;
    }
    return answer->has_pod_resources() ? grpc::Status::OK
                                       : grpc::Status(grpc::StatusCode::NOT_FOUND, "no such pod");
  }
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* answer) override {
    *answer->mutable_devices() = all.pod_resources(0).containers(0).devices();
    answer->add_cpu_ids(7);
    return grpc::Status::OK;
  }

  v1::ListPodResourcesResponse all;
};

class PodResourcesProxyTest : public testing::Test {
 protected:
  PodResourcesProxyTest() {
    auto proxy = PodResourcesProxy::start(
        {.socket = dir_.path() / "proxy.sock", .kubelets = kubelets_},
        {.claimed =
             [](const cluster::ObjectKey& claim, const AllocatedDevice& device) {
               const bool is_ours = claim.ns == "team" && claim.name == "half" &&
                                    device.device == "gpu-0" && device.share_id == "s";
               return is_ours ? std::vector<std::string>{kGpu} : std::vector<std::string>();
             },
         .has_ended = [](const std::string&, const std::string& pod) { return pod == "done"; }},
        log_.log());
    EXPECT_TRUE(proxy) << proxy.error().message();
    proxy_ = *std::move(proxy);
  }
  void start() {
    auto server =
        SocketServer::start({.socket = kubelets_, .kind = "kubelet"}, {&kubelet_}, {}, log_.log());
    ASSERT_TRUE(server) << server.error().message();
    server_ = *std::move(server);
  }
  v1::ContainerResources& container(const std::string& pod) {
    auto& made = *kubelet_.all.add_pod_resources();
    made.set_name(pod);
    made.set_namespace_("team");
    auto& one = *made.add_containers();
    one.set_name("main");
    return one;
  }
  static void give(v1::ContainerResources& container, const std::string& resource,
                   const std::string& id) {
    auto& entry = *container.add_devices();
    entry.set_resource_name(resource);
    entry.add_device_ids(id);
    entry.mutable_topology()->add_nodes()->set_id(1);
  }
  template <class Request, class Answer>
  grpc::Status ask(grpc::Status (v1::PodResourcesLister::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Answer*),
                   Answer& answer, const Request& request = {}) const {
    const auto stub = v1::PodResourcesLister::NewStub(open_channel(dir_.path() / "proxy.sock"));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return ((*stub).*method)(&context, request, &answer);
  }
  // "resource=id" of each device, in order.
  static std::vector<std::string> devices(const v1::ContainerResources& container) {
    std::vector<std::string> all;
    for (const auto& entry : container.devices()) {
      for (const auto& id : entry.device_ids()) all.push_back(entry.resource_name() + '=' + id);
    }
    return all;
  }
  static std::string gpu(const std::string& resource = "nvidia.com/gpu") {
    return resource + '=' + kGpu;
  }

  test::TempDir dir_;
  test::LogRecorder log_;
  const std::filesystem::path kubelets_ = dir_.path() / "kubelet.sock";
  Kubelet kubelet_;
  std::unique_ptr<SocketServer> server_;
  std::unique_ptr<PodResourcesProxy> proxy_;
};

TEST_F(PodResourcesProxyTest, EachGpuOfAContainerIsThereOnceByItsUuid) {
  auto& one = container("a");
  give(one, "nvidia.com/gpu.shared", std::string(kGpu) + "::0");
  give(one, "nvidia.com/gpu.shared", std::string(kGpu) + "::3");
  give(one, "nvidia.com/mig-1g.10gb.shared", std::string(kMig) + "::1");
  give(one, "example.com/nic", "nic::0");
  one.add_cpu_ids(3);
  give(container("b"), "nvidia.com/gpu.shared", std::string(kGpu) + "::1");
  start();
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(ask(&v1::PodResourcesLister::Stub::List, answer).ok());
  ASSERT_EQ(answer.pod_resources_size(), 2);
  const auto& first = answer.pod_resources(0).containers(0);
  EXPECT_EQ(devices(first),
            (std::vector<std::string>{gpu(), std::string("nvidia.com/mig-1g.10gb.shared=") + kMig,
                                      "example.com/nic=nic::0"}));
  EXPECT_EQ(first.devices(0).topology().nodes(0).id(), 1);
  EXPECT_EQ(first.cpu_ids(0), 3);
  EXPECT_EQ(devices(answer.pod_resources(1).containers(0)), std::vector{gpu()});
}

TEST_F(PodResourcesProxyTest, TheDevicesOfOurClaimsAreThere) {
  auto& one = container("a");
  auto& claim = *one.add_dynamic_resources();
  claim.set_claim_name("half");
  claim.set_claim_namespace("team");
  auto& resource = *claim.add_claim_resources();
  resource.set_driver_name("gpu.nvidia.com");
  resource.set_device_name("gpu-0");
  resource.set_share_id("s");
  claim.add_claim_resources()->set_device_name("nic-0");
  start();
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(ask(&v1::PodResourcesLister::Stub::List, answer).ok());
  const auto& read = answer.pod_resources(0).containers(0);
  EXPECT_EQ(devices(read), std::vector{gpu()});
  EXPECT_EQ(read.dynamic_resources_size(), 1) << "it is there as before";
}

TEST_F(PodResourcesProxyTest, PodsThatHaveEndedAreLeftOut) {
  give(container("done"), "nvidia.com/gpu", kGpu);
  give(container("a"), "nvidia.com/gpu", kGpu);
  start();
  v1::ListPodResourcesResponse answer;
  ASSERT_TRUE(ask(&v1::PodResourcesLister::Stub::List, answer).ok());
  ASSERT_EQ(answer.pod_resources_size(), 1);
  EXPECT_EQ(answer.pod_resources(0).name(), "a");
}

TEST_F(PodResourcesProxyTest, OnePodAndWhatCanBeAllocated) {
  give(container("a"), "nvidia.com/gpu.shared", std::string(kGpu) + "::2");
  start();
  v1::GetPodResourcesRequest request;
  request.set_pod_name("a");
  v1::GetPodResourcesResponse one;
  ASSERT_TRUE(ask(&v1::PodResourcesLister::Stub::Get, one, request).ok());
  EXPECT_EQ(devices(one.pod_resources().containers(0)), std::vector{gpu()});
  request.set_pod_name("x");
  EXPECT_EQ(ask(&v1::PodResourcesLister::Stub::Get, one, request).error_code(),
            grpc::StatusCode::NOT_FOUND);
  v1::AllocatableResourcesResponse all;
  ASSERT_TRUE(ask(&v1::PodResourcesLister::Stub::GetAllocatableResources, all).ok());
  ASSERT_EQ(all.devices_size(), 1);
  EXPECT_EQ(all.devices(0).device_ids(0), kGpu);
  EXPECT_EQ(all.cpu_ids(0), 7);
}

TEST_F(PodResourcesProxyTest, WithoutKubeletACallFails) {
  v1::ListPodResourcesResponse answer;
  EXPECT_EQ(ask(&v1::PodResourcesLister::Stub::List, answer).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  start();
  EXPECT_TRUE(ask(&v1::PodResourcesLister::Stub::List, answer).ok()) << "it is asked again";
}

}  // namespace
}  // namespace tranche::kubelet::pod_resources_proxy_test
