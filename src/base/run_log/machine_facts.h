#pragma once
// What a result was measured on: processor, memory, system, GPUs, program. No names of people, hosts or folders.

#include <nlohmann/json.hpp>

namespace kw {

nlohmann::ordered_json machine_facts();

}  // namespace kw
