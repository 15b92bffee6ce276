#pragma once
// Remembers the last text about each topic, so that a state is reported when it begins and when it
// changes, not each time it is seen. Used by one thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tranche {

class SaidOnce {
 public:
  // Whether to report `text` about `topic`: it differs from the last text about it. "": the state
  // is over; nothing is reported, and the next text is news again.
  bool is_news(std::string_view topic, std::string_view text) {
    const auto found = said_.find(topic);
    if (text.empty()) {
      if (found != said_.end()) said_.erase(found);
      return false;
    }
    if (found == said_.end()) {
      said_.emplace(topic, text);
      return true;
    }
    if (found->second == text) return false;
    found->second = text;
    return true;
  }
  // Forgets every topic for which `stays` returns false.
  void retain(const std::function<bool(const std::string& topic)>& stays) {
    std::erase_if(said_, [&](const auto& entry) { return !stays(entry.first); });
  }
  // Whether a text about `topic` is current: one was reported, and the topic was not forgotten
  // since.
  bool was_said(std::string_view topic) const { return said_.contains(topic); }
  void forget(std::string_view topic) { is_news(topic, {}); }

 private:
  std::map<std::string, std::string, std::less<>> said_;
};

}  // namespace tranche
