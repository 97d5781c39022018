#include "kernel/gpu/gpu_plan.h"

#include <algorithm>

namespace kw {
namespace {

constexpr std::uint64_t list_limit = 1u << 16;

GpuPointer pointer_to(const DevicePointer& pointer, std::uint32_t offset_bytes = 0) {
  return {offset_bytes, pointer.buffer, pointer.offset_bytes};
}

class Translation {
 public:
  Translation(const LaunchPlan& plan, const std::vector<CompiledKernel>& kernels) : plan_(plan), kernels_(kernels) {}

  Result<GpuPlan> run() {
    for (const Buffer& buffer : plan_.buffers) made_.buffers.push_back({buffer.kind, buffer.bytes});
    for (const LaunchStep& step : plan_.steps) KW_TRY_VOID(std::visit(*this, step));
    return std::move(made_);
  }

  Result<void> operator()(const KernelLaunch& launch) {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const CompiledKernel& each) { return each.name == launch.kernel; });
    if (found == kernels_.end()) return Error{"'" + launch.kernel + "' was not compiled", "", launch.where};
    GpuLaunch made;
    made.kernel = static_cast<std::uint32_t>(found - kernels_.begin());
    made.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    made.block = {launch.block.x, launch.block.y, launch.block.z};
    made.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    made.cooperative = launch.cooperative;
    for (const KernelArgument& argument : launch.arguments) {
      GpuArgument bytes;
      if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) {
        bytes.bytes.assign(sizeof(std::uint64_t), '\0');
        bytes.pointers.push_back(pointer_to(*pointer));
      } else {
        bytes.bytes = std::get<std::string>(argument.value);
        for (const EmbeddedPointer& embedded : argument.pointers)
          bytes.pointers.push_back(pointer_to(embedded.pointer, embedded.offset_bytes));
      }
      made.arguments.push_back(std::move(bytes));
    }
    made_.steps.emplace_back(std::move(made));
    return {};
  }

  Result<void> operator()(const MemorySet& set) {
    KW_TRY_VOID(check_range(set.target, set.bytes, set.where));
    made_.steps.emplace_back(GpuSet{pointer_to(set.target), set.value, set.bytes});
    return {};
  }

  Result<void> operator()(const MemoryCopy& copy) {
    KW_TRY_VOID(check_range(copy.target, copy.bytes, copy.where));
    KW_TRY_VOID(check_range(copy.source, copy.bytes, copy.where));
    made_.steps.emplace_back(GpuCopy{pointer_to(copy.target), pointer_to(copy.source), copy.bytes});
    return {};
  }

  Result<void> operator()(const ScratchAllocate&) { return {}; }
  Result<void> operator()(const ScratchFree&) { return {}; }
  Result<void> operator()(const SharedMemoryLimit&) { return {}; }  // the worker allows what each launch needs

 private:
  Result<void> check_range(const DevicePointer& pointer, std::uint64_t bytes, const Position& where) const {
    const bool there = pointer.buffer != DevicePointer::null_buffer && pointer.offset_bytes >= 0;
    const std::uint64_t whole = there ? plan_.buffers[static_cast<std::size_t>(pointer.buffer)].bytes : 0;
    const auto offset = static_cast<std::uint64_t>(pointer.offset_bytes);
    if (!there || offset > whole || bytes > whole - offset)
      return Error{"a memset or copy goes beyond its buffer", "stay inside of the buffer", where};
    return {};
  }

  const LaunchPlan& plan_;
  const std::vector<CompiledKernel>& kernels_;
  GpuPlan made_;
};

void write(ByteWriter& writer, const GpuPointer& pointer) {
  writer.number(pointer.offset_bytes);
  writer.number(static_cast<std::uint64_t>(std::int64_t{pointer.buffer}));
  writer.number(static_cast<std::uint64_t>(pointer.buffer_offset_bytes));
}

GpuPointer read_pointer(ByteReader& reader) {
  GpuPointer pointer;
  pointer.offset_bytes = static_cast<std::uint32_t>(reader.number());
  pointer.buffer = static_cast<std::int32_t>(static_cast<std::int64_t>(reader.number()));
  pointer.buffer_offset_bytes = static_cast<std::int64_t>(reader.number());
  return pointer;
}

enum class StepTag : std::uint64_t { launch, set, copy };

GpuLaunch read_launch(ByteReader& reader) {
  GpuLaunch launch;
  launch.kernel = static_cast<std::uint32_t>(reader.number());
  for (std::uint32_t& extent : launch.grid) extent = static_cast<std::uint32_t>(reader.number());
  for (std::uint32_t& extent : launch.block) extent = static_cast<std::uint32_t>(reader.number());
  launch.dynamic_shared_bytes = static_cast<std::uint32_t>(reader.number());
  launch.cooperative = reader.number() != 0;
  launch.arguments.resize(reader.count(list_limit));
  for (GpuArgument& argument : launch.arguments) {
    argument.bytes = reader.text();
    argument.pointers.resize(reader.count(list_limit));
    for (GpuPointer& pointer : argument.pointers) pointer = read_pointer(reader);
    if (reader.failed()) break;
  }
  return launch;
}

}  // namespace

Result<GpuPlan> gpu_plan(const LaunchPlan& plan, const std::vector<CompiledKernel>& kernels) {
  return Translation(plan, kernels).run();
}

void write(ByteWriter& writer, const GpuPlan& plan) {
  writer.number(plan.buffers.size());
  for (const GpuBuffer& buffer : plan.buffers) {
    writer.number(static_cast<std::uint64_t>(buffer.kind));
    writer.number(buffer.bytes);
  }
  writer.number(plan.steps.size());
  for (const GpuStep& step : plan.steps) {
    if (const auto* launch = std::get_if<GpuLaunch>(&step)) {
      writer.number(static_cast<std::uint64_t>(StepTag::launch));
      writer.number(launch->kernel);
      for (const std::uint32_t extent : launch->grid) writer.number(extent);
      for (const std::uint32_t extent : launch->block) writer.number(extent);
      writer.number(launch->dynamic_shared_bytes);
      writer.number(launch->cooperative ? 1 : 0);
      writer.number(launch->arguments.size());
      for (const GpuArgument& argument : launch->arguments) {
        writer.text(argument.bytes);
        writer.number(argument.pointers.size());
        for (const GpuPointer& pointer : argument.pointers) write(writer, pointer);
      }
    } else if (const auto* set = std::get_if<GpuSet>(&step)) {
      writer.number(static_cast<std::uint64_t>(StepTag::set));
      write(writer, set->target);
      writer.number(set->value);
      writer.number(set->bytes);
    } else if (const auto* copy = std::get_if<GpuCopy>(&step)) {
      writer.number(static_cast<std::uint64_t>(StepTag::copy));
      write(writer, copy->target);
      write(writer, copy->source);
      writer.number(copy->bytes);
    }
  }
}

GpuPlan read_gpu_plan(ByteReader& reader) {
  GpuPlan plan;
  plan.buffers.resize(reader.count(list_limit));
  for (GpuBuffer& buffer : plan.buffers) {
    buffer.kind = static_cast<Buffer::Kind>(reader.count(static_cast<std::uint64_t>(Buffer::Kind::scratch)));
    buffer.bytes = reader.number();
  }
  const std::uint64_t steps = reader.count(list_limit);
  for (std::uint64_t i = 0; i < steps && !reader.failed(); ++i) {
    switch (static_cast<StepTag>(reader.number())) {
      case StepTag::launch:
        plan.steps.emplace_back(read_launch(reader));
        break;
      case StepTag::set: {
        GpuSet set;
        set.target = read_pointer(reader);
        set.value = static_cast<std::uint8_t>(reader.number());
        set.bytes = reader.number();
        plan.steps.emplace_back(set);
        break;
      }
      case StepTag::copy: {
        GpuCopy copy;
        copy.target = read_pointer(reader);
        copy.source = read_pointer(reader);
        copy.bytes = reader.number();
        plan.steps.emplace_back(copy);
        break;
      }
      default:
        reader.fail();
    }
  }
  return plan;
}

bool is_consistent(const GpuPlan& plan, std::size_t kernels) {
  const auto known = [&](const GpuPointer& pointer) {
    return pointer.buffer == DevicePointer::null_buffer ||
           (pointer.buffer >= 0 && static_cast<std::size_t>(pointer.buffer) < plan.buffers.size());
  };
  const auto inside = [&](const GpuPointer& pointer, std::uint64_t bytes) {
    if (!known(pointer) || pointer.buffer < 0 || pointer.buffer_offset_bytes < 0) return false;
    const std::uint64_t whole = plan.buffers[static_cast<std::size_t>(pointer.buffer)].bytes;
    const auto offset = static_cast<std::uint64_t>(pointer.buffer_offset_bytes);
    return offset <= whole && bytes <= whole - offset;
  };
  for (const GpuStep& step : plan.steps) {
    if (const auto* launch = std::get_if<GpuLaunch>(&step)) {
      if (launch->kernel >= kernels) return false;
      for (const GpuArgument& argument : launch->arguments)
        for (const GpuPointer& pointer : argument.pointers)
          if (!known(pointer) || std::size_t{pointer.offset_bytes} + sizeof(std::uint64_t) > argument.bytes.size())
            return false;
    } else if (const auto* set = std::get_if<GpuSet>(&step)) {
      if (!inside(set->target, set->bytes)) return false;
    } else if (const auto* copy = std::get_if<GpuCopy>(&step)) {
      if (!inside(copy->target, copy->bytes) || !inside(copy->source, copy->bytes)) return false;
    }
  }
  return true;
}

}  // namespace kw
