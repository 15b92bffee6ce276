#include "lab/kubelet/claims.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>

#include "kubelet/proto/dra_v1.grpc.pb.h"

namespace tranche::lab {
namespace {

namespace claims = k8s::io::kubelet::pkg::apis::dra::v1;

// As kubelet.
constexpr std::chrono::seconds kLongestCall{45};

std::unique_ptr<claims::DRAPlugin::Stub> connect(const std::filesystem::path& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return claims::DRAPlugin::NewStub(grpc::CreateCustomChannel(
      "unix:" + socket.string(), grpc::InsecureChannelCredentials(), arguments));
}

void add(const Claim& claim, claims::Claim& wire) {
  wire.set_namespace_(claim.ns);
  wire.set_name(claim.name);
  wire.set_uid(claim.uid);
}

// The driver's answer about the claim.
template <class Answer>
Result<Answer> answer_of(const grpc::Status& status, const auto& answers, const Claim& claim) {
  if (!status.ok()) return fail(Code::kUnavailable, status.error_message());
  const auto found = answers.find(claim.uid);
  if (found == answers.end()) {
    return fail(Code::kInternal, fmt::format("the driver says nothing of claim {}", claim.uid));
  }
  if (!found->second.error().empty()) return fail(Code::kInternal, found->second.error());
  return found->second;
}

}  // namespace

Result<std::vector<std::string>> prepare_claim(const std::filesystem::path& socket,
                                               const Claim& claim) {
  claims::NodePrepareResourcesRequest request;
  claims::NodePrepareResourcesResponse response;
  add(claim, *request.add_claims());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongestCall);
  const auto status = connect(socket)->NodePrepareResources(&context, request, &response);
  ASSIGN_OR_RETURN(const auto answer, answer_of<claims::NodePrepareResourceResponse>(
                                          status, response.claims(), claim));
  std::vector<std::string> names;
  for (const auto& device : answer.devices()) {
    names.insert(names.end(), device.cdi_device_ids().begin(), device.cdi_device_ids().end());
  }
  return names;
}

Result<void> unprepare_claim(const std::filesystem::path& socket, const Claim& claim) {
  claims::NodeUnprepareResourcesRequest request;
  claims::NodeUnprepareResourcesResponse response;
  add(claim, *request.add_claims());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongestCall);
  const auto status = connect(socket)->NodeUnprepareResources(&context, request, &response);
  const auto answer =
      answer_of<claims::NodeUnprepareResourceResponse>(status, response.claims(), claim);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

}  // namespace tranche::lab
