#include "kubelet/registration.h"

#include <fmt/format.h>

#include "kubelet/channel.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"

namespace tranche::kubelet {

Result<void> register_plugin(const Registration& registration, const PinnedFile& kubelet,
                             const std::stop_token& stop, std::chrono::milliseconds deadline) {
  if (!kubelet.exists()) {
    return fail(Code::kUnavailable,
                fmt::format("registering {} at {}: no such socket", registration.resource,
                            registration.kubelet_socket.string()),
                "see that kubelet runs and that its device-plugins folder is mounted");
  }
  const auto stub = v1beta1::Registration::NewStub(open_channel(kubelet.path()));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(registration.endpoint);
  request.set_resource_name(registration.resource);
  request.mutable_options()->set_get_preferred_allocation_available(true);

  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1beta1::Empty answer;
  const auto status = stub->Register(&context, request, &answer);
  if (status.ok()) return {};
  return std::unexpected(error_of(status, fmt::format("registering {} at {}", registration.resource,
                                                      registration.kubelet_socket.string())));
}

}  // namespace tranche::kubelet
