#pragma once
// Reads the fields of one object's text (base/json_fields.h), for the parse_ functions of this
// room. A field that is absent or null reads as empty, as in Kubernetes' own types.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

using json::Fields;

std::vector<OwnerReference> read_owners(const Fields& metadata);

// Parses `json` and lets `read(fields, value)` fill a T; `kind` prefixes messages. The object must
// have a name.
template <class T, class Read>
Result<T> read_object(std::string_view kind, std::string_view text, const Read& read) {
  const auto root = json::parse(text);
  if (!root) return std::unexpected(Error(root.error()).with_context(kind));
  std::optional<Error> error;
  const Fields top(*root, "", error);
  if (root->kind() != json::Kind::kObject) {
    return fail(Code::kInvalidArgument,
                std::string(kind) + ": it is " + std::string(describe(root->kind())));
  }
  if (top.object("metadata").text("name").empty() && !error) {
    top.object("metadata").refuse("name", "is missing");
  }
  T value;
  read(top, value);
  if (error) return std::unexpected(std::move(*error).with_context(kind));
  return value;
}

}  // namespace tranche::cluster
