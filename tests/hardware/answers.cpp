#include "hardware/answers.h"

#include <cstring>
#include <string_view>

namespace raddle::testing {
namespace {

std::string hex_of(const DeviceRun::Argument& argument) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  const auto* bytes = static_cast<const unsigned char*>(argument.data);
  for (std::size_t i = 0; i < argument.bytes; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

Result<std::string> bytes_of(std::string_view hex) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return Error::invalid("not a byte: {}", hex.substr(i, 2));
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

std::string key_of(const DeviceRun& run) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  };
  add(run.ptx.data(), run.ptx.size());
  add(run.kernel.data(), run.kernel.size());
  for (const DeviceRun::Argument& argument : run.arguments)
    if (!argument.is_output) add(argument.data, argument.bytes);
  return fmt::format("{:016x}", hash);
}

std::string RecordingDevice::run(const DeviceRun& run) {
  const std::string key = key_of(run);
  std::string inputs;
  for (const DeviceRun::Argument& argument : run.arguments)
    if (!argument.is_output) inputs += "in " + hex_of(argument) + "\n";
  const std::string problem = device_->run(run);
  file_ << "answer " << key << ' ' << run.what << '\n' << inputs;
  if (!problem.empty()) file_ << "failed " << problem << '\n';
  for (const DeviceRun::Argument& argument : run.arguments)
    if (problem.empty() && argument.is_output) file_ << "out " << hex_of(argument) << '\n';
  return problem;
}

std::string GoldenDevice::run(const DeviceRun& run) {
  const auto found = answers_.kernels.find(key_of(run));
  if (found == answers_.kernels.end()) return kNoAnswer;
  std::size_t next = 0;
  for (const DeviceRun::Argument& argument : run.arguments) {
    if (!argument.is_output || !found->second.problem.empty()) continue;
    if (next == found->second.outputs.size() || found->second.outputs[next].size() != argument.bytes)
      return "the answer kept has another size";
    std::memcpy(argument.data, found->second.outputs[next++].data(), argument.bytes);
  }
  return found->second.problem;
}

Result<Answers> Answers::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error::make(ErrorCode::io, "cannot read {}", path);
  Answers answers;
  Answer* current = nullptr;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "answer") {
      current = &answers.kernels[rest.substr(0, rest.find(' '))];
      *current = {};
    } else if (word == "out" && current != nullptr) {
      TRY_ASSIGN(std::string bytes, bytes_of(rest));
      current->outputs.push_back(std::move(bytes));
    } else if (word == "failed" && current != nullptr) {
      current->problem = rest;
    } else if (word == "api" && rest.find(" = ") != std::string::npos) {
      const std::size_t equals = rest.rfind(" = ");
      answers.api[rest.substr(0, equals)] = std::atoi(rest.c_str() + equals + 3);
    } else if (word == "head" && rest.find(": ") != std::string::npos) {
      answers.head[rest.substr(0, rest.find(": "))] = rest.substr(rest.find(": ") + 2);
    } else if (word != "in") {
      return Error::invalid("{}: not understood: {}", path, line.substr(0, 60));
    }
  }
  return answers;
}

}  // namespace raddle::testing
