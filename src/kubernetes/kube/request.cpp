#include "kube/request.h"

#include <fmt/format.h>

namespace tranche::kube {
namespace {

std::string encode(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// A name such as ".." would lead to another object.
bool is_segment(std::string_view text) {
  return text != "." && text != ".." && text.find('/') == std::string_view::npos;
}

}  // namespace

std::string Request::resource() const {
  auto text = kind.resource();
  if (subresource.empty()) return text;
  // "plural/subresource.group": the subresource directly follows the plural.
  return kind.group.empty() ? text + '/' + subresource
                            : fmt::format("{}/{}.{}", kind.plural, subresource, kind.group);
}

std::string Request::describe() const {
  const auto what = key.name.empty() ? (key.ns.empty() ? std::string() : "in namespace " + key.ns)
                                     : key.to_string();
  return fmt::format("{} {}{}{}", verb, resource(), what.empty() ? "" : " ", what);
}

Result<std::string> Request::target() const {
  // Most creates name no object, but a create of a subresource (pods/eviction) does.
  const bool names_one =
      verb != "list" && verb != "watch" && (verb != "create" || !subresource.empty());
  if (names_one && key.name.empty()) {
    return fail(Code::kInvalidArgument, describe() + ": no name is given");
  }
  if (kind.namespaced && key.ns.empty() && (names_one || verb == "create")) {
    return fail(Code::kInvalidArgument, describe() + ": no namespace is given");
  }
  if (!kind.namespaced && !key.ns.empty()) {
    return fail(Code::kInvalidArgument, describe() + ": the kind has no namespaces");
  }
  if (!is_segment(key.ns) || !is_segment(key.name)) {
    return fail(Code::kInvalidArgument, describe() + ": no name of an object");
  }
  auto target = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                   : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (!key.ns.empty()) target += "/namespaces/" + encode(key.ns);
  target += fmt::format("/{}", kind.plural);
  if (names_one) target += '/' + encode(key.name);
  if (!subresource.empty()) target += '/' + encode(subresource);
  if (!query.empty()) target += '?' + query;
  return target;
}

std::string query_of(
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    query += fmt::format("{}{}={}", query.empty() ? "" : "&", name, encode(value));
  }
  return query;
}

}  // namespace tranche::kube
