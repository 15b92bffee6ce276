#include "base/result.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace tranche {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kAlreadyExists:
      return "already exists";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kPermission:
      return "permission denied";
    case Code::kIo:
      return "i/o error";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown";
}

std::string Error::message() const {
  return hint.empty() ? what : fmt::format("{}; {}", what, hint);
}

Error Error::with_context(std::string_view context) && {
  what = fmt::format("{}: {}", context, what);
  return std::move(*this);
}

Error errno_error(int error_number, std::string_view action) {
  auto code = Code::kIo;
  if (error_number == ENOENT || error_number == ENOTDIR) code = Code::kNotFound;
  if (error_number == EACCES || error_number == EPERM) code = Code::kPermission;
  if (error_number == EEXIST) code = Code::kAlreadyExists;
  const bool full = error_number == ENOSPC || error_number == EDQUOT;
  return {code, fmt::format("{}: {}", action, std::generic_category().message(error_number)),
          full ? "free space on that disk" : ""};
}

}  // namespace tranche
