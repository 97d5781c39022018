#pragma once
// A kernel file made safe to show to a model or a person, and to hand on to a compiler.
//
// 1. Characters: NUL, control, bidirectional, zero-width and other invisible characters and bytes that are not UTF-8
//    are removed from comments and become `.` in strings, `_` in names and a space elsewhere. Line ends become a plain
//    new line.
// 2. Comments become one space: they mean nothing to the compiler, and to a model they can be instructions. Their line
//    ends stay.
// 3. What the rules forbid is left out where the rest still makes sense without it, with the comment
//    `/* removed: RULE */` in its place: whole directives, attributes, asm statements, and calls that are a statement
//    of their own.
//
// A line of the result is the same line of the file, so positions in messages stay true. The result passes check_rules
// unless a forbidden construct is essential (`float* p = new float[n];`): that stays, and check_rules still reports it.
// sanitise(sanitise(x)) == sanitise(x).

#include <string>
#include <string_view>

#include "kernel/source/rules.h"

namespace kw {

std::string sanitise(std::string_view text, const Policy& policy = {});

}  // namespace kw
