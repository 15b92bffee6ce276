#pragma once
// What was said last about each topic: what stands for a while is said when it begins and when it
// changes, not each time it is seen. Used by one thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tranche {

class SaidOnce {
 public:
  // Whether `text` is to be said about `topic`: it is not what was said last. "": there is nothing
  // to say, and the next text is news again.
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
  // Forgets every topic of which `stays` says no.
  void retain(const std::function<bool(const std::string& topic)>& stays) {
    std::erase_if(said_, [&](const auto& entry) { return !stays(entry.first); });
  }
  // Whether something was said about `topic` since it was forgotten last.
  bool was_said(std::string_view topic) const { return said_.contains(topic); }
  void forget(std::string_view topic) { is_news(topic, {}); }

 private:
  std::map<std::string, std::string, std::less<>> said_;
};

}  // namespace tranche
