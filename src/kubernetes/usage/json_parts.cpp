#include "usage/json_parts.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace tranche::usage {

bool check_version(const json::Fields& fields, std::string_view version) {
  const auto found = fields.text("version");
  if (found == version) return true;
  fields.refuse("version",
                fmt::format("is \"{}\", where {} is expected", printable(found, 80), version));
  return false;
}

Result<json::View> root_of(std::string_view text, std::string_view version, std::size_t longest) {
  if (text.size() > longest) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: the text is longer than {} MiB", version, longest >> 20U));
  }
  ASSIGN_OR_RETURN(const auto root, json::parse(text));
  if (root.kind() == json::Kind::kObject) return root;
  return fail(Code::kInvalidArgument,
              fmt::format("{}: it is {}, not an object", version, describe(root.kind())));
}

}  // namespace tranche::usage
