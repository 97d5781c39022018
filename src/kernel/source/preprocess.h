#pragma once
// The host compiler's view of a CUDA file: macros expanded, conditionals decided, includes recorded and not followed.
// Bounded, so that a macro bomb is an error with its line.

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/source/lexer.h"

namespace kw {

struct IncludeLine {
  std::string name;     // without <> or quotes
  bool angled = false;  // <name>
  Position where;
};

// A token's position is the user's: its own, or that of the whole macro invocation that produced it (offset and bytes
// then cover the invocation with its arguments). Tokens that a macro passes through from its arguments keep their own.
struct PreprocessedSource {
  std::vector<Token> tokens;  // no directives
  std::vector<IncludeLine> includes;
  std::deque<std::string> made;  // texts of pasted and stringised tokens, which `tokens` point into
};

struct PreprocessLimits {
  std::size_t max_tokens = 400'000;  // read or produced, over the whole file
  int max_depth = 64;                // nested macro arguments and conditionals
};

Result<PreprocessedSource> preprocess(const TokenStream& stream, const PreprocessLimits& limits = {});

}  // namespace kw
