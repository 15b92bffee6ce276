#pragma once
// Owning wrappers for libevent's types. Only for the files of this room.

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include <memory>

#include "http/freer.h"

namespace tranche::http {

using EventBase = std::unique_ptr<event_base, Freer<event_base_free>>;
using Event = std::unique_ptr<event, Freer<event_free>>;
using HttpServer = std::unique_ptr<evhttp, Freer<evhttp_free>>;

}  // namespace tranche::http
