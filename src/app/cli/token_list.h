#pragma once
// Token sequences on the command line: "1,2,3", and "1,2;3" for two of them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cli {

Result<std::vector<std::vector<std::int32_t>>> parse_token_list(const std::string& text);

}  // namespace kw::cli
