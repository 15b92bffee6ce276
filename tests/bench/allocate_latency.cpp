// Measures Allocate of any device plugin through its socket, as kubelet would call it: takes the
// ids from ListAndWatch, asks for one at a time in turn, prints a line with percentiles in
// microseconds.
//
//   allocate_latency SOCKET [CALLS]

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "kubelet/proto/deviceplugin.grpc.pb.h"

namespace {

using Stub = v1beta1::DevicePlugin::Stub;

std::vector<std::string> list_ids(Stub& stub) {
  grpc::ClientContext context;
  const auto stream = stub.ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  std::vector<std::string> ids;
  if (stream->Read(&list)) {
    for (const auto& device : list.devices()) ids.push_back(device.id());
  }
  context.TryCancel();
  return ids;
}

double allocate_us(Stub& stub, const std::string& id) {
  grpc::ClientContext context;
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids(id);
  v1beta1::AllocateResponse answer;
  const auto begin = std::chrono::steady_clock::now();
  const auto status = stub.Allocate(&context, request, &answer);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  if (!status.ok()) {
    fmt::print(stderr, "Allocate {}: {}\n", id, status.error_message());
    std::exit(1);
  }
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: allocate_latency SOCKET [CALLS]\n");
    return 2;
  }
  const int calls = argc > 2 ? std::atoi(argv[2]) : 2000;
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  const auto stub = v1beta1::DevicePlugin::NewStub(grpc::CreateCustomChannel(
      std::string("unix:") + argv[1], grpc::InsecureChannelCredentials(), arguments));
  const auto ids = list_ids(*stub);
  if (ids.empty()) {
    fmt::print(stderr, "no devices at {}\n", argv[1]);
    return 1;
  }
  std::vector<double> times;
  for (int i = 0; i < calls / 10; ++i) allocate_us(*stub, ids[0]);  // warm
  for (int i = 0; i < calls; ++i) {
    times.push_back(allocate_us(*stub, ids[static_cast<std::size_t>(i) % ids.size()]));
  }
  std::ranges::sort(times);
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  fmt::print("{{\"ids\": {}, \"calls\": {}, \"p50_us\": {:.1f}, \"p99_us\": {:.1f}}}\n", ids.size(),
             calls, at(0.5), at(0.99));
  return 0;
}
