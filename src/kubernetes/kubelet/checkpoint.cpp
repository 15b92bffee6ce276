#include "kubelet/checkpoint.h"

#include <fmt/format.h>

#include "base/fs.h"
#include "base/json.h"

namespace tranche::kubelet {
namespace {

// Answers of Allocate are in it; a node has some hundreds at most.
constexpr std::size_t kLongestCheckpoint = std::size_t{64} << 20U;

std::unexpected<Error> wrong(std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("no checkpoint of kubelet: {}", what));
}

Result<void> add_ids(const json::View& list, std::vector<std::string>& ids) {
  if (list.kind() != json::Kind::kArray) return wrong("DeviceIDs has no list of ids");
  for (const auto& element : list.elements()) {
    auto id = element.as_string();
    if (!id) return wrong("an id is no string");
    ids.push_back(*std::move(id));
  }
  return {};
}

Result<std::vector<std::string>> ids_in(const json::View& entry) {
  std::vector<std::string> ids;
  const auto field = entry.find("DeviceIDs");
  if (!field) return wrong("an entry has no DeviceIDs");
  if (field->kind() == json::Kind::kNull) return ids;
  if (field->kind() != json::Kind::kObject) {
    TRY(add_ids(*field, ids));
    return ids;
  }
  for (const auto& node : field->members()) TRY(add_ids(node.value, ids));
  return ids;
}

Result<cluster::HeldDevices> entry_of(const json::View& entry) {
  const auto resource = entry.find("ResourceName");
  const auto container = entry.find("ContainerName");
  auto name = resource ? resource->as_string() : std::nullopt;
  if (!name) return wrong("an entry has no ResourceName");
  ASSIGN_OR_RETURN(auto ids, ids_in(entry));
  return cluster::HeldDevices{
      .pod_namespace = {},
      .pod_name = {},
      .container = container ? container->as_string().value_or("") : std::string(),
      .resource = *std::move(name),
      .ids = std::move(ids)};
}

}  // namespace

Result<std::vector<cluster::HeldDevices>> parse_checkpoint(std::string_view text) {
  ASSIGN_OR_RETURN(const auto document, json::parse(text));
  const auto entries = document.at({"Data", "PodDeviceEntries"});
  if (!entries) return wrong("it has no Data.PodDeviceEntries");
  std::vector<cluster::HeldDevices> held;
  if (entries->kind() == json::Kind::kNull) return held;  // Go's empty list
  if (entries->kind() != json::Kind::kArray) return wrong("PodDeviceEntries is no list");
  for (const auto& entry : entries->elements()) {
    ASSIGN_OR_RETURN(auto one, entry_of(entry));
    held.push_back(std::move(one));
  }
  return held;
}

Result<std::vector<cluster::HeldDevices>> read_checkpoint(const std::filesystem::path& file) {
  const FsRoot fs;
  const auto text = fs.read(file, kLongestCheckpoint);
  if (text) {
    auto held = parse_checkpoint(*text);
    if (held) return held;
    return std::unexpected(std::move(held).error().with_context(file.string()));
  }
  if (text.error().code != Code::kNotFound || !fs.is_directory(file.parent_path())) {
    return std::unexpected(text.error());
  }
  return std::vector<cluster::HeldDevices>();
}

}  // namespace tranche::kubelet
