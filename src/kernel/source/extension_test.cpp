// Extension files against the truth: what the host code of tests/extensions does with the real PyTorch was recorded by
// scripts/extension_goldens.py; every launch plan must say the same. And files that try to fool the judge are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/file.h"
#include "kernel/source/extension_test_support.h"
#include "kernel/source/recorded_plan.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(KW_SOURCE_ROOT) / "tests" / "extensions";

// The recorded lines of each file and size: "relu_plain 0" -> lines.
std::map<std::string, std::vector<std::string>> read_goldens() {
  std::map<std::string, std::vector<std::string>> goldens;
  std::ifstream file(folder / "goldens.txt");
  std::string key;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("begin ")) {
      key = line.substr(6);
      goldens[key];
    } else {
      goldens[key].push_back(line);
    }
  }
  return goldens;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

// The recorder numbers memory as it is allocated; in a plan the returned tensors come first.
struct Numbering {
  std::map<int, std::string> address;  // of a plan's buffer, hexadecimal
  std::set<int> tensors;               // scratch that belongs to a tensor
  std::vector<std::string> problems;
};

Numbering match_buffers(const LaunchPlan& plan, const std::vector<std::string>& lines) {
  Numbering numbering;
  std::vector<std::string> returned;
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words[0] == "return") returned.push_back(words[1]);
  }
  int next = 0;
  while (next < static_cast<int>(plan.buffers.size()) &&
         plan.buffers[static_cast<std::size_t>(next)].kind == Buffer::Kind::input)
    ++next;
  for (int i = 0; i < next; ++i) numbering.address[i] = hex_of(address_of({i, 0}));
  std::map<std::string, int> output_at;
  const int outputs =
      static_cast<int>(std::count_if(plan.buffers.begin(), plan.buffers.end(),
                                     [](const Buffer& buffer) { return buffer.kind == Buffer::Kind::output; }));
  if (returned.empty()) {  // outputs were given
    for (int i = 0; i < outputs; ++i) numbering.address[next + i] = hex_of(address_of({next + i, 0}));
  }
  for (std::size_t i = 0; i < returned.size(); ++i) output_at[returned[i]] = next + static_cast<int>(i);
  int scratch = next + outputs;
  for (const std::string& line : lines) {
    const auto words = words_of(line);
    if (words[0] != "tensor" && words[0] != "allocate") continue;
    const auto output = output_at.find(words[1]);
    const int buffer = output != output_at.end() ? output->second : scratch++;
    if (buffer >= static_cast<int>(plan.buffers.size())) {
      numbering.problems.push_back("the plan lacks " + line);
      continue;
    }
    numbering.address[buffer] = words[1];
    if (words[0] == "tensor") numbering.tensors.insert(buffer);
    if (std::to_string(plan.buffers[static_cast<std::size_t>(buffer)].bytes) != words[2]) {
      numbering.problems.push_back(line + ", but the plan has " +
                                   std::to_string(plan.buffers[static_cast<std::size_t>(buffer)].bytes) + " bytes");
    }
  }
  if (scratch != static_cast<int>(plan.buffers.size())) numbering.problems.push_back("the plan has other buffers");
  return numbering;
}

// A plan whose buffers have the recorder's addresses.
LaunchPlan renumbered(LaunchPlan plan, const Numbering& numbering) {
  const auto move = [&](int& buffer) {
    if (buffer == DevicePointer::null_buffer) return;
    buffer = static_cast<int>(std::stoull(numbering.address.at(buffer), nullptr, 16) >> 40) - 1;
  };
  for (LaunchStep& step : plan.steps) {
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
    } else if (auto* free = std::get_if<ScratchFree>(&step)) {
      move(free->buffer);
    }
  }
  return plan;
}

// The plan's steps as the recorder writes them. What PyTorch writes into tensors is seen at the next launch.
std::vector<std::string> lines_of(const LaunchPlan& plan, const Numbering& numbering) {
  const LaunchPlan recorded = renumbered(plan, numbering);
  std::set<std::string> tensors;
  for (const int buffer : numbering.tensors) tensors.insert(numbering.address.at(buffer));
  std::vector<std::string> lines;
  std::map<std::string, std::string> written;
  std::set<std::string> reported;
  const auto flush = [&] {
    for (const auto& [address, line] : written) {
      if (reported.insert(address).second) lines.push_back(line);
    }
    written.clear();
  };
  for (const LaunchStep& step : recorded.steps) {
    if (const auto* set = std::get_if<MemorySet>(&step)) {
      const std::string address = hex_of(address_of(set->target));
      if (tensors.contains(address)) {
        written[address] = "zeroed " + address;
        continue;
      }
    } else if (const auto* copy = std::get_if<MemoryCopy>(&step)) {
      const std::string address = hex_of(address_of(copy->target));
      if (tensors.contains(address)) {
        written[address] = "copied " + address + " " + hex_of(address_of(copy->source));
        continue;
      }
    } else if (std::holds_alternative<ScratchAllocate>(step)) {
      continue;  // match_buffers has compared them
    } else if (const auto* free = std::get_if<ScratchFree>(&step)) {
      if (tensors.contains(hex_of(address_of({free->buffer, 0})))) continue;
    } else if (std::holds_alternative<KernelLaunch>(step)) {
      flush();
    }
    lines.push_back(line_of(step, recorded));
  }
  flush();
  return lines;
}

bool same_line(const std::string& planned, const std::string& recorded) {
  const auto a = words_of(planned), b = words_of(recorded);
  if (a.size() != b.size() || a.size() < 2 || a[0] != b[0]) return false;
  const bool launch = a[0] == "launch", limit = a[0] == "limit";
  const bool named = launch  ? same_kernel(a[1], b[1])
                     : limit ? b[1].substr(0, parameters_of(b[1])) == a[1]
                             : a[1] == b[1];
  return named && std::equal(a.begin() + 2, a.end(), b.begin() + 2);
}

TEST(Extensions, PlansAreWhatPyTorchsHostCodeDoes) {
  const auto goldens = read_goldens();
  std::size_t files = 0, steps = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".cu") continue;
    ++files;
    const std::string name = entry.path().stem();
    const std::string text = read_file(entry.path()).value();
    const Task task = task_of_comment(text);
    const auto file = read_kernel_file(text, name);
    ASSERT_TRUE(file.ok()) << name << ": " << to_string(file.error());
    for (std::size_t s = 0; s < extension_sizes.size(); ++s) {
      const auto golden = goldens.find(name + " " + std::to_string(s));
      ASSERT_NE(golden, goldens.end()) << name << " was not recorded: scripts/extension_goldens.py";
      const auto plan = make_launch_plan(*file, task, extension_sizes[s], {}, scalars_of(task));
      ASSERT_TRUE(plan.ok()) << name << ": " << to_string(plan.error());
      const Numbering numbering = match_buffers(*plan, golden->second);
      EXPECT_EQ(numbering.problems, std::vector<std::string>()) << name << " at " << to_string(extension_sizes[s]);
      if (!numbering.problems.empty()) continue;
      std::vector<std::string> recorded;
      for (const std::string& line : golden->second) {
        const std::string word = words_of(line)[0];
        if (word != "tensor" && word != "allocate" && word != "return") recorded.push_back(line);
      }
      const std::vector<std::string> planned = lines_of(*plan, numbering);
      EXPECT_EQ(planned.size(), recorded.size()) << name;
      for (std::size_t i = 0; i < std::min(planned.size(), recorded.size()); ++i) {
        EXPECT_TRUE(same_line(planned[i], recorded[i]))
            << name << " at " << to_string(extension_sizes[s]) << "\n  plan:    " << planned[i]
            << "\n  PyTorch: " << recorded[i];
        ++steps;
      }
    }
  }
  EXPECT_GE(files, 40u);
  EXPECT_GE(steps, 150u);
}

}  // namespace
}  // namespace kw
