#pragma once
// Which request is answered by what (docs/service.md describes all of them, web/openapi.json for programs).

#include "app/serve/service_parts.h"
#include "base/http/router.h"

namespace kw {

// The parts outlive the router. Routes whose parts are not loaded yet answer 503.
void add_routes(Router& router, ServiceParts& parts);

}  // namespace kw
