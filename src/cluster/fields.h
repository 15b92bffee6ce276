#pragma once
// Reads the fields of one object's text, for the parse_ functions of this room. A field that is
// absent or null reads as empty, as in Kubernetes' own types. A field of another type is an error
// with its path; the first error is kept.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

class Fields {
 public:
  // `error` outlives the reader and all that come from it. `path`: "spec.mig", empty at the top.
  Fields(json::View object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::int64_t number(std::string_view key) const;
  StringMap map(std::string_view key) const;
  // An object; an empty one where it is absent.
  Fields object(std::string_view key) const;
  // The objects of a list.
  std::vector<Fields> list(std::string_view key) const;

  // nullopt where absent or null.
  std::optional<std::string> maybe_text(std::string_view key) const;
  std::optional<bool> maybe_boolean(std::string_view key) const;

  json::View view() const { return object_; }
  // "spec.mig.strategy" of the key.
  std::string path_of(std::string_view key) const;
  // Records that the field is not as it must be.
  void refuse(std::string_view key, std::string_view why) const;

 private:
  std::optional<json::View> find(std::string_view key, json::Kind kind) const;

  json::View object_;
  std::string path_;
  std::optional<Error>& error_;
};

std::vector<OwnerReference> read_owners(const Fields& metadata);

// Parses `json` and has `read(fields, value)` fill a T; `kind` stands at the head of messages. The
// object must have a name.
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
