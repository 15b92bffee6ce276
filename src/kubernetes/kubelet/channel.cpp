#include "kubelet/channel.h"

#include <fmt/format.h>

namespace tranche::kubelet {

std::shared_ptr<grpc::Channel> open_channel(const std::filesystem::path& socket) {
  grpc::ChannelArguments arguments;
  // Go servers refuse the authority that gRPC derives from a unix path.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // Channels are opened seldom, and to a kubelet that restarts: a channel must not share a
  // connection or a back-off with an earlier one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(16 << 20);  // kubelet's own limit for pod-resources
  return grpc::CreateCustomChannel("unix:" + socket.string(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

Error error_of(const grpc::Status& status, std::string_view action) {
  auto code = Code::kFailedPrecondition;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) code = Code::kUnavailable;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) code = Code::kTimeout;
  const std::string words = code == Code::kTimeout ? "no answer in time" : status.error_message();
  return {code, fmt::format("{}: {}", action, words)};
}

}  // namespace tranche::kubelet
