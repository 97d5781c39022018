// Pieces of kernels' text.

#include <fmt/format.h>

#include <cctype>

#include "agents/program/program_writer.h"

namespace kw::program {
namespace {

// `i1` in `x[i1]`, and not in `x[i12]`.
bool names_it(const std::string& line, const std::string& name) {
  const auto part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !part_of_name(line[at - 1])) && (end == line.size() || !part_of_name(line[end]))) return true;
  }
  return false;
}

}  // namespace

void KernelText::take_over(const KernelText& part) {
  reads.insert(part.reads.begin(), part.reads.end());
  for (const std::string& name : part.sizes)
    if (!has_size(name)) sizes.push_back(name);
  axes.insert(part.axes.begin(), part.axes.end());
}

std::string bracketed(const Extent& extent) {
  const std::string text = extent.text();
  return text.find_first_of(" -") == std::string::npos ? text : "(" + text + ")";
}

std::string indented(const std::string& lines) {
  std::string made;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    made.append(4, ' ').append(lines, at, end - at);
    at = end;
  }
  return made;
}

void decode_axes(KernelText& kernel, const std::string& flat, const std::vector<AxisExtent>& axes,
                 const std::string& lines) {
  std::string rest = flat;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto& [axis, length] = axes[i];
    const std::string extent = bracketed(length), name = axis_name(axis);
    if (names_it(lines, name))
      kernel.add(fmt::format("const int {} = {};", name, i == 0 ? rest : fmt::format("{} % {}", rest, extent)));
    if (i == 0) break;
    kernel.note(length);
    rest = fmt::format("{} / {}", rest, extent);
  }
}

}  // namespace kw::program
