// The pod-resources service of the stand-in, asked over its socket.

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "kubelet/proto/podresources.grpc.pb.h"
#include "lab/kubelet_fixture.h"

namespace tranche::test::pod_resources_test {
namespace {

class PodResourcesTest : public KubeletTest {
 protected:
  std::unique_ptr<v1::PodResourcesLister::Stub> stub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::PodResourcesLister::NewStub(
        grpc::CreateCustomChannel("unix:" + kubelet.pod_resources_socket().string(),
                                  grpc::InsecureChannelCredentials(), arguments));
  }

  // "resource id @node" for every entry.
  template <class Entries>
  static std::vector<std::string> lines(const Entries& entries) {
    std::vector<std::string> out;
    for (const v1::ContainerDevices& entry : entries) {
      std::string line = entry.resource_name();
      for (const std::string& id : entry.device_ids()) line += " " + id;
      for (const v1::NUMANode& node : entry.topology().nodes())
        line += " @" + std::to_string(node.id());
      out.push_back(line);
    }
    return out;
  }
};

TEST_F(PodResourcesTest, ListsEveryDeviceAsAnEntryOfItsOwn) {
  const auto plugin =
      connect({.devices = {{.id = "a", .numa_nodes = {0, 1}}, {.id = "b"}, {.id = "c"}}});
  lab::Pod wish = pod("p", 2);
  wish.pod_namespace = "ns";
  wish.init_containers = {{.name = "init", .limits = {{kGpu, 1}}}};
  ASSERT_EQ(kubelet.admit(wish).phase, "Running");

  grpc::ClientContext context;
  v1::ListPodResourcesResponse list;
  ASSERT_TRUE(stub()->List(&context, {}, &list).ok());
  ASSERT_EQ(list.pod_resources_size(), 1);
  const v1::PodResources& found = list.pod_resources(0);
  EXPECT_EQ(found.name(), "p");
  EXPECT_EQ(found.namespace_(), "ns");
  ASSERT_EQ(found.containers_size(), 1);
  EXPECT_EQ(found.containers(0).name(), "c");
  EXPECT_EQ(lines(found.containers(0).devices()),
            (std::vector<std::string>{"example.com/gpu a @0", "example.com/gpu a @1",
                                      "example.com/gpu b"}));
}

TEST_F(PodResourcesTest, ListsHealthyDevicesAsAllocatable) {
  const auto plugin = connect({.devices = {{.id = "a"}, {.id = "b", .healthy = false}}});
  grpc::ClientContext context;
  v1::AllocatableResourcesResponse all;
  ASSERT_TRUE(stub()->GetAllocatableResources(&context, {}, &all).ok());
  EXPECT_EQ(lines(all.devices()), std::vector<std::string>{"example.com/gpu a"});
}

TEST_F(PodResourcesTest, GetsOnePod) {
  const auto plugin = connect({.devices = {{.id = "a"}}});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  v1::GetPodResourcesRequest request;
  request.set_pod_name("p");
  request.set_pod_namespace("default");
  v1::GetPodResourcesResponse answer;
  grpc::ClientContext context;
  ASSERT_TRUE(stub()->Get(&context, request, &answer).ok());
  EXPECT_EQ(answer.pod_resources().containers_size(), 1);

  request.set_pod_namespace("other");
  grpc::ClientContext again;
  const grpc::Status status = stub()->Get(&again, request, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(), "pod p in namespace other not found");
}

TEST_F(PodResourcesTest, ARemovedPodIsNotListed) {
  const auto plugin = connect({.devices = {{.id = "a"}}});
  ASSERT_EQ(kubelet.admit(pod("p", 1)).phase, "Running");
  ASSERT_TRUE(kubelet.remove("default/p"));
  grpc::ClientContext context;
  v1::ListPodResourcesResponse list;
  ASSERT_TRUE(stub()->List(&context, {}, &list).ok());
  EXPECT_EQ(list.pod_resources_size(), 0);
}

}  // namespace
}  // namespace tranche::test::pod_resources_test
