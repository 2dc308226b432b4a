#include "hardware/answers.h"

#include <zstd.h>

#include <cstring>
#include <sstream>
#include <string_view>

#include "base/file.h"

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

std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return line;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i];
    } else {
      text += line[i];
    }
  }
  return text;
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
  if (run.ptx != written_) file_ << "ptx " << escaped(run.ptx) << '\n';
  written_ = run.ptx;
  file_ << "answer " << key_of(run) << ' ' << run.what << '\n';
  file_ << "run " << run.kernel << ' ' << run.threads << ' ' << run.blocks << '\n';
  for (const DeviceRun::Argument& argument : run.arguments)
    file_ << (argument.is_output   ? "before "
              : argument.is_buffer ? "in "
                                   : "value ")
          << hex_of(argument) << '\n';
  const std::string problem = device_->run(run);
  if (!problem.empty()) file_ << "failed " << problem << '\n';
  for (const DeviceRun::Argument& argument : run.arguments)
    if (problem.empty() && argument.is_output) file_ << "out " << hex_of(argument) << '\n';
  file_.flush();  // the next run may be the last
  return problem;
}

namespace {

/// A file's text, decompressed if its name says so.
Result<std::string> read_text(const std::string& path) {
  TRY_ASSIGN(std::string file, read_file(path));
  if (!path.ends_with(".zst")) return file;
  const unsigned long long size = ZSTD_getFrameContentSize(file.data(), file.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
    return Error::invalid("{}: no frame of zstd with its size", path);
  std::string text(size, '\0');
  const std::size_t written = ZSTD_decompress(text.data(), text.size(), file.data(), file.size());
  if (ZSTD_isError(written)) return Error::invalid("{}: {}", path, ZSTD_getErrorName(written));
  return text;
}

/// One line of a run.
Result<void> add_to(Answers::Answer& answer, const std::string& word, const std::string& rest) {
  if (word == "run") {
    std::istringstream(rest) >> answer.kernel >> answer.threads >> answer.blocks;
  } else if (word == "failed") {
    answer.problem = rest;
  } else {
    TRY_ASSIGN(std::string bytes, bytes_of(rest));
    if (word == "out")
      answer.outputs.push_back(std::move(bytes));
    else
      answer.arguments.push_back({std::move(bytes), word != "value", word == "before"});
  }
  return {};
}

}  // namespace

Result<Answers> Answers::read(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_text(path));
  std::istringstream file(text);
  Answers answers;
  Answer* current = nullptr;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "ptx") {
      answers.texts.push_back(unescaped(rest));
    } else if (word == "answer" && !answers.texts.empty()) {
      current = &answers.kernels[rest.substr(0, rest.find(' '))];
      *current = {.text = answers.texts.size() - 1, .what = rest.substr(rest.find(' ') + 1)};
    } else if (word == "api" && rest.find(" = ") != std::string::npos) {
      const std::size_t equals = rest.rfind(" = ");
      answers.api[rest.substr(0, equals)] = std::atoi(rest.c_str() + equals + 3);
    } else if (word == "head" && rest.find(": ") != std::string::npos) {
      answers.head[rest.substr(0, rest.find(": "))] = rest.substr(rest.find(": ") + 2);
    } else if (current != nullptr && (word == "run" || word == "failed" || word == "out" || word == "in" ||
                                      word == "before" || word == "value")) {
      TRY(add_to(*current, word, rest));
    } else {
      return Error::invalid("{}: not understood: {}", path, line.substr(0, 60));
    }
  }
  return answers;
}

}  // namespace raddle::testing
