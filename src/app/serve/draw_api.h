#pragma once
// POST /v1/draw: tasks of the grammar (docs/data.md), for programs that train or test models of their own on an endless
// stream of them.

#include "app/serve/request_fields.h"

namespace kw {

inline constexpr std::int64_t most_drawn_tasks = 256;  // of one request

// Members: seed, split (train, composition or novel), first, count, families. Task i of a seed and split is always the
// same; it has its naive kernel, against which speedups are stated.
HttpResponse draw_response(const HttpRequest& request);

}  // namespace kw
