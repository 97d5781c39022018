#pragma once
// For tests and benchmarks: answers of one piece over and over (see kernel/source/repeated_text.h).

#include "kernel/source/repeated_text.h"

namespace kw {

inline std::vector<RepeatedText> repeated_answers() {
  std::vector<RepeatedText> texts;
  for (const char* piece :
       {"```cuda\nvoid launch(", "void launch(", "``` ~~~ ", "/*", "\"\\\n", "R\"(", "{[(", "```\n{\n", "<|", "//\n",
        "~~~\n```\n", "\\\n", "#define a \\\n", "__global__ ", "</think>", "```cuda\n/*\n```\n*/\n"})
    texts.push_back({piece, "", piece});
  return texts;
}

}  // namespace kw
