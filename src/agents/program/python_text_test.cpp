#include "agents/program/python_text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::string function(const std::string& body) { return "def reference(x, n: int):\n    " + body + "\n"; }

TEST(PythonText, ReadsAssignmentsAndReturns) {
  const auto parsed = parse_python(
      "# first\n\ndef reference(x, n: int) -> Tensor:\n    a, b = x.chunk(2, -1)  # halves\n    c = (a +\n         b)\n"
      "    return c[:, None, 1:-1], -b ** 2\n");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->parameters.size(), 2u);
  EXPECT_TRUE(parsed->parameters[1].whole_number);
  ASSERT_EQ(parsed->assignments.size(), 2u);
  EXPECT_EQ(parsed->assignments[0].names, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(parsed->results.size(), 2u);
  // A power binds tighter than its sign.
  EXPECT_EQ(parsed->nodes[static_cast<std::size_t>(parsed->results[1])].kind, PythonKind::minus);
}

TEST(PythonText, ReadsAugmentedAssignments) {
  const auto parsed = parse_python(function("x += n\n    return ~x"));
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->assignments.size(), 1u);
  const PythonNode& sum = parsed->nodes[static_cast<std::size_t>(parsed->assignments[0].value)];
  EXPECT_EQ(sum.kind, PythonKind::binary);
  EXPECT_EQ(sum.text, "+");
}

TEST(PythonText, DoesNotUnderstandTheRest) {
  for (const char* body : {"return",
                           "return x if n else x",
                           "for i in range(n):",
                           "x <<= 1\n    return x",
                           "return [i for i in x]",
                           "return lambda a: a",
                           "return x and n",
                           "return not x",
                           "return 0x10",
                           "return 1_000",
                           "return 2j",
                           "return 1.2.3",
                           "return 1e",
                           "return 'a\\n'",
                           "return \"",
                           "return (x",
                           "return x)",
                           "return x]",
                           "return x[]",
                           "return f'{x}'",
                           "return 1 < x < 2",
                           "return x\n    return x",
                           "return *x",
                           "return x; y = 1",
                           "return x ? n",
                           "return \xc3\xa9",
                           "return x\\\n + n",
                           "y: 3 = x\n    return y"})
    EXPECT_FALSE(parse_python(function(body))) << body;
  EXPECT_FALSE(parse_python(""));
  EXPECT_FALSE(parse_python("import os"));
  EXPECT_FALSE(parse_python("def other(x):\n    return x"));
}

TEST(PythonText, KeepsItsLimits) {
  EXPECT_FALSE(parse_python(function("return " + std::string(1 << 20, '('))));
  EXPECT_FALSE(parse_python(function("return " + std::string(1 << 20, 'x'))));
  for (const std::string open : {"(", "[", "-", "abs(", "x[", "x ** "})
    for (const int depth : {30, 100, 2000}) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += open;
      text += "x";
      const char last = open[open.size() - 1];
      if (last == '(' || last == '[') text += std::string(static_cast<std::size_t>(depth), last == '(' ? ')' : ']');
      const auto parsed = parse_python(function("return " + text));
      if (depth > 100) {
        EXPECT_FALSE(parsed) << open;
      }
    }
  std::string sum = "x";
  for (int i = 0; i < 900; ++i) sum += " + x";
  EXPECT_TRUE(parse_python(function("return " + sum)));
  for (int i = 0; i < 900; ++i) sum += " + x";
  EXPECT_FALSE(parse_python(function("return " + sum)));
}

}  // namespace
}  // namespace kw
