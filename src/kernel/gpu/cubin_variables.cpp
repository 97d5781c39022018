#include "kernel/gpu/cubin_variables.h"

#include <elf.h>

#include <cctype>
#include <cstring>
#include <optional>

namespace kw {
namespace {

// A record at an offset, if all of it is there.
template <class T>
std::optional<T> record(std::string_view image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::string_view image, const Elf64_Shdr& table, std::uint64_t offset) {
  if (offset >= table.sh_size || table.sh_offset > image.size() || image.size() - table.sh_offset <= offset) return "";
  const std::string_view rest = image.substr(table.sh_offset + offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::vector<std::string> of_cubin(std::string_view image) {
  std::vector<std::string> names;
  const auto head = record<Elf64_Ehdr>(image, 0);
  if (!head || head->e_shentsize != sizeof(Elf64_Shdr)) return names;
  std::vector<Elf64_Shdr> sections;
  for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto section = record<Elf64_Shdr>(image, head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return names;
    sections.push_back(*section);
  }
  if (head->e_shstrndx >= sections.size()) return names;
  for (const Elf64_Shdr& symbols : sections) {
    if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= sections.size()) continue;
    for (std::uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = record<Elf64_Sym>(image, symbols.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return names;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx >= sections.size()) continue;
      const std::string section = text_at(image, sections[head->e_shstrndx], sections[symbol->st_shndx].sh_name);
      if (section.rfind(".nv.global", 0) != 0) continue;
      const std::string name = text_at(image, sections[symbols.sh_link], symbol->st_name);
      if (!name.empty() && symbol->st_size > 0) names.push_back(name);
    }
  }
  return names;
}

// "[.visible] .global .align 4 .u32 NAME;", "... NAME[16] = {...};"
std::vector<std::string> of_ptx(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find(".global"); at != std::string_view::npos; at = text.find(".global", at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::string_view before = text.substr(line, at - line);
    const std::size_t first = before.find_first_not_of(" \t");
    // An instruction's state space follows its opcode.
    if (first != std::string_view::npos && before.substr(first).rfind(".", 0) != 0) continue;
    const std::size_t end = text.find_first_of(";=[", at);
    if (end == std::string_view::npos) break;
    std::size_t last = end;
    while (last > at && std::isspace(static_cast<unsigned char>(text[last - 1]))) --last;
    std::size_t start = last;
    while (start > at && !std::isspace(static_cast<unsigned char>(text[start - 1]))) --start;
    names.emplace_back(text.substr(start, last - start));
  }
  return names;
}

}  // namespace

std::vector<std::string> global_variables(std::string_view image) {
  return image.rfind("\177ELF", 0) == 0 ? of_cubin(image) : of_ptx(image);
}

}  // namespace kw
