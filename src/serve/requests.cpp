#include "serve/requests.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "proxy/documents.h"
#include "proxy/image_documents.h"

namespace raddle::serve {
namespace {

using nlohmann::json;
using proxy::number_in;
using proxy::text_in;

/// A program's texts, and their description, at most, in bytes. A document takes far more memory than its
/// text.
constexpr std::size_t kMostProgram = 256 << 20, kMostDescription = 8 << 20;

exec::AddressRange pages_in(const json& request) {
  return {number_in(request, "address"), number_in(request, "bytes")};
}

Result<machine::Protection> protection_in(const json& request) {
  const std::uint64_t value = number_in(request, "protection", 99);
  if (value <= static_cast<unsigned>(machine::Protection::write))
    return static_cast<machine::Protection>(value);
  return Error::invalid("no protection {}", value);
}

std::uint32_t small_number_in(const json& request, const char* name) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number_in(request, name), ~std::uint32_t{0}));
}

/// What kernels may ask of the device: pairs of numbers, as the client has them.
std::function<std::optional<int>(int)> attributes_in(const json& request) {
  std::map<int, int> known;
  const auto given = request.find("attributes");
  if (given == request.end() || !given->is_array()) return {};
  for (const json& pair : *given)
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer())
      known.emplace(pair[0].get<int>(), pair[1].get<int>());
  return [known = std::move(known)](int which) {
    const auto found = known.find(which);
    return found != known.end() ? std::optional(found->second) : std::nullopt;
  };
}

Result<Answer> open_space(Client& client, const proxy::Message& request) {
  DeviceOptions wanted;
  wanted.heap_bytes = number_in(request.body, "heap");
  wanted.print_bytes = number_in(request.body, "print");
  wanted.stack_bytes = small_number_in(request.body, "stack");
  wanted.time_limit = std::chrono::milliseconds(number_in(request.body, "limit") / 1000000);
  wanted.attribute = attributes_in(request.body);
  const std::uint64_t placement = number_in(request.body, "placement");
  if (!proxy::read_placement(placement, wanted.placement))
    return Error::invalid("no placement {}", placement);
  wanted.work_kind = small_number_in(request.body, "work kind");
  TRY_ASSIGN(const std::uint64_t space, client.open_space(wanted));
  return Answer{{{"space", space}}};
}

Result<Answer> close_space(Client& client, const proxy::Message& request) {
  TRY(client.close_space(number_in(request.body, "space")));
  return Answer{};
}

Result<Answer> set_limit(Client& client, const proxy::Message& request) {
  const std::uint64_t which = number_in(request.body, "which", 99);
  if (which > static_cast<unsigned>(Limit::heap_bytes)) return Error::invalid("no limit {}", which);
  TRY(client.set_limit(number_in(request.body, "space"), static_cast<Limit>(which),
                       number_in(request.body, "value")));
  return Answer{};
}

/// The file begins with a document that describes the texts behind it.
Result<Answer> load(Client& client, const proxy::Message& request) {
  TRY_ASSIGN(const std::string file, proxy::read_attached(request.attached, kMostProgram));
  const std::size_t head = number_in(request.body, "head");
  if (head > std::min(file.size(), kMostDescription))
    return Error::invalid("a program's description has {} bytes", head);
  TRY_ASSIGN(const json described, proxy::document_of({file.data(), head}));
  if (!described.contains("texts") || !described["texts"].is_array() || !described.contains("addresses") ||
      !described["addresses"].is_array())
    return Error::invalid("a program's description is none");
  std::vector<std::string> names;
  for (const json& text : described["texts"]) names.push_back(text_in(text, "name"));
  std::vector<Program::Image> images;
  std::size_t at = head;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const json& text = described["texts"][i];
    const std::uint64_t bytes = number_in(text, "bytes");
    if (bytes > file.size() - at) return Error::invalid("a program's text {} is cut off", names[i]);
    images.push_back({{file.data() + at, bytes}, names[i], number_in(text, "library") != 0});
    at += bytes;
  }
  std::vector<std::uint64_t> addresses;
  for (const json& address : described["addresses"])
    addresses.push_back(address.is_number_unsigned() ? address.get<std::uint64_t>() : 0);
  TRY_ASSIGN(const std::uint64_t module, client.load(number_in(request.body, "space"), images, addresses));
  return Answer{{{"module", module}}};
}

Result<Answer> unload(Client& client, const proxy::Message& request) {
  TRY(client.unload(number_in(request.body, "module")));
  return Answer{};
}

Result<Answer> add_to(Client& client, const proxy::Message& request, const Client::Texture& texture) {
  TRY_ASSIGN(const std::uint64_t handle, client.add_texture(number_in(request.body, "space"), texture));
  return Answer{{{"handle", handle}}};
}

Result<Answer> add_texture(Client& client, const proxy::Message& request) {
  Client::Texture texture;
  TRY_ASSIGN(texture.image, proxy::image_of(request.body.value("image", json::object())));
  TRY_ASSIGN(texture.sampler, proxy::sampler_of(request.body.value("sampler", json::object())));
  return add_to(client, request, texture);
}

Result<Answer> add_surface(Client& client, const proxy::Message& request) {
  Client::Texture texture;
  TRY_ASSIGN(texture.image, proxy::image_of(request.body.value("image", json::object())));
  return add_to(client, request, texture);
}

Result<Answer> add_sampler(Client& client, const proxy::Message& request) {
  Client::Texture texture;
  TRY_ASSIGN(texture.sampler, proxy::sampler_of(request.body.value("sampler", json::object())));
  texture.force_unnormalized_coordinates = number_in(request.body, "force") != 0;
  return add_to(client, request, texture);
}

Result<Answer> remove_texture(Client& client, const proxy::Message& request) {
  TRY(client.remove_texture(number_in(request.body, "space"), number_in(request.body, "handle")));
  return Answer{};
}

Result<Answer> compile(Client& client, const proxy::Message& request) {
  const json& body = request.body;
  const Dim3 block{small_number_in(body, "x"), small_number_in(body, "y"), small_number_in(body, "z")};
  TRY_ASSIGN(const ServedCode code, client.compile(number_in(body, "module"), number_in(body, "kernel"),
                                                   block, number_in(body, "clustered") != 0));
  const exec::CodeStatistics& statistics = code.statistics;
  return Answer{{{"kind", static_cast<unsigned>(code.kind)},
                 {"local", code.local_bytes},
                 {"memory operations", statistics.memory_operations},
                 {"not vectorised", statistics.not_vectorised},
                 {"dispatched loops", statistics.dispatched_loops},
                 {"warps together", statistics.warps_together},
                 {"one by one", statistics.one_by_one ? 1u : 0u},
                 {"nanoseconds", static_cast<std::uint64_t>(statistics.compile_seconds * 1e9)},
                 {"from cache", statistics.from_cache ? 1u : 0u},
                 {"quick", statistics.is_quick ? 1u : 0u}}};
}

Result<Answer> map(Client& client, const proxy::Message& request) {
  TRY_ASSIGN(const machine::Protection protection, protection_in(request.body));
  TRY(client.map(pages_in(request.body), request.attached.number(), number_in(request.body, "offset"),
                 protection));
  return Answer{};
}

Result<Answer> protect(Client& client, const proxy::Message& request) {
  TRY_ASSIGN(const machine::Protection protection, protection_in(request.body));
  TRY(client.protect(pages_in(request.body), protection));
  return Answer{};
}

Result<Answer> unmap(Client& client, const proxy::Message& request) {
  TRY(client.unmap(pages_in(request.body)));
  return Answer{};
}

Result<Answer> channel(Client& client, const proxy::Message&) {
  return Answer{.attached = client.flights().descriptor()};
}

Result<Answer> doorbell(Client& client, const proxy::Message&) {
  return Answer{.attached = client.doorbell()};
}

Result<Answer> push_buffer_of_stops(Client& client, const proxy::Message&) {
  return Answer{.attached = client.push_buffer_of_stops()};
}

Result<Answer> push_buffer(Client& client, const proxy::Message& request) {
  const auto found = request.body.find("priority");
  const bool is_number = found != request.body.end() && found->is_number_integer();
  const std::int64_t wanted = is_number ? found->get<std::int64_t>() : 0;
  // As CUDA: no more urgent than -5, no less than 0.
  TRY_ASSIGN(const int descriptor,
             client.add_push_buffer(static_cast<int>(std::clamp<std::int64_t>(wanted, -5, 0))));
  return Answer{.attached = descriptor};
}

Result<Answer> reports(Client& client, const proxy::Message&) {
  Answer answer;
  TRY_ASSIGN(answer.own, client.open_reports());
  return answer;
}

Result<Answer> report(Client& client, const proxy::Message& request) {
  const Report found = client.flights().report(number_in(request.body, "number"));
  Answer answer;
  if (found.fault) answer.body["fault"] = proxy::to_document(*found.fault);
  if (!found.text.empty()) {
    TRY_ASSIGN(answer.own, proxy::file_of(found.text));
  }
  return answer;
}

using Handler = Result<Answer> (*)(Client&, const proxy::Message&);
constexpr std::pair<std::string_view, Handler> kRequests[] = {
    {"add sampler", add_sampler},
    {"add surface", add_surface},
    {"add texture", add_texture},
    {"channel", channel},
    {"close space", close_space},
    {"compile", compile},
    {"doorbell", doorbell},
    {"load", load},
    {"map", map},
    {"open space", open_space},
    {"protect", protect},
    {"push buffer", push_buffer},
    {"push buffer of stops", push_buffer_of_stops},
    {"remove texture", remove_texture},
    {"report", report},
    {"reports", reports},
    {"set limit", set_limit},
    {"unload", unload},
    {"unmap", unmap},
};

}  // namespace

std::vector<std::string_view> request_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, handler] : kRequests) names.push_back(name);
  return names;
}

Result<Answer> answer(Client& client, const proxy::Message& request) {
  const std::string name = text_in(request.body, "ask");
  const auto known = std::ranges::find(kRequests, name, &std::pair<std::string_view, Handler>::first);
  if (known == std::end(kRequests)) return Error::invalid("no request '{}'", name);
  return known->second(client, request);
}

void serve_connection(Client& client, int connection) {
  while (!client.is_closed()) {
    const Result<proxy::Message> request = proxy::receive(connection);
    if (!request && request.error().code == ErrorCode::server) return;
    Result<Answer> given = request ? answer(client, *request) : request.error();
    const bool sent =
        given ? proxy::send(connection, given->body, given->own ? given->own.number() : given->attached).ok()
              : proxy::send(connection, {{"error", proxy::to_document(given.error())}}).ok();
    if (!sent) return;
  }
}

}  // namespace raddle::serve
