#include "http/connections.h"

#include <event2/buffer.h>
#include <sys/socket.h>

#include <cstdlib>
#include <utility>

namespace tranche::http {

Connections::Connections(event_base* base, const Limits& limits)
    : limits_(limits),
      adopt_(event_new(
          base, -1, 0,
          [](evutil_socket_t, short, void* self) { static_cast<Connections*>(self)->adopt(); },
          this)) {
  if (!adopt_) std::abort();  // out of memory
}

Connections::~Connections() {
  for (auto* stream : new_) bufferevent_decref(stream);
}

void Connections::add(bufferevent* stream) {
  const bool has_room = make_room();
  auto& connection = all_[stream];
  connection = {.owner = this, .stream = stream, .since = std::chrono::steady_clock::now()};
  if (!has_room) {
    connection.is_ended = true;  // it has no socket yet: adopt() shuts it down
    ++ended_;
  }
  evbuffer_add_cb(bufferevent_get_input(stream), &Connections::on_input, &connection);
  evbuffer_add_cb(bufferevent_get_output(stream), &Connections::on_output, &connection);
  // If evhttp fails to make the connection, it frees the stream without a word.
  bufferevent_incref(stream);
  new_.push_back(stream);
  event_active(adopt_.get(), EV_TIMEOUT, 0);
}

void Connections::adopt() {
  for (auto* stream : std::exchange(new_, {})) {
    auto& connection = all_.at(stream);
    void* made = nullptr;  // null: evhttp has freed the stream
    bufferevent_getcb(stream, nullptr, nullptr, nullptr, &made);
    if (made == nullptr) {
      forget(connection);
    } else {
      evhttp_connection_set_closecb(
          static_cast<evhttp_connection*>(made),
          [](evhttp_connection*, void* value) {
            auto& one = *static_cast<Connection*>(value);
            one.owner->forget(one);
          },
          &connection);
      if (connection.is_ended) ::shutdown(bufferevent_getfd(stream), SHUT_RDWR);
    }
    bufferevent_decref(stream);
  }
}

void Connections::forget(Connection& connection) {
  evbuffer_remove_cb(bufferevent_get_input(connection.stream), &Connections::on_input, &connection);
  evbuffer_remove_cb(bufferevent_get_output(connection.stream), &Connections::on_output,
                     &connection);
  bytes_ -= connection.bytes;
  unread_ -= connection.unread;
  if (connection.is_ended) --ended_;
  all_.erase(connection.stream);
}

// The peer sees the end, and so does libevent, which then frees the connection. Safe anywhere.
void Connections::end(Connection& connection) {
  if (std::exchange(connection.is_ended, true)) return;
  ++connection.owner->ended_;
  connection.owner->unread_ -= std::exchange(connection.unread, 0);
  ::shutdown(bufferevent_getfd(connection.stream), SHUT_RDWR);
}

bool Connections::make_room() {
  if (all_.size() - ended_ < limits_.count) return true;
  // A handler's connection stays: its request is worth more than a new one.
  Connection* longest = nullptr;
  for (auto& [stream, one] : all_) {
    if (one.is_ended || one.is_served) continue;
    const bool is_better =
        longest == nullptr ||
        (one.is_idle != longest->is_idle ? one.is_idle : one.since < longest->since);
    if (is_better) longest = &one;
  }
  if (longest == nullptr) return false;
  end(*longest);
  return true;
}

void Connections::on_input(evbuffer* /*input*/, const evbuffer_cb_info* info, void* connection) {
  auto& one = *static_cast<Connection*>(connection);
  if (info->n_added > 0) one.owner->arrived(one, info->n_added);
}

void Connections::arrived(Connection& connection, std::size_t bytes) {
  if (std::exchange(connection.is_idle, false)) connection.since = std::chrono::steady_clock::now();
  connection.bytes += bytes;
  bytes_ += bytes;
  if (bytes_ > limits_.bytes || connection.bytes > limits_.bytes_of_one) end(connection);
}

void Connections::on_output(evbuffer* /*output*/, const evbuffer_cb_info* info, void* connection) {
  auto& one = *static_cast<Connection*>(connection);
  if (!one.is_ended) one.owner->answer_changed(one, *info);
}

void Connections::answer_changed(Connection& connection, const evbuffer_cb_info& info) {
  connection.unread += info.n_added - info.n_deleted;
  unread_ += info.n_added - info.n_deleted;
  if (info.n_added == 0) return;
  while (unread_ > limits_.unread) {
    auto* longest = longest_unread(connection);
    if (longest == nullptr) return;
    end(*longest);
  }
}

Connections::Connection* Connections::longest_unread(const Connection& but) {
  Connection* longest = nullptr;
  for (auto& [stream, one] : all_) {
    if (one.unread == 0 || &one == &but) continue;
    if (longest == nullptr || one.since < longest->since) longest = &one;
  }
  return longest;
}

// What is left in the stream is of the next request, sent early.
void Connections::recount(Connection& connection) {
  bytes_ -= connection.bytes;
  connection.bytes = evbuffer_get_length(bufferevent_get_input(connection.stream));
  bytes_ += connection.bytes;
}

void Connections::taken(evhttp_request* request) {
  auto* connection = find(request);
  if (connection == nullptr) return;
  recount(*connection);
  connection->is_idle = false;
  connection->is_served = true;
}

void Connections::answered(evhttp_request* request) {
  auto* connection = find(request);
  if (connection == nullptr) return;
  connection->is_served = false;
  connection->is_idle = connection->bytes == 0;
  connection->since = std::chrono::steady_clock::now();
}

void Connections::sweep() {
  const auto now = std::chrono::steady_clock::now();
  for (auto& [stream, one] : all_) {
    const auto time = one.is_idle ? limits_.idle_time : limits_.request_time;
    if (!one.is_served && now - one.since > time) end(one);
  }
}

Connections::Connection* Connections::find(evhttp_request* request) {
  auto* connection = evhttp_request_get_connection(request);
  if (connection == nullptr) return nullptr;  // the peer has gone
  const auto found = all_.find(evhttp_connection_get_bufferevent(connection));
  return found == all_.end() ? nullptr : &found->second;
}

}  // namespace tranche::http
