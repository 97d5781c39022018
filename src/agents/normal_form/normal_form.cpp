#include "agents/normal_form/normal_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "agents/grammar/grammar.h"
#include "agents/normal_form/fixed_shapes.h"
#include "agents/normal_form/phrasing.h"

namespace kw {
namespace {

bool stands_in(const std::vector<RoleNames>& lists, std::string_view name) {
  return std::any_of(lists.begin(), lists.end(),
                     [&](RoleNames list) { return std::find(list.begin(), list.end(), name) != list.end(); });
}

std::vector<std::string> names_of(const Task& task) {
  std::vector<std::string> all = task.size_names;
  for (const TensorSpec& input : task.inputs) all.push_back(input.name);
  for (const TensorSpec& output : task.outputs) all.push_back(output.name);
  return all;
}

// A name that its role knows stays; the others get the first of their lists that is free. `clear`: none that means
// something else elsewhere.
Renaming rename(const std::vector<Role>& roles, const Task& task, bool clear) {
  std::set<std::string> taken;
  const auto role_of = [&](const std::string& name) {
    return std::find_if(roles.begin(), roles.end(), [&](const Role& role) { return role.name == name; });
  };
  const auto stays = [&](const Role& role) {
    return stands_in(role.lists, role.name) && !(clear && stands_in({role.elsewhere}, role.name));
  };
  for (const std::string& name : names_of(task)) {
    const auto role = role_of(name);
    if (role == roles.end() || stays(*role)) taken.insert(name);
  }
  Renaming renamed;
  for (const Role& role : roles) {
    if (stays(role)) continue;
    std::string chosen;
    for (const RoleNames list : role.lists)
      for (const std::string_view name : list)
        if (chosen.empty() && !taken.contains(std::string(name)) && (!clear || !stands_in({role.elsewhere}, name)))
          chosen = name;
    for (int number = 2; chosen.empty(); ++number)
      if (const std::string next = fmt::format("{}{}", role.lists[0][0], number); !taken.contains(next)) chosen = next;
    taken.insert(chosen);
    renamed[role.name] = chosen;
  }
  return renamed;
}

std::string renamed_text(const std::string& text, const Renaming& renamed) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    if (end == at) {
      made += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    const auto found = renamed.find(word);
    made += found == renamed.end() ? word : found->second;
    at = end;
  }
  return made;
}

void rename(Expression& expression, const Renaming& renamed) {
  const auto parsed = Expression::parse(renamed_text(expression.text(), renamed));
  if (parsed.ok()) expression = *parsed;
}

void rename(std::vector<Sizes>& list, const Renaming& renamed) {
  for (Sizes& sizes : list) {
    Sizes made;
    for (const auto& [name, value] : sizes) made[renamed_text(name, renamed)] = value;
    sizes = std::move(made);
  }
}

void rename(Task& task, const Renaming& renamed) {
  for (auto* side : {&task.inputs, &task.outputs}) {
    for (TensorSpec& tensor : *side) {
      tensor.name = renamed_text(tensor.name, renamed);
      for (Expression& extent : tensor.shape) rename(extent, renamed);
      if (auto* range = std::get_if<IntegerValues>(&tensor.values)) {
        rename(range->low, renamed);
        rename(range->high, renamed);
      }
    }
  }
  for (std::string& name : task.size_names) name = renamed_text(name, renamed);
  for (auto* list : {&task.sizes_small, &task.sizes_train, &task.sizes_holdout}) rename(*list, renamed);
}

// Whether two extents are the same for all sizes of the task.
bool same_extent(const Expression& one, const Expression& other, const Task& task) {
  for (const Sizes& sizes : task.all_sizes()) {
    const auto a = one.evaluate(sizes), b = other.evaluate(sizes);
    if (!a.ok() || !b.ok() || *a != *b) return false;
  }
  return true;
}

// The output of pooling and convolutions: its lengths as the grammar writes them.
bool write_window_shape(const Operation& operation, const TaskFrame& frame, Task& task) {
  if (frame.core < 0) return false;
  const Term& core = operation.book.at(frame.core);
  const bool pooling = core.text.find("_pool") != std::string::npos, convolution = core.text.starts_with("conv");
  if (!pooling && !convolution) return false;
  const TermShape& from = operation.book.at(pooling ? frame.pre : core.parts[0]).shape;
  std::vector<Expression>& shape = task.outputs[0].shape;
  if (!from || from->size() != shape.size()) return false;
  std::int64_t window = core.numbers[0];
  if (convolution) {
    const auto taps = Expression::parse(operation.book.at(core.parts[1]).shape->back());
    const auto known = taps.ok() ? taps->evaluate({}) : Result<std::int64_t>(0);
    window = known.ok() ? *known : 0;
  }
  if (window < 1 || window > 1000) return false;
  const auto stride = core.numbers[pooling ? 1 : 0], padding = core.numbers[pooling ? 2 : 1];
  bool changed = false;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    const auto extent = Expression::parse(
        window_extent((*from)[i], static_cast<int>(window), static_cast<int>(stride), static_cast<int>(padding)));
    if (!extent.ok() || extent->text() == shape[i].text() || !same_extent(*extent, shape[i], task)) continue;
    shape[i] = *extent;
    changed = true;
  }
  return changed;
}

// Inputs in the order in which drawn tasks have them, sizes in the order in which they then appear.
void reorder(Task& task, const std::vector<Role>& roles, const Renaming& renamed) {
  std::vector<TensorSpec> ordered;
  for (const Role& role : roles)
    for (const TensorSpec& input : task.inputs)
      if (input.name == renamed_text(role.name, renamed)) ordered.push_back(input);
  if (ordered.size() != task.inputs.size()) return;  // one that nothing uses
  task.inputs = std::move(ordered);
  std::vector<std::string> names;
  for (const auto* side : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *side)
      for (const Expression& extent : tensor.shape)
        for (const std::string& name : extent.names())
          if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  if (names.size() == task.size_names.size()) task.size_names = std::move(names);
}

// Place of each of the launcher's parameters among those of `before`; empty: all stand where they stood.
std::vector<std::size_t> places_in(const Task& before, const Task& now) {
  const std::vector<Parameter> from = before.parameters(), to = now.parameters();
  std::vector<std::size_t> places;
  bool moved = false;
  for (std::size_t i = 0; i + 1 < to.size(); ++i) {
    const auto found = std::find_if(from.begin(), from.end(), [&](const Parameter& each) {
      return each.name == to[i].name && (each.role == Parameter::Role::size) == (to[i].role == Parameter::Role::size);
    });
    places.push_back(static_cast<std::size_t>(found - from.begin()));
    moved = moved || places.back() != i;
  }
  if (!moved) places.clear();
  return places;
}

std::string function_text(const Task& task, const std::vector<std::string>& parameters, const std::string& lines) {
  std::string list;
  for (const std::string& name : parameters) list += (list.empty() ? "" : ", ") + name;
  std::string text = "def reference(" + list + "):\n";
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text += "    " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  // A text without a line end stays one.
  if (!task.pytorch.ends_with("\n")) text.pop_back();
  return text;
}

// roles: none where names and order are kept.
NormalForm written(const Task& task, const Operation& operation, const TaskFrame& frame, const Renaming& renamed,
                   const std::vector<Role>& roles) {
  NormalForm form{task, false, {renamed.begin(), renamed.end()}, {}, {}, ""};
  form.changed = write_window_shape(operation, frame, form.task) || !renamed.empty();
  rename(form.task, renamed);
  const std::string lines = phrase(operation, frame, renamed, names_of(form.task));
  std::vector<std::string> parameters;
  for (const std::string& name : operation.parameters) parameters.push_back(renamed_text(name, renamed));
  const Task before = form.task;
  reorder(form.task, roles, renamed);
  form.places = places_in(before, form.task);
  if (!form.places.empty()) {
    parameters.clear();
    for (const TensorSpec& input : form.task.inputs) parameters.push_back(input.name);
    form.changed = true;
  }
  form.task.pytorch = function_text(task, parameters, lines);
  form.changed = form.changed || form.task.pytorch != task.pytorch;
  return form;
}

NormalForm with_extents_as_they_are(const Task& task, AskedNames names) {
  const auto as_written = [&](const Error& reason) { return NormalForm{task, false, {}, {}, {}, reason.message}; };
  if (task.outputs.size() != 1) return as_written(not_known("a task with several outputs"));
  const auto operation = read_operation(task);
  if (!operation) return as_written(operation.error());
  const auto frame = frame_of(*operation, task);
  if (!frame) return as_written(frame.error());
  if (names == AskedNames::kept) return written(task, *operation, *frame, {}, {});
  const std::vector<Role> roles = roles_of(*operation, *frame, task);
  const NormalForm form = written(task, *operation, *frame, rename(roles, task, false), roles);
  return form.changed ? written(task, *operation, *frame, rename(roles, task, true), roles) : form;
}

// The form of a task whose numbers were named, as one of the task itself: what the launcher has in addition is listed
// apart, and the other parameters' places are those in the task's launcher.
NormalForm without_names(NormalForm form, const NamedShapes& shapes) {
  const std::vector<Parameter> asked = form.task.parameters(), named = shapes.task.parameters();
  const auto is_made = [&](const std::string& name) {
    return std::ranges::find(shapes.names, name) != shapes.names.end();
  };
  std::vector<std::size_t> place_in_task;  // of each parameter of the named task
  std::size_t count = 0;
  for (const Parameter& each : named) {
    place_in_task.push_back(count);
    count += each.role == Parameter::Role::size && is_made(each.name) ? 0 : 1;
  }
  std::vector<std::size_t> places;
  bool moved = false;
  for (std::size_t j = 0; j + 1 < asked.size(); ++j) {
    const std::size_t from = form.places.empty() ? j : form.places[j];
    if (named[from].role == Parameter::Role::size && is_made(named[from].name)) {
      form.named_extents.push_back({j, asked[j].name, shapes.task.sizes_small.at(0).at(named[from].name)});
      continue;
    }
    moved = moved || place_in_task[from] != places.size();
    places.push_back(place_in_task[from]);
  }
  form.places = moved ? std::move(places) : std::vector<std::size_t>();
  for (const std::string& name : shapes.names)
    std::erase_if(form.renamed, [&](const auto& pair) { return pair.first == name; });
  form.changed = true;
  return form;
}

}  // namespace

NormalForm normal_form(const Task& task, AskedNames names) {
  NormalForm as_it_is = with_extents_as_they_are(task, names);
  // A kernel that is there already has its own launcher; and where sizes have names, numbers are meant as such.
  if (names == AskedNames::kept || (!task.size_names.empty() && as_it_is.not_understood.empty())) return as_it_is;
  if (task.sizes_small.empty()) return as_it_is;
  for (const NamedShapes& shapes : with_named_shapes(task)) {
    NormalForm form = with_extents_as_they_are(shapes.task, names);
    if (form.not_understood.empty()) return without_names(std::move(form), shapes);
  }
  return as_it_is;
}

std::string description_of(const NormalForm& form) {
  if (!form.not_understood.empty()) return form.not_understood + "; the question is given to the model as written";
  if (!form.changed) return "";
  std::string text = "the question was put in other words";
  for (std::size_t i = 0; i < form.renamed.size(); ++i)
    text += fmt::format("{}{} is {}", i == 0 ? ": " : ", ", form.renamed[i].first, form.renamed[i].second);
  for (std::size_t i = 0; i < form.named_extents.size(); ++i)
    text += fmt::format("{}{} is {}", i + form.renamed.size() == 0 ? ": " : ", ", form.named_extents[i].value,
                        form.named_extents[i].name);
  return text;
}

}  // namespace kw
