#include "cluster/snapshot/config_origin.h"

#include <algorithm>
#include <string>

namespace tranche::cluster {

std::optional<ObjectKey> config_map_of(std::string_view message) {
  constexpr std::string_view kHead = "ConfigMap ";
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyz0123456789.-/";
  const bool is_named = message.starts_with(kHead);
  if (is_named) message.remove_prefix(kHead.size());
  const auto end = std::min(message.find_first_not_of(kOfNames), message.size());
  const auto slash = message.find('/');
  const bool is_name =
      slash < end && slash > 0 && slash + 1 < end && message.substr(0, end).rfind('/') == slash;
  // Behind the key of a file with an error there is a line.
  const auto line = message.find(':', end + 1);
  const bool is_place = message.substr(end).starts_with(':') && line != std::string_view::npos &&
                        line + 1 < message.size() && message[line + 1] >= '0' &&
                        message[line + 1] <= '9';
  const bool ends = end == message.size() || std::string_view(",: (").contains(message[end]);
  if (!is_name || !ends || (!is_named && !is_place)) return std::nullopt;
  return ObjectKey{std::string(message.substr(0, slash)),
                   std::string(message.substr(slash + 1, end - slash - 1))};
}

}  // namespace tranche::cluster
