#pragma once
// gRPC's status in the words of Go's gRPC, which is what kubelet writes into events and what people
// search for. Includes gRPC: only for .cpp files that speak it.

#include <grpcpp/support/status.h>

#include "base/result.h"

namespace tranche::lab {

// "rpc error: code = <Go's name> desc = <text>". An OK status is a stream that ended: "EOF".
Error go_error(const grpc::Status& status);

// How a plain Go error leaves a gRPC handler: code Unknown and its text.
grpc::Status to_status(const Error& error);

}  // namespace tranche::lab
