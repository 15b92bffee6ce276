#pragma once
// A gRPC server of one service on a unix socket, as both of the stand-in's services need it.
// Includes gRPC: only for .cpp files that speak it.

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>

#include "base/result.h"

namespace tranche::lab {

// Replaces a socket file that is there. The service must outlive the server.
Result<std::unique_ptr<grpc::Server>> serve_unix(const std::filesystem::path& socket,
                                                 grpc::Service& service);

// Cancels the calls in flight and waits for their handlers. The socket file is gone afterwards.
void shut_down(grpc::Server& server);

}  // namespace tranche::lab
