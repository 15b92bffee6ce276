#pragma once
// Every function that can fail returns a Result<T>. No exception leaves a room.
//
// An Error says what went wrong (`what`, with the place: "file:line: field: ...") and what the
// reader can do about it (`hint`, may be empty). There are few codes; only the edges of the program
// map them to gRPC, HTTP and exit codes. An absence that is not a failure is std::optional, never
// an Error.

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace tranche {

enum class Code {
  kInvalidArgument,     // the input is wrong and will stay wrong
  kNotFound,            // the thing named does not exist
  kAlreadyExists,       // someone else has it
  kFailedPrecondition,  // right input, wrong state
  kUnavailable,         // may succeed later
  kTimeout,             // no answer in time; may succeed later
  kUnsupported,         // this machine, driver or release cannot do it
  kPermission,          // not allowed
  kIo,                  // the operating system refused
  kInternal,            // a bug in our own program
};

// "invalid argument", "not found", ...
std::string_view to_string(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string what;
  std::string hint = {};

  // "what" alone, or "what; hint".
  std::string message() const;
  // The same error with "<context>: " before `what`. Each layer adds its context once.
  Error with_context(std::string_view context) &&;

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Code code, std::string what, std::string hint = {}) {
  return std::unexpected(Error{code, std::move(what), std::move(hint)});
}

// Error{kIo/kNotFound/kPermission, "open /x: No such file or directory"} from an errno value.
Error errno_error(int error_number, std::string_view action);

}  // namespace tranche

#define TRANCHE_CONCAT_INNER(a, b) a##b
#define TRANCHE_CONCAT(a, b) TRANCHE_CONCAT_INNER(a, b)

// Returns the error of `expression` from the enclosing function, if it has one.
#define TRY(expression)                                                                      \
  if (auto&& TRANCHE_CONCAT(try_, __LINE__) = (expression); !TRANCHE_CONCAT(try_, __LINE__)) \
  return std::unexpected(std::move(TRANCHE_CONCAT(try_, __LINE__)).error())

// ASSIGN_OR_RETURN(auto x, f()): x is f()'s value, or the enclosing function returns f()'s error.
#define ASSIGN_OR_RETURN(declaration, expression)                                 \
  auto TRANCHE_CONCAT(assign_, __LINE__) = (expression);                          \
  if (!TRANCHE_CONCAT(assign_, __LINE__))                                         \
    return std::unexpected(std::move(TRANCHE_CONCAT(assign_, __LINE__)).error()); \
  declaration = *std::move(TRANCHE_CONCAT(assign_, __LINE__))
