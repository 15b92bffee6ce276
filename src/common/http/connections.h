#pragma once
// The open connections of a server: since when each waits, how many bytes it holds, and which of
// them ends when a limit is reached. It does not matter whether they speak TLS. Only for the files
// of this room.
//
// A connection is known from before it has a socket, when libevent asks for a stream for it, until
// evhttp frees it, however it ended: evhttp_connection_set_closecb() tells of every end. But
// libevent 2.1 names an evhttp_connection first with its first request, and hostile connections
// send none. So it is taken from the stream, whose callbacks have it as their argument: see
// adopt().
//
// Used by the thread of libevent's loop alone. Must be destroyed after the evhttp, and before the
// event_base.

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

#include "http/libevent.h"

struct evbuffer;
struct evbuffer_cb_info;

namespace tranche::http {

class Connections {
 public:
  struct Limits {
    std::size_t count = 0;
    // What one connection may send ahead of what is being read, and what all may together.
    std::size_t bytes_of_one = 0;
    std::size_t bytes = 0;
    // Of answers that clients have not read: above it, the one that has waited longest ends.
    std::size_t unread = 0;
    std::chrono::milliseconds request_time{};
    std::chrono::milliseconds idle_time{};
  };
  Connections(event_base* base, const Limits& limits);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // The stream of a connection that evhttp is about to make; evhttp owns it. Where all places are
  // taken, the one that is idle longest ends, or else the one whose request takes longest, or else
  // the new one.
  void add(bufferevent* stream);
  // Learns the evhttp_connection of each new stream. Runs by itself before any of them is read;
  // must be called before the evhttp is freed.
  void adopt();
  // A handler has the request, and with it all bytes of it.
  void taken(evhttp_request* request);
  // The response is about to be sent.
  void answered(evhttp_request* request);
  // Ends those that have had their time.
  void sweep();
  std::size_t count() const { return all_.size(); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Connection {
    Connections* owner = nullptr;
    bufferevent* stream = nullptr;
    std::size_t bytes = 0;   // that have come and that no handler has
    std::size_t unread = 0;  // of its answer; none once it is ended
    bool is_idle = false;    // waits for its next request
    bool is_served = false;  // a handler has its request
    bool is_ended = false;   // shut down; evhttp has not freed it yet
    Time since;              // it is idle, or its request began
  };

  Connection* find(evhttp_request* request);
  bool make_room();
  void arrived(Connection& connection, std::size_t bytes);
  void recount(Connection& connection);
  void answer_changed(Connection& connection, const evbuffer_cb_info& info);
  Connection* longest_unread(const Connection& but);
  void forget(Connection& connection);
  static void end(Connection& connection);
  static void on_input(evbuffer* input, const evbuffer_cb_info* info, void* connection);
  static void on_output(evbuffer* output, const evbuffer_cb_info* info, void* connection);

  const Limits limits_;
  std::map<bufferevent*, Connection> all_;
  std::vector<bufferevent*> new_;  // not adopted yet; holds a reference to each
  std::size_t ended_ = 0;          // of all_
  std::size_t bytes_ = 0;          // of all_
  std::size_t unread_ = 0;         // of all_
  Event adopt_;
};

}  // namespace tranche::http
