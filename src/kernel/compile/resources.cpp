#include "kernel/compile/resources.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "kernel/compile/ptx.h"

namespace kw {
namespace {

constexpr std::size_t max_entries = 65'536;

// The whole number that stands right before `words` in the line: "Used 31 registers".
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + at, value);
  if (error != std::errc{} || end != line.data() + at) return std::nullopt;
  return value;
}

void take(std::string_view line, std::string_view words, int& into) {
  if (const std::optional<int> value = number_before(line, words)) into = *value;
}

std::optional<std::string_view> quoted_name(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = at + before.size();
  const std::size_t end = line.find('\'', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return line.substr(begin, end - begin);
}

// __constant__ variables live in bank 3, in the section `.nv.constant3` of the cubin (an ELF file).
int constant_bank_bytes(std::string_view cubin) {
  Elf64_Ehdr head{};
  if (cubin.size() < sizeof head) return 0;
  std::memcpy(&head, cubin.data(), sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(Elf64_Shdr)) return 0;
  const auto section = [&](std::size_t index) -> std::optional<Elf64_Shdr> {
    Elf64_Shdr entry{};
    const std::uint64_t offset = head.e_shoff + index * sizeof entry;
    if (head.e_shoff > cubin.size() || offset > cubin.size() || cubin.size() - offset < sizeof entry)
      return std::nullopt;
    std::memcpy(&entry, cubin.data() + offset, sizeof entry);
    return entry;
  };
  const std::optional<Elf64_Shdr> names = section(head.e_shstrndx);
  if (!names || names->sh_offset > cubin.size() || names->sh_size > cubin.size() - names->sh_offset) return 0;
  const std::string_view table = cubin.substr(names->sh_offset, names->sh_size);
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    const std::optional<Elf64_Shdr> entry = section(i);
    if (!entry || entry->sh_name >= table.size()) continue;
    const std::string_view rest = table.substr(entry->sh_name);
    if (rest.substr(0, rest.find('\0')) == ".nv.constant3") {
      return static_cast<int>(std::min<std::uint64_t>(entry->sh_size, 1u << 30));
    }
  }
  return 0;
}

}  // namespace

std::vector<EntryResources> parse_resources(std::string_view log, std::string_view ptx, std::string_view cubin) {
  std::vector<EntryResources> entries;
  std::unordered_map<std::string, std::size_t> index;
  for (PtxEntry& entry : ptx_entries(ptx)) {
    if (entries.size() >= max_entries) break;
    index.emplace(entry.symbol, entries.size());
    KernelResources resources;
    resources.max_threads = entry.max_threads;
    entries.push_back({std::move(entry.symbol), resources});
  }

  const int constants = constant_bank_bytes(cubin);
  KernelResources* current = nullptr;  // the entry that the next lines speak of
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (line.rfind("ptxas ", 0) != 0) continue;
    if (const auto symbol = quoted_name(line, "Compiling entry function '")) {
      const auto found = index.find(std::string(*symbol));
      current = found == index.end() ? nullptr : &entries[found->second].resources;
      // Messages of the front end come first and may imitate these lines; what ptxas says is last, and holds.
      if (current != nullptr) *current = KernelResources{.max_threads = current->max_threads};
    } else if (current != nullptr && line.find(" bytes stack frame") != std::string_view::npos) {
      take(line, " bytes stack frame", current->stack_bytes);
      take(line, " bytes spill stores", current->spill_store_bytes);
      take(line, " bytes spill loads", current->spill_load_bytes);
    } else if (current != nullptr && line.find(" registers") != std::string_view::npos) {
      take(line, " registers", current->registers);
      take(line, " barriers", current->barriers);
      take(line, " bytes smem", current->static_shared_bytes);
      current->constant_bytes = constants;
      current->known = true;
      // Device functions that were not inlined come after their kernel.
      current = nullptr;
    }
  }
  return entries;
}

}  // namespace kw
