#pragma once
// For this room's clients: a gRPC channel to one of kubelet's unix sockets, and gRPC's status as
// our Error. Only .cpp files of this room include it, because it includes gRPC.

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace tranche::kubelet {

std::shared_ptr<grpc::Channel> open_channel(const std::filesystem::path& socket);

Error error_of(const grpc::Status& status, std::string_view action);

}  // namespace tranche::kubelet
