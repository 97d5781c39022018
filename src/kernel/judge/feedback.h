#pragma once
// What an agent is told about its kernel: short, concrete, most important first.

#include <string>
#include <string_view>

#include "kernel/judge/verdict.h"

namespace kw {

std::string feedback_text(const Verdict& verdict, std::string_view kernel_text);

}  // namespace kw
