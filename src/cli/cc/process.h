// Running another program, and temporary files for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace raddle::cli {

using Words = std::vector<std::string>;

/// Runs a program found by PATH with this process's standard streams, and waits. Its exit status; 128 + n for
/// signal n.
/// @param errors  if given, gets what the program writes to standard error, which is shown as it comes
/// @errors not_found: no such program; io
Result<int> run_program(const Words& words, bool show_command, std::string* errors = nullptr);

/// A directory that goes away with the object, unless it is kept.
class TemporaryDirectory {
 public:
  /// @errors io
  static Result<TemporaryDirectory> create(bool keep);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}
  std::string path_;
  bool keep_;
};

/// @errors io
Result<void> write_file(const std::string& path, std::string_view contents);

}  // namespace raddle::cli
