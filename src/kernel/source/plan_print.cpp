#include "kernel/source/plan_print.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "kernel/source/host_value.h"

namespace kw {
namespace {

using nlohmann::json;

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

template <class T>
T from_bytes(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof(T), bytes.size()));
  return value;
}

// The number behind the bytes where the type is a number.
json number_of(const KernelArgument& argument) {
  const std::string& bytes = std::get<std::string>(argument.value);
  const std::string& type = argument.type;
  if (type == "bool") return from_bytes<std::uint8_t>(bytes) != 0;
  if (type == "float") return from_bytes<float>(bytes);
  if (type == "double") return from_bytes<double>(bytes);
  if (type == "__half") return half_value(from_bytes<std::uint16_t>(bytes));
  if (type == "__nv_bfloat16") return bfloat16_value(from_bytes<std::uint16_t>(bytes));
  if (type == "char" || type == "signed char") return from_bytes<std::int8_t>(bytes);
  if (type == "unsigned char") return from_bytes<std::uint8_t>(bytes);
  if (type == "short") return from_bytes<std::int16_t>(bytes);
  if (type == "unsigned short") return from_bytes<std::uint16_t>(bytes);
  if (type == "int") return from_bytes<std::int32_t>(bytes);
  if (type == "unsigned int") return from_bytes<std::uint32_t>(bytes);
  if (type == "long" || type == "long long") return from_bytes<std::int64_t>(bytes);
  if (type == "unsigned long" || type == "unsigned long long") return from_bytes<std::uint64_t>(bytes);
  return nullptr;
}

json to_json(const Dim3& d) { return json::array({d.x, d.y, d.z}); }

json to_json(const DevicePointer& pointer, const LaunchPlan& plan) {
  if (pointer.buffer == DevicePointer::null_buffer) return nullptr;
  return {{"buffer", plan.buffers[static_cast<std::size_t>(pointer.buffer)].name},
          {"index", pointer.buffer},
          {"offset_bytes", pointer.offset_bytes}};
}

json to_json(const KernelArgument& argument, const LaunchPlan& plan) {
  json result = {{"name", argument.name}, {"type", argument.type}};
  if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) {
    result["pointer"] = to_json(*pointer, plan);
    return result;
  }
  const json number = number_of(argument);
  if (!number.is_null()) result["value"] = number;
  result["bytes"] = hex(std::get<std::string>(argument.value));
  for (const EmbeddedPointer& inside : argument.pointers) {
    result["pointers"].push_back({{"at_bytes", inside.offset_bytes}, {"pointer", to_json(inside.pointer, plan)}});
  }
  return result;
}

std::string_view kind_name(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::input:
      return "input";
    case Buffer::Kind::output:
      return "output";
    case Buffer::Kind::scratch:
      return "scratch";
  }
  return "";
}

struct StepToJson {
  const LaunchPlan& plan;

  json operator()(const KernelLaunch& step) const {
    json arguments = json::array();
    for (const KernelArgument& argument : step.arguments) arguments.push_back(to_json(argument, plan));
    return {{"step", "launch"},
            {"kernel", step.kernel},
            {"grid", to_json(step.grid)},
            {"block", to_json(step.block)},
            {"dynamic_shared_bytes", step.dynamic_shared_bytes},
            {"cooperative", step.cooperative},
            {"default_stream", step.default_stream},
            {"arguments", std::move(arguments)},
            {"line", step.where.line}};
  }
  json operator()(const MemorySet& step) const {
    return {{"step", "memset"},
            {"target", to_json(step.target, plan)},
            {"value", step.value},
            {"bytes", step.bytes},
            {"line", step.where.line}};
  }
  json operator()(const MemoryCopy& step) const {
    return {{"step", "copy"},
            {"target", to_json(step.target, plan)},
            {"source", to_json(step.source, plan)},
            {"bytes", step.bytes},
            {"line", step.where.line}};
  }
  json operator()(const ScratchAllocate& step) const {
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(step.buffer)];
    return {{"step", "allocate"},
            {"index", step.buffer},
            {"buffer", buffer.name},
            {"bytes", buffer.bytes},
            {"line", step.where.line}};
  }
  json operator()(const ScratchFree& step) const {
    return {{"step", "free"},
            {"index", step.buffer},
            {"buffer", plan.buffers[static_cast<std::size_t>(step.buffer)].name},
            {"line", step.where.line}};
  }
  json operator()(const SharedMemoryLimit& step) const {
    return {{"step", "shared_memory_limit"}, {"kernel", step.kernel}, {"bytes", step.bytes}, {"line", step.where.line}};
  }
};

std::string print(const Dim3& d) {
  std::string text = std::to_string(d.x);
  if (d.y != 1 || d.z != 1) text += "x" + std::to_string(d.y);
  if (d.z != 1) text += "x" + std::to_string(d.z);
  return text;
}

std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + "  ";
}

struct StepToText {
  const LaunchPlan& plan;
  std::size_t grid_width, block_width;

  std::string operator()(const KernelLaunch& step) const {
    std::string line = pad("launch", 8) + "grid " + pad(print(step.grid), grid_width) + "block " +
                       pad(print(step.block), block_width) + "shared " +
                       pad(std::to_string(step.dynamic_shared_bytes), 6) + step.kernel + "(";
    for (const KernelArgument& argument : step.arguments) {
      if (&argument != &step.arguments.front()) line += ", ";
      line += argument.name + (argument.name.empty() ? "" : " = ") + print(argument, plan);
    }
    line += ")";
    if (step.cooperative) line += " cooperative";
    if (step.default_stream) line += " on the default stream";
    return line;
  }
  std::string operator()(const MemorySet& step) const {
    return pad("memset", 8) + print(step.target, plan) + ", " + std::to_string(step.bytes) + " bytes of " +
           std::to_string(step.value);
  }
  std::string operator()(const MemoryCopy& step) const {
    return pad("copy", 8) + print(step.target, plan) + " from " + print(step.source, plan) + ", " +
           std::to_string(step.bytes) + " bytes";
  }
  std::string operator()(const ScratchAllocate& step) const {
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(step.buffer)];
    return pad("allocate", 8) + buffer.name + ", " + std::to_string(buffer.bytes) + " bytes";
  }
  std::string operator()(const ScratchFree& step) const {
    return pad("free", 8) + plan.buffers[static_cast<std::size_t>(step.buffer)].name;
  }
  std::string operator()(const SharedMemoryLimit& step) const {
    return pad("allow", 8) + step.kernel + ", " + std::to_string(step.bytes) + " bytes of dynamic shared memory";
  }
};

}  // namespace

std::string print(const DevicePointer& pointer, const LaunchPlan& plan) {
  if (pointer.buffer == DevicePointer::null_buffer) return "nullptr";
  std::string text = plan.buffers[static_cast<std::size_t>(pointer.buffer)].name;
  if (pointer.offset_bytes > 0) text += " + " + std::to_string(pointer.offset_bytes) + " bytes";
  if (pointer.offset_bytes < 0) text += " - " + std::to_string(-pointer.offset_bytes) + " bytes";
  return text;
}

std::string print(const KernelArgument& argument, const LaunchPlan& plan) {
  if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) return print(*pointer, plan);
  const json number = number_of(argument);
  if (!number.is_null()) return number.dump();
  return argument.type + " " + hex(std::get<std::string>(argument.value));
}

nlohmann::json to_json(const LaunchPlan& plan) {
  json buffers = json::array(), steps = json::array();
  for (const Buffer& buffer : plan.buffers) {
    buffers.push_back({{"name", buffer.name}, {"kind", kind_name(buffer.kind)}, {"bytes", buffer.bytes}});
  }
  for (const LaunchStep& step : plan.steps) steps.push_back(std::visit(StepToJson{plan}, step));
  return {{"buffers", std::move(buffers)}, {"steps", std::move(steps)}};
}

std::string to_table(const LaunchPlan& plan) {
  StepToText writer{plan, 0, 0};
  for (const KernelLaunch* launch : plan.launches()) {
    writer.grid_width = std::max(writer.grid_width, print(launch->grid).size());
    writer.block_width = std::max(writer.block_width, print(launch->block).size());
  }
  std::string text;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    text +=
        pad(std::to_string(i + 1), std::to_string(plan.steps.size()).size()) + std::visit(writer, plan.steps[i]) + "\n";
  }
  return text;
}

}  // namespace kw
