// Strict reading of JSON files. An error names the place in the text or, once the text is parsed, the path of
// the value ("$.grids[2].needs.threads"). No exceptions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle {

/// @param name  of the file, for messages
/// @errors invalid: no JSON, a key given twice, nested more than 64 deep; with line and column
Result<nlohmann::json> parse_json(std::string_view text, const std::string& name);

/// The text as a JSON string, in quotes; bytes that are not UTF-8 are replaced.
std::string json_string(std::string_view text);

/// A value in a document and its path. The document must outlive it.
class JsonValue {
 public:
  explicit JsonValue(const nlohmann::json& root) : value_(&root), path_("$") {}

  const std::string& path() const { return path_; }
  const nlohmann::json& raw() const { return *value_; }
  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }
  bool is_number() const { return value_->is_number(); }

  /// Requires an object with these members only. @errors invalid: names the unknown member and the known ones
  Result<void> has_only(std::span<const std::string_view> names) const;
  Result<void> has_only(std::initializer_list<std::string_view> names) const {
    return has_only(std::span(names.begin(), names.size()));
  }
  Result<JsonValue> member(std::string_view name) const;  ///< @errors invalid: missing, or not an object
  std::optional<JsonValue> find(std::string_view name) const;
  /// @errors invalid: not an array of `least` to `most` elements
  Result<std::vector<JsonValue>> elements(std::size_t least, std::size_t most) const;

  /// 1e6 is a whole number too. @errors invalid: another type, or out of range; likewise below
  Result<std::uint64_t> whole(std::uint64_t least, std::uint64_t most) const;
  Result<std::int64_t> integer(std::int64_t least, std::int64_t most) const;
  Result<double> number(double least, double most) const;
  Result<bool> flag() const;
  Result<std::string> text() const;
  Error error(std::string_view what) const;  ///< "$.path: what"

 private:
  JsonValue(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace raddle
