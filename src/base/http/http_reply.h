#pragma once
// How a handler answers: at once or later, from any thread, in one piece or as a stream.

#include <functional>
#include <string>

#include "base/http/http_message.h"

namespace kw {

// Thread-safe, held by shared_ptr; exactly one of respond() or begin_stream() ... end_stream(). If the last holder lets
// go of it without an answer, the client gets a 500; a stream that was not ended is cut, so that the client can tell.
//
// A client that closes its sending side counts as gone. An answer that is made nevertheless is still sent, because a
// client that sends, half-closes and waits looks the same.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  virtual void respond(HttpResponse response) = 0;
  // The body of head is sent first and may be empty. Each write() of a text/event-stream must hold whole events: the
  // server puts ": keep-alive" comments between writes when nothing was written for a while.
  virtual void begin_stream(HttpResponse head) = 0;
  // false: the client is gone, or it left max_unsent_bytes unread and is cut off. What is written then is lost.
  virtual bool write(std::string chunk) = 0;
  virtual void end_stream() = 0;
  // `then` runs once, when the client goes away before the answer is complete: on an I/O thread, which it must not
  // block, or at once if the client has gone already. It must not hold the reply, which could then never be let go.
  virtual void on_gone(std::function<void()> then) = 0;
  virtual bool gone() const = 0;
  // What write() took and the client's system has not: who has much to write waits while this is high.
  virtual std::size_t unsent_bytes() const { return 0; }
};

}  // namespace kw
