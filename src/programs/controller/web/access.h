#pragma once
// Who reads the fleet, and what they may see, as the API server says: a TokenReview tells whose
// token it is, a SubjectAccessReview whether they may read the fleet at all (`get` of the path
// /v1/fleet) and whose Pods they may list. Answers are kept for a minute, in memory, of at most
// kMostReaders. Those who were let in go last when there are more.
//
// Thread-safe. A call waits for the API server; no lock is held meanwhile.

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::controller {

// What the API server says of a token, in its words.
struct Reader {
  std::string user;
  std::string uid{};
  std::vector<std::string> groups{};
  std::string extra{};  // JSON; empty: none
  bool operator==(const Reader&) const = default;
};

class Access {
 public:
  // The references outlive this.
  Access(cluster::Objects& objects, const Clock& clock) : objects_(objects), clock_(clock) {}

  // kPermission: the API server does not know the token. kFailedPrecondition: its owner may not
  // read the fleet; the text says what would let them. kUnavailable: the API server does not
  // answer, or does not let the controller ask.
  Result<Reader> reader(const std::string& token, const std::stop_token& stop);
  // Whether reader() has the answer already, or let its owner in within kRecognized: whoever makes
  // up tokens is held up, and those who read all day are not.
  bool knows(const std::string& token) const;

  struct Sight {
    bool all = false;              // names of all namespaces
    std::set<std::string> some{};  // else of these
    bool operator==(const Sight&) const = default;
  };
  // Which of `namespaces` the reader sees names of. Those about which the API server was not asked
  // in time, or that are too many, are not seen.
  Sight sight(const std::string& token, const Reader& reader,
              const std::set<std::string>& namespaces, const std::stop_token& stop);

  static constexpr std::chrono::seconds kKept{60};
  static constexpr std::chrono::seconds kRecognized{600};
  static constexpr std::size_t kMostReaders = 256;
  static constexpr std::size_t kMostNamespaces = 500;  // asked about, of one reader
  static constexpr std::size_t kLongestToken = 12'000;

 private:
  struct Known {
    std::chrono::steady_clock::time_point at;
    Result<Reader> reader;
    std::map<std::string, bool> lists{};  // namespace, "" for all -> may list Pods
  };

  Result<Reader> ask(const std::string& token, const std::stop_token& stop);
  Result<bool> may(const Reader& reader, const char* kind, const std::string& attributes,
                   const std::stop_token& stop);
  Result<bool> may_list(const std::string& token, const Reader& reader, const std::string& ns,
                        const std::stop_token& stop);
  void remember(const std::string& token, Result<Reader> reader);
  bool make_room(bool for_reader);

  cluster::Objects& objects_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;  // by token, guarded by mutex_
};

}  // namespace tranche::controller
