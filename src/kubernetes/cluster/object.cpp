#include "cluster/object.h"

#include <fmt/format.h>

#include <optional>

#include "base/json.h"
#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

// The object's text with apiVersion and kind, as a list's items lack them.
std::string complete(const Kind& kind, json::View item) {
  const auto text = item.text();
  if (item.find("kind") && item.find("apiVersion")) return std::string(text);
  const auto rest = text.substr(1);
  const bool empty = item.members().empty();
  return fmt::format(R"({{"apiVersion":"{}","kind":"{}"{}{})", kind.api_version(), kind.kind,
                     empty ? "" : ",", rest);
}

void read_identity(const Fields& top, Object& object) {
  const auto metadata = top.object("metadata");
  object.key = {metadata.text("namespace"), metadata.text("name")};
  object.uid = metadata.text("uid");
  object.resource_version = metadata.text("resourceVersion");
}

Result<Object> read_item(const Kind& kind, json::View item, std::size_t index) {
  std::optional<Error> error;
  const Fields top(item, fmt::format("items[{}]", index), error);
  Object object;
  read_identity(top, object);
  if (object.key.name.empty()) top.object("metadata").refuse("name", "is missing");
  if (error) return std::unexpected(*std::move(error));
  object.json = complete(kind, item);
  return object;
}

// `text` without the member from `begin` to `end`, and without its comma.
std::string cut(std::string_view text, std::size_t begin, std::size_t end) {
  const auto is_space = [&](std::size_t i) {
    return std::string_view(" \t\r\n").find(text[i]) != std::string_view::npos;
  };
  std::size_t after = end;
  while (is_space(after)) ++after;
  if (text[after] == ',') return fmt::format("{}{}", text.substr(0, begin), text.substr(after + 1));
  std::size_t before = begin;
  while (is_space(before - 1)) --before;
  if (text[before - 1] == ',') --before;
  return fmt::format("{}{}", text.substr(0, before), text.substr(end));
}

}  // namespace

Result<Object> parse_object(std::string_view text) {
  return read_object<Object>("object", text, [&](const Fields& top, Object& object) {
    read_identity(top, object);
    object.json = top.view().text();
  });
}

Result<ListPage> parse_list(const Kind& kind, std::string_view text) {
  const auto context = fmt::format("list of {}", kind.resource());
  auto root = json::parse(text);
  if (!root) return std::unexpected(std::move(root).error().with_context(context));
  std::optional<Error> error;
  const Fields top(*root, "", error);
  ListPage page;
  page.list.resource_version = top.object("metadata").text("resourceVersion");
  page.next = top.object("metadata").text("continue");
  if (!root->find("items")) top.refuse("items", "is missing");
  const auto items = top.list("items");
  page.list.items.reserve(items.size());
  for (const auto& item : items) {
    if (error) break;
    auto object = read_item(kind, item.view(), page.list.items.size());
    if (!object) return std::unexpected(std::move(object).error().with_context(context));
    page.list.items.push_back(*std::move(object));
  }
  if (error) return std::unexpected(std::move(*error).with_context(context));
  return page;
}

std::string without_managed_fields(std::string_view text) {
  std::string left(text);
  while (true) {
    const auto root = json::parse(left);
    if (!root) return left;
    const auto metadata = root->find("metadata");
    if (!metadata || !metadata->find("managedFields")) return left;
    const auto offset = static_cast<std::size_t>(metadata->text().data() - left.data());
    for (const auto& member : metadata->members()) {
      if (member.key != "managedFields") continue;
      left = cut(left, offset + member.begin, offset + member.end);
      break;
    }
  }
}

}  // namespace tranche::cluster
