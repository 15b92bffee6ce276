#include "kube/watch_lines.h"

#include <fmt/format.h>

#include "base/json.h"
#include "kube/status.h"

namespace tranche::kube {
namespace {

using cluster::WatchEventType;

std::unexpected<Error> broken(const Request& request, std::string_view why) {
  return fail(Code::kUnavailable, fmt::format("{}: broken event: {}", request.describe(), why),
              "is this the address of an API server?");
}

Result<WatchLine> failed(const Request& request, json::View status, std::string_view who) {
  const auto code = status.find("code");
  const auto number = code ? code->as_int().value_or(500) : 500;
  if (number == 410) return WatchLine{{}, true};
  return std::unexpected(refusal(request, static_cast<long>(number), status.text(), who));
}

}  // namespace

bool LineSplitter::feed(std::string_view piece, std::vector<std::string>& lines) {
  while (true) {
    const auto end = piece.find('\n');
    if (begun_.size() + std::min(end, piece.size()) > longest_) return false;
    if (end == std::string_view::npos) {
      begun_.append(piece);
      return true;
    }
    begun_.append(piece.substr(0, end));
    piece.remove_prefix(end + 1);
    if (!begun_.empty()) lines.push_back(std::move(begun_));
    begun_ = {};
  }
}

Result<WatchLine> parse_watch_line(const Request& request, std::string_view line,
                                   std::string_view who) {
  const auto root = json::parse(line);
  if (!root) return broken(request, root.error().what);
  const auto type_field = root->find("type");
  const auto type = type_field ? type_field->as_string().value_or("") : "";
  const auto object = root->find("object");
  if (!object || object->kind() != json::Kind::kObject) return broken(request, "it has no object");
  if (type == "ERROR") return failed(request, *object, who);
  WatchLine parsed;
  if (type == "BOOKMARK") {
    parsed.event.type = WatchEventType::kBookmark;
    const auto version = object->at({"metadata", "resourceVersion"});
    parsed.event.object.resource_version = version ? version->as_string().value_or("") : "";
    if (!parsed.event.object.resource_version.empty()) return parsed;
    return broken(request, "the bookmark has no resourceVersion");
  }
  if (type == "MODIFIED") {
    parsed.event.type = WatchEventType::kModified;
  } else if (type == "DELETED") {
    parsed.event.type = WatchEventType::kDeleted;
  } else if (type != "ADDED") {
    return broken(request, fmt::format("type \"{}\"", type));
  }
  auto parsed_object = cluster::parse_object(object->text());
  if (!parsed_object) return broken(request, parsed_object.error().what);
  parsed.event.object = *std::move(parsed_object);
  return parsed;
}

}  // namespace tranche::kube
