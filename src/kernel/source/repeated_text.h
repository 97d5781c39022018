#pragma once
// For tests and benchmarks: texts of one piece over and over. Each of them has made some reader need time that grows
// with the square of what it reads. Tests see that they are read at all; how the time grows says growth_bench.

#include <string>
#include <vector>

namespace kw {

struct RepeatedText {
  std::string name;
  std::string head;
  std::string piece;
  std::string tail{};

  std::string of_bytes(std::size_t bytes) const {
    std::string text = head;
    text.reserve(bytes + tail.size());
    while (text.size() + piece.size() < bytes) text += piece;
    return text + tail;
  }
};

inline std::vector<RepeatedText> repeated_tokens() {
  std::vector<RepeatedText> texts;
  for (const char* piece : {"\\\n", "R\"(", "/*", "#\n", "a\\\nb ", "'", "#include <"})
    texts.push_back({piece, "", piece, ""});
  return texts;
}

inline std::vector<RepeatedText> repeated_declarations() {
  std::vector<RepeatedText> texts;
  for (const char* piece : {"template <", ">(", "a<", "(a<", "f(a)", "using namespace a;", "int a;",
                            "struct s { int a; };", "template <class T> void f(T<T<T<", "enum e {a,", "extern \"C\" {",
                            "#define A B\n", "[[a]]", "operator", "a::"})
    texts.push_back({piece, "", piece, ""});
  std::string prototypes;
  for (int i = 0; i < 20'000; ++i) prototypes += "int f(int);";
  texts.push_back({"prototypes and definitions", prototypes, "int f(int){}", ""});
  std::string parameters = "#define F(a0";
  for (int i = 1; i < 20'000; ++i) parameters += ",a" + std::to_string(i);
  texts.push_back({"parameters of a macro", parameters + ") ", "a9 ", "\n"});
  return texts;
}

inline std::vector<RepeatedText> repeated_statements() {
  return {
      {"brackets", "", "("},
      {"braces", "", "{"},
      {"groups", "int a = ", "{} "},
      {"structs", "", "struct {} "},
      {"heads of classes", "", "class A : class B "},
      {"members of classes", "", "struct A { virtual int f() = 0; A(); };"},
      {"nested classes", "", "struct A { int f(); "},
      {"attributes", "", "[["},
      {"attribute list", "", "[[x [[y,"},
      {"asm", "", "asm("},
      {"nested asm", "__device__ void f() {", "asm(\"\":"},
      {"asm words", "__device__ void f() { asm(\"", "trap; ", "\"); }"},
      {"calls", "__global__ void f() {", "printf(1);"},
      {"nested calls", "__global__ void f() {", "printf("},
      {"new", "__global__ void f() {", "new ("},
      {"one define", "#define A ", "x ", "\nA A A A A A A A\n"},
      {"defines", "", "#define A A\nA "},
      {"conditional defines", "", "#if X\n#define A x\n#endif\n"},
      {"undefs", "", "#undef A\n#define A\n"},
      {"macro calls", "#define F(x) x x\n", "F("},
      {"macro arguments", "#define F(...) __VA_ARGS__\nF(", "x,", ")"},
      {"macro chain", "#define F(x) x\n", "F(F(F(F(F(x)))))"},
      {"strings", "", "\"a\""},
      {"open strings", "", "\"\n"},
      {"raw strings", "", "R\"(\n"},
      {"comments", "", "/* */"},
      {"splices", "", "a\\\n"},
      {"hidden", "", "\xE2\x80\xAE"},
      {"trigraphs", "", "?\?="},
      {"directive tokens", "#pragma ", "x "},
      {"includes", "", "#include \"/etc/passwd\"\n"},
      {"arrays", "", "int a[1<<30];"},
      {"indices", "__device__ int s; __device__ void f() {", "s["},
      {"statics", "__device__ void f() {", "static "},
      {"casts", "__device__ void f() {", "(float*)1"},
      {"loops", "__device__ void f() {", "while(true){"},
      {"templates", "", "template <"},
      {"zeros", "", std::string(1, '\0')},
      {"bytes", "", "\xff"},
  };
}

}  // namespace kw
