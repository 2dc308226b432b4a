#include "proxy/documents.h"

#include <nlohmann/json.hpp>

namespace raddle::proxy {
namespace {

template <std::size_t n>
nlohmann::json numbers(const std::uint32_t (&values)[n]) {
  return std::vector<std::uint32_t>(values, values + n);
}

template <std::size_t n>
void take_numbers(const nlohmann::json& document, const char* name, std::uint32_t (&values)[n]) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_array() || found->size() != n) return;
  for (std::size_t i = 0; i < n; ++i)
    if ((*found)[i].is_number_unsigned()) values[i] = (*found)[i].get<std::uint32_t>();
}

}  // namespace

std::uint64_t number_in(const nlohmann::json& document, const char* name, std::uint64_t otherwise) {
  const auto found = document.find(name);
  return found != document.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
}

std::string text_in(const nlohmann::json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

nlohmann::json to_document(const exec::Fault& fault) {
  return {{"kind", static_cast<std::uint32_t>(fault.kind)},
          {"kernel", fault.kernel},
          {"ctaid", numbers(fault.ctaid)},
          {"block_known", fault.block_known ? 1u : 0u},
          {"tid", numbers(fault.tid)},
          {"thread_known", fault.thread_known ? 1u : 0u},
          {"address", fault.address},
          {"address_known", fault.address_known ? 1u : 0u},
          {"line", fault.ptx_line},
          {"source", fault.source},
          {"detail", fault.detail}};
}

exec::Fault fault_of(const nlohmann::json& document) {
  exec::Fault fault;
  fault.kind = static_cast<exec::FaultKind>(number_in(document, "kind"));
  fault.kernel = text_in(document, "kernel");
  take_numbers(document, "ctaid", fault.ctaid);
  fault.block_known = number_in(document, "block_known") != 0;
  take_numbers(document, "tid", fault.tid);
  fault.thread_known = number_in(document, "thread_known") != 0;
  fault.address = number_in(document, "address");
  fault.address_known = number_in(document, "address_known") != 0;
  fault.ptx_line = static_cast<std::uint32_t>(number_in(document, "line"));
  fault.source = text_in(document, "source");
  fault.detail = text_in(document, "detail");
  return fault;
}

nlohmann::json to_document(const Error& error) {
  return {{"code", static_cast<std::uint32_t>(error.code)},
          {"message", error.message},
          {"file", error.where.file},
          {"line", error.where.line},
          {"column", error.where.column}};
}

Error error_of(const nlohmann::json& document) {
  return {static_cast<ErrorCode>(number_in(document, "code")),
          text_in(document, "message"),
          {text_in(document, "file"), static_cast<unsigned>(number_in(document, "line")),
           static_cast<unsigned>(number_in(document, "column"))}};
}

}  // namespace raddle::proxy
