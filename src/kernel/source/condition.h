#pragma once
// The constant expressions of #if: 64-bit integers, every remaining name is 0.

#include <span>
#include <string_view>

#include "base/result.h"
#include "kernel/source/lexer.h"

namespace kw {

// The value of an #if line whose macros are expanded and whose `defined` are decided.
Result<bool> evaluate_condition(std::span<const Token> tokens, const Token& directive, std::string_view file);

}  // namespace kw
