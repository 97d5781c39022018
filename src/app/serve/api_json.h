#pragma once
// What all handlers answer with.

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <string>

#include "base/http/http_message.h"

namespace kw {

using Json = nlohmann::ordered_json;

// Texts of models, tasks and databases may hold any bytes: what is not UTF-8 is replaced, never thrown over.
inline std::string dump_json(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
inline HttpResponse json_response(const Json& json, int status = 200) {
  return {status, "application/json", dump_json(json), {}};
}
inline HttpResponse busy_response() { return http_error(503, "too much is waiting; try again in a moment"); }
inline HttpResponse event_stream() { return {200, "text/event-stream", "", {{"Cache-Control", "no-store"}}}; }

// JSON has no NaN.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace kw
