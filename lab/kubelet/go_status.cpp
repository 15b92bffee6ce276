#include "lab/kubelet/go_status.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace tranche::lab {

namespace {

// By number, google.golang.org/grpc/codes.
constexpr std::array<std::string_view, 17> kNames = {
    "OK",       "Canceled",        "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",   "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",      "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated",
};

Code code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return Code::kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Code::kTimeout;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return Code::kInvalidArgument;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Error go_error(const grpc::Status& status) {
  if (status.ok()) return {.code = Code::kUnavailable, .what = "EOF"};
  const auto number = static_cast<std::size_t>(status.error_code());
  const std::string_view name = number < kNames.size() ? kNames[number] : "Unknown";
  return {.code = code_of(status.error_code()),
          .what = fmt::format("rpc error: code = {} desc = {}", name, status.error_message())};
}

grpc::Status to_status(const Error& error) { return {grpc::StatusCode::UNKNOWN, error.what}; }

}  // namespace tranche::lab
