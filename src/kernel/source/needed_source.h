#pragma once
// The part of a kernel file that its launch needs. Files of public code bases come with a benchmark in `main`, kernels
// for other types, classes that read files, headers of other frameworks. Whatever of that a rule, the interpreter or
// the compiler refuses says nothing about the kernel that is launched, so it can be left out and the rest be judged.
//
// This is text in, text out: what is judged instead of the file is the result alone, with all rules, by all readers.
// So nothing can hide in what is left out, however wrong the guess what is needed may be: at worst the rest does not
// compile.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The text with what is not needed replaced by spaces, so that lines and columns stay the user's. Left out are:
// branches that the file's own macros decide, includes that no kernel file may have, macros that nobody uses, what is
// declared at file level and whose name nothing that `launch` reaches mentions, members of classes likewise. Nothing
// when all is needed, or when the file has no launcher.
std::optional<std::string> needed_source(std::string_view text, std::string_view file);

// Steps of it, each for a text that the one before has made; they return whether they left something out.
bool leave_out_bytes_in_comments(std::string& text);   // that are not UTF-8
bool leave_out_dead_branches(std::string& text);       // needed_branches.cpp
bool leave_out_foreign_includes(std::string& text);    // needed_branches.cpp
bool leave_out_macros(std::string& text);              // needed_branches.cpp
bool leave_out_declarations(std::string& text);        // needed_declarations.cpp
bool leave_out_members(std::string& text);             // needed_members.cpp
bool leave_out_lambda_annotations(std::string& text);  // needed_members.cpp

struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  friend auto operator<=>(const TextRange&, const TextRange&) = default;
};

// Spaces instead of these ranges; line ends stay, and so do preprocessor lines when `keep_directives`.
void blank(std::string& text, const std::vector<TextRange>& ranges, bool keep_directives);

}  // namespace kw
