// Extension files: the function that Python calls is given the task's inputs as tensors, and what it returns becomes
// the task's outputs. An output must be memory that this call has allocated, whole and for itself alone.

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

std::string print(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

// `forward(Tensor x, float eps) -> Tensor` in the task's words.
std::string expected_signature(const Task& task) {
  std::string text = "the task expects: torch::Tensor forward(";
  for (const TensorSpec& input : task.inputs) {
    if (&input != &task.inputs.front()) text += ", ";
    text += (input.is_scalar() ? std::string(cuda_type_of(input.dtype)) : "torch::Tensor") + " " + input.name;
  }
  text += ")";
  if (task.outputs.size() > 1) text += " with " + std::to_string(task.outputs.size()) + " tensors in a std::vector";
  return text;
}

}  // namespace

Result<LaunchPlan> HostInterpreter::run_extension(const FunctionSyntax& entry) {
  frames_.push_back(std::make_unique<Frame>());
  open_scope();
  KW_TRY_VOID(check_static_asserts());
  if (entry.generic.present) return fail("the function that Python calls is a template", entry.token);
  KW_TRY(const HostType* result, within({}, entry.scope, [&] { return resolve(*entry.result); }));
  KW_TRY(const std::vector<HostValue> inputs, extension_inputs(entry));
  std::vector<CallArgument> arguments;
  for (const HostValue& input : inputs) {
    KW_TRY(HostValue * cell, new_cell(input.type, entry.token));
    cell->data = input.data;
    arguments.push_back({input, cell});
  }
  KW_TRY(const HostValue returned, run_function(entry, {}, std::move(arguments), nullptr, nullptr, entry.token));
  KW_TRY_VOID(check_scratch_freed());
  if (result->kind != TypeKind::void_) {
    KW_TRY(const std::vector<HostValue> tensors, returned_tensors(returned, entry));
    KW_TRY_VOID(make_outputs(tensors, entry));
  }
  for (const Scratch& scratch : scratch_) {
    if (scratch.of_tensor && !scratch.freed) {
      KW_TRY_VOID(add_step(ScratchFree{scratch.buffer, program_.position_of(scratch.token)}, scratch.token));
    }
  }
  if (!pay_steps()) return limits_.budget->exceeded_error();
  return std::move(plan_);
}

Result<HostValue> HostInterpreter::extension_tensor(const TensorSpec& spec, bool input) {
  TensorValue tensor;
  KW_TRY(tensor.sizes, spec.shape_at(sizes_));
  KW_TRY(const std::int64_t elements, spec.elements_at(sizes_));
  tensor.strides = contiguous_strides(tensor.sizes);
  tensor.element = element_type(spec.dtype, types_);
  tensor.data = DevicePointer{static_cast<int>(plan_.buffers.size()), 0};
  plan_.buffers.push_back({input ? Buffer::Kind::input : Buffer::Kind::output, spec.name,
                           static_cast<std::uint64_t>(elements) * bytes_of(spec.dtype)});
  return make_tensor(std::move(tensor));
}

Result<HostValue> HostInterpreter::extension_input(const TensorSpec& spec, const ParameterSyntax& parameter,
                                                   const HostType& type) {
  const HostType& inside = type.kind == TypeKind::optional ? *type.element : type;
  const std::string what = "the parameter `" + std::string(parameter.name) + "` is " + type.name;
  if (!spec.is_scalar()) {
    if (inside.kind != TypeKind::tensor) {
      return fail(what + ", the task's input `" + spec.name + "` is a tensor", parameter.token,
                  expected_signature(task_));
    }
    return extension_tensor(spec, true);
  }
  if (!is_arithmetic(inside)) {
    return fail(what + ", the task's input `" + spec.name + "` is a number", parameter.token,
                expected_signature(task_));
  }
  const auto found = scalars_.find(spec.name);
  const HostValue given = make_real(types_.basic(TypeKind::double_), found == scalars_.end() ? 1 : found->second);
  KW_TRY_AT(HostValue value, convert(given, &inside, Conversion::cast, types_), parameter.token);
  return value;
}

// In order: the task's inputs, then outputs where the function returns nothing; the rest must have default values.
Result<std::vector<HostValue>> HostInterpreter::extension_inputs(const FunctionSyntax& entry) {
  KW_TRY(const HostType* result, within({}, entry.scope, [&] { return resolve(*entry.result); }));
  const bool outputs_given = result->kind == TypeKind::void_;
  std::vector<HostValue> values;
  const std::size_t wanted = task_.inputs.size() + (outputs_given ? task_.outputs.size() : 0);
  std::size_t least = 0;
  for (const ParameterSyntax& parameter : entry.parameters) least += parameter.initial == nullptr;
  if (entry.parameters.size() < wanted || least > wanted || entry.variadic) {
    return fail("`" + std::string(entry.name) + "` takes " + std::to_string(entry.parameters.size()) +
                    " arguments, the task gives " + std::to_string(wanted),
                entry.token, expected_signature(task_));
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    const ParameterSyntax& parameter = entry.parameters[i];
    KW_TRY(const HostType* type, within({}, entry.scope, [&] { return resolve(*parameter.type); }));
    HostValue value;
    if (i < task_.inputs.size()) {
      KW_TRY(value, extension_input(task_.inputs[i], parameter, *type->plain));
    } else {
      if (type->kind != TypeKind::tensor) {
        return fail("the parameter `" + std::string(parameter.name) + "` is " + type->name + ", the task's output `" +
                        task_.outputs[i - task_.inputs.size()].name + "` is a tensor",
                    parameter.token);
      }
      KW_TRY(value, extension_tensor(task_.outputs[i - task_.inputs.size()], false));
    }
    KW_TRY_AT(value, convert(value, type->plain, Conversion::implicit, types_), parameter.token);
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<HostValue>> HostInterpreter::returned_tensors(const HostValue& value, const FunctionSyntax& entry) {
  std::vector<HostValue> tensors;
  if (value.type->kind == TypeKind::tensor) {
    tensors.push_back(value);
  } else if (value.is_aggregate()) {
    for (const HostValue& part : value.parts()) {
      if (part.type->kind != TypeKind::tensor) {
        return fail("`" + std::string(entry.name) + "` returns something that is not a tensor", entry.token);
      }
      tensors.push_back(part);
    }
  } else {
    return fail("`" + std::string(entry.name) + "` returns " + value.type->name + ", not tensors", entry.token,
                expected_signature(task_));
  }
  if (tensors.size() != task_.outputs.size()) {
    return fail("`" + std::string(entry.name) + "` returns " + std::to_string(tensors.size()) +
                    " tensors, the task has " + std::to_string(task_.outputs.size()) + " outputs",
                entry.token, expected_signature(task_));
  }
  return tensors;
}

Result<void> HostInterpreter::check_output(const TensorSpec& spec, const HostValue& value, TokenIndex token) {
  const auto& tensor = std::get<std::shared_ptr<const TensorValue>>(value.data);
  const std::string what = "the tensor returned for `" + spec.name + "`";
  if (tensor == nullptr) return fail(what + " is not defined", token);
  KW_TRY(const std::vector<std::int64_t> sizes, spec.shape_at(sizes_));
  if (tensor->element != element_type(spec.dtype, types_)) {
    return fail(what + " has the type " + tensor->element->name + ", not " + element_type(spec.dtype, types_)->name,
                token);
  }
  const bool number = tensor->sizes.empty() && sizes == std::vector<std::int64_t>{1};  // 0-d: a task has no word for it
  if (tensor->sizes != sizes && !number) {
    return fail(what + " has the shape " + print(tensor->sizes) + ", not " + print(sizes), token);
  }
  const Scratch* memory = find_scratch(tensor->data.buffer);
  if (memory == nullptr || !memory->of_tensor) {
    return fail(what + " is an input, or a view of one", token, "return a tensor that this call has allocated");
  }
  if (!tensor->is_contiguous()) {
    return fail(what + " is not contiguous", token, "return a tensor that lies in memory in order");
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(tensor->elements()) * tensor->element->bytes;
  if (tensor->data.offset_bytes != 0 || bytes != memory->bytes) {
    return fail(what + " is a part of a larger tensor", token, "return a tensor of its own");
  }
  return {};
}

// The returned tensors' memory moves behind the inputs, where a plan has its outputs.
Result<void> HostInterpreter::make_outputs(const std::vector<HostValue>& tensors, const FunctionSyntax& entry) {
  std::vector<int> output_of(plan_.buffers.size(), -1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KW_TRY_VOID(check_output(task_.outputs[i], tensors[i], entry.token));
    const auto& tensor = std::get<std::shared_ptr<const TensorValue>>(tensors[i].data);
    int& output = output_of[static_cast<std::size_t>(tensor->data.buffer)];
    if (output >= 0) {
      return fail("the outputs `" + task_.outputs[static_cast<std::size_t>(output)].name + "` and `" +
                      task_.outputs[i].name + "` are the same memory",
                  entry.token, "return a tensor of its own for each output");
    }
    output = static_cast<int>(i);
  }
  const auto inputs = static_cast<int>(plan_.buffers.size() - scratch_.size());
  std::vector<int> target(plan_.buffers.size());
  int next = inputs + static_cast<int>(tensors.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const int at = static_cast<int>(i);
    target[i] = at < inputs ? at : output_of[i] >= 0 ? inputs + output_of[i] : next++;
  }
  std::erase_if(plan_.steps, [&](const LaunchStep& step) {
    const auto* allocate = std::get_if<ScratchAllocate>(&step);
    return allocate != nullptr && output_of[static_cast<std::size_t>(allocate->buffer)] >= 0;
  });
  std::erase_if(scratch_,
                [&](const Scratch& scratch) { return output_of[static_cast<std::size_t>(scratch.buffer)] >= 0; });
  for (Scratch& scratch : scratch_) scratch.buffer = target[static_cast<std::size_t>(scratch.buffer)];
  renumber_buffers(target);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(inputs) + i];
    buffer.kind = Buffer::Kind::output;
    buffer.name = task_.outputs[i].name;
  }
  return {};
}

void HostInterpreter::renumber_buffers(const std::vector<int>& target) {
  const auto move = [&](int& buffer) {
    if (buffer != DevicePointer::null_buffer) buffer = target[static_cast<std::size_t>(buffer)];
  };
  for (LaunchStep& step : plan_.steps) {
    if (auto* launch = std::get_if<KernelLaunch>(&step)) {
      for (KernelArgument& argument : launch->arguments) {
        if (auto* pointer = std::get_if<DevicePointer>(&argument.value)) move(pointer->buffer);
        for (EmbeddedPointer& inside : argument.pointers) move(inside.pointer.buffer);
      }
    } else if (auto* set = std::get_if<MemorySet>(&step)) {
      move(set->target.buffer);
    } else if (auto* copy = std::get_if<MemoryCopy>(&step)) {
      move(copy->target.buffer);
      move(copy->source.buffer);
    } else if (auto* allocate = std::get_if<ScratchAllocate>(&step)) {
      move(allocate->buffer);
    } else if (auto* free = std::get_if<ScratchFree>(&step)) {
      move(free->buffer);
    }
  }
  std::vector<Buffer> buffers(plan_.buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[static_cast<std::size_t>(target[i])] = std::move(plan_.buffers[i]);
  }
  plan_.buffers = std::move(buffers);
}

}  // namespace kw
