#pragma once
// For the fuzzer: changes PTX text by whole words, so that most results still parse and reach the engine. Lines are
// dropped, doubled, moved, taken from a stock; opcodes, modifiers, registers and numbers are exchanged.

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace kw {

class PtxMutator {
 public:
  PtxMutator(std::string_view text, std::uint64_t seed) : random_(seed) {
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void mutate() {
    for (std::int64_t left = random_.integer(1, 4); left > 0; --left) change();
  }
  // Statements of another program, somewhere in this one.
  void take_from(const PtxMutator& other) {
    std::vector<std::size_t> there = other.statements(), here = statements();
    if (there.empty() || here.empty()) return;
    std::size_t from = pick(there.size());
    std::size_t count = std::min(there.size() - from, 1 + pick(6));
    std::size_t at = here[pick(here.size())];
    for (std::size_t i = 0; i < count; ++i)
      lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(at + i), other.lines_[there[from + i]]);
  }

  std::string text() const {
    std::string result;
    for (const std::string& line : lines_) result += line + '\n';
    return result;
  }

 private:
  struct Word {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  enum class WordKind { opcode, modifier, reg, number, name };

  std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(count) - 1));
  }
  template <std::size_t n>
  std::string pick(const std::array<const char*, n>& stock) {
    return stock[pick(n)];
  }

  // Lines inside a body: they end in a semicolon and declare nothing.
  std::vector<std::size_t> statements() const {
    std::vector<std::size_t> found;
    bool inside = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string& line = lines_[i];
      if (line.find('{') == 0) inside = true;
      if (line.find('}') == 0) inside = false;
      if (inside && line.find(';') != std::string::npos && line[0] != '.') found.push_back(i);
    }
    return found;
  }

  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  // Modifiers keep their dot, registers their percent sign, negative numbers their sign.
  static std::vector<Word> words_of(const std::string& line) {
    std::vector<Word> words;
    for (std::size_t i = 0; i < line.size();) {
      bool prefix = (line[i] == '.' || line[i] == '%' || line[i] == '-') && i + 1 < line.size() && in_word(line[i + 1]);
      if (!prefix && !in_word(line[i])) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      while (end < line.size() && (in_word(line[end]) || (line[end] == ':' && line.compare(end, 2, "::") == 0) ||
                                   (line[end] == ':' && line[end - 1] == ':')))
        ++end;
      words.push_back({i, end - i});
      i = end;
    }
    return words;
  }
  static WordKind kind_of(const std::string& line, const Word& word) {
    char first = line[word.begin];
    if (first == '.') return WordKind::modifier;
    if (first == '%') return WordKind::reg;
    if (first == '-' || std::isdigit(static_cast<unsigned char>(first)) != 0) return WordKind::number;
    return word.begin + word.size < line.size() && (word.begin == 0 || line[word.begin - 1] == ' ') &&
                   line.find_first_of(",[({", 0) > word.begin && line[word.begin + word.size] != ':'
               ? WordKind::opcode
               : WordKind::name;
  }

  // Another word of that kind from anywhere in the program.
  std::string word_like(WordKind kind) {
    std::vector<std::string> found;
    for (const std::string& line : lines_)
      for (const Word& word : words_of(line))
        if (kind_of(line, word) == kind) found.push_back(line.substr(word.begin, word.size));
    return found.empty() ? "" : found[pick(found.size())];
  }

  void change_word(std::string& line) {
    static constexpr std::array<const char*, 34> modifiers = {
        ".u8",  ".s8",  ".b8",     ".u16",    ".s16",     ".b16",   ".f16",     ".f16x2", ".bf16",
        ".u32", ".s32", ".b32",    ".f32",    ".u64",     ".s64",   ".b64",     ".f64",   ".b128",
        ".v2",  ".v4",  ".global", ".shared", ".local",   ".const", ".param",   ".wide",  ".lo",
        ".hi",  ".sat", ".ftz",    ".rn",     ".aligned", ".sync",  ".volatile"};
    static constexpr std::array<const char*, 46> opcodes = {"add",
                                                            "sub",
                                                            "mul.lo",
                                                            "mad.lo",
                                                            "fma.rn",
                                                            "div",
                                                            "rem",
                                                            "min",
                                                            "max",
                                                            "abs",
                                                            "neg",
                                                            "and",
                                                            "or",
                                                            "xor",
                                                            "not",
                                                            "shl",
                                                            "shr",
                                                            "setp.lt",
                                                            "selp",
                                                            "mov",
                                                            "ld.global",
                                                            "st.global",
                                                            "ld.shared",
                                                            "st.shared",
                                                            "ld",
                                                            "st",
                                                            "ld.local",
                                                            "st.local",
                                                            "ld.param",
                                                            "atom.global.add",
                                                            "red.shared.max",
                                                            "atom.cas",
                                                            "cvt.u32",
                                                            "cvt.rn.f32",
                                                            "cvta.to.global",
                                                            "cvta.shared",
                                                            "isspacep.shared",
                                                            "shfl.sync.idx",
                                                            "vote.sync.all",
                                                            "match.any.sync",
                                                            "redux.sync.add",
                                                            "bfe",
                                                            "bfi",
                                                            "prmt",
                                                            "popc",
                                                            "ldu.global"};
    static constexpr std::array<const char*, 22> numbers = {"0",
                                                            "1",
                                                            "-1",
                                                            "2",
                                                            "3",
                                                            "4",
                                                            "7",
                                                            "8",
                                                            "15",
                                                            "16",
                                                            "31",
                                                            "32",
                                                            "33",
                                                            "64",
                                                            "255",
                                                            "256",
                                                            "4096",
                                                            "65536",
                                                            "0x7fffffff",
                                                            "0x80000000",
                                                            "0xffffffffffffffff",
                                                            "0x0001000000000000"};
    std::vector<Word> words = words_of(line);
    if (words.empty()) return;
    Word word = words[pick(words.size())];
    WordKind kind = kind_of(line, word);
    std::string other;
    bool stock = random_.integer(0, 2) != 0;
    if (kind == WordKind::modifier && stock) other = pick(modifiers);
    if (kind == WordKind::opcode && stock) other = pick(opcodes);
    if (kind == WordKind::number && stock) other = pick(numbers);
    if (kind == WordKind::modifier && !stock && random_.integer(0, 3) == 0) {
      line.erase(word.begin, word.size);
      return;
    }
    if (other.empty()) other = word_like(kind);
    if (!other.empty()) line.replace(word.begin, word.size, other);
  }

  void change() {
    static constexpr std::array<const char*, 24> stock = {"bar.sync 0;",
                                                          "bar.sync 1, 32;",
                                                          "barrier.sync 2;",
                                                          "bar.arrive 1, 64;",
                                                          "bar.warp.sync -1;",
                                                          "membar.gl;",
                                                          "mov.u32 %r3, %laneid;",
                                                          "mov.u32 %r4, %clock;",
                                                          "mov.u64 %rd3, %rd2;",
                                                          "activemask.b32 %r5;",
                                                          "shfl.sync.down.b32 %r6|%p2, %r5, 1, 31, -1;",
                                                          "vote.sync.ballot.b32 %r7, %p1, -1;",
                                                          "exit;",
                                                          "ret;",
                                                          "trap;",
                                                          "atom.global.add.u32 %r8, [%rd2], 1;",
                                                          "red.global.add.f32 [%rd2], %f1;",
                                                          "cp.async.wait_all;",
                                                          "cp.async.commit_group;",
                                                          "setp.eq.u32 %p1, %r3, %r4;",
                                                          "add.u64 %rd2, %rd2, 4;",
                                                          "mov.b64 {%r1, %r2}, %rd1;",
                                                          "mov.b32 %r1, {%rs1, %rs2};",
                                                          "elect.sync _|%p3, -1;"};
    std::vector<std::size_t> found = statements();
    if (found.empty()) return;
    std::size_t at = found[pick(found.size())];
    auto place = [&](std::size_t index) { return lines_.begin() + static_cast<std::ptrdiff_t>(index); };
    switch (pick(14)) {
      case 0:
        lines_.erase(place(at));
        return;
      case 1:
        lines_.insert(place(at), std::string(lines_[at]));
        return;
      case 2:
        std::swap(lines_[at], lines_[found[pick(found.size())]]);
        return;
      case 3:
        lines_.insert(place(at), pick(stock));
        return;
      case 4: {  // a guard comes or goes
        std::string& line = lines_[at];
        std::size_t space = line.find(' ');
        if (line[0] == '@')
          line.erase(0, space == std::string::npos ? 0 : space + 1);
        else
          line.insert(0, random_.integer(0, 1) != 0 ? "@%p1 " : "@!%p2 ");
        return;
      }
      case 5:  // also declarations, sizes, launch bounds
        change_word(lines_[pick(lines_.size())]);
        return;
      default:
        change_word(lines_[at]);
        return;
    }
  }

  Random random_;
  std::vector<std::string> lines_;
};

}  // namespace kw
