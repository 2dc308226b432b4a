// Faults and errors as parts of messages.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "exec/fault.h"

namespace raddle::proxy {

nlohmann::json to_document(const exec::Fault& fault);
/// What a document lacks stays as it is in a new fault.
exec::Fault fault_of(const nlohmann::json& document);

nlohmann::json to_document(const Error& error);
Error error_of(const nlohmann::json& document);

/// Members of messages: a default where one is missing or of another type.
std::uint64_t number_in(const nlohmann::json& document, const char* name, std::uint64_t otherwise = 0);
std::string text_in(const nlohmann::json& document, const char* name);

}  // namespace raddle::proxy
