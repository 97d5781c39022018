#include "kernel/emulate/ptx_forms.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kw {

void add_ptx_forms(const PtxModule& module, PtxForms& forms) {
  for (const PtxFunction& function : module.functions) {
    for (const PtxInstruction& instruction : function.body) ++forms[instruction.form()];
  }
}

std::string ptx_forms_text(const PtxForms& forms) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(forms.begin(), forms.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [form, count] : sorted) {
    std::string number = std::to_string(count);
    if (number.size() < 7) number.insert(0, 7 - number.size(), ' ');
    text += number + ' ' + form + '\n';
  }
  return text;
}

}  // namespace kw
