// Any bytes from a client of `raddle serve`: each line is a request; or commands in a push buffer if it
// begins with '!', in device memory with '#'; or, after '@', a pointer to commands as it lies in a push
// buffer. Every request has an answer, or an error with a text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "machine/memory/mapping.h"
#include "machine/shape/shape_file.h"
#include "proxy/message.h"
#include "serve/requests.h"

namespace {

using namespace raddle;

const serve::Options& options() {
  static const serve::Options options = [] {
    serve::Options tiny;
    tiny.device.shape = "tiny";
    tiny.device.engine = "interp";
    tiny.device.workers = 1;
    tiny.limits.memory_bytes = 64 << 20;
    tiny.limits.kernel_time = std::chrono::milliseconds(10);
    return tiny;
  }();
  return options;
}

void ask(serve::Client& client, std::string_view line) {
  const auto body = proxy::document_of(line);
  if (!body || proxy::text_of(*body).find("reports") != std::string::npos) return;  // no threads here
  const auto answer = serve::answer(client, {.body = *body, .attached = {}});
  if (!answer && answer.error().message.empty()) std::abort();
}

constexpr std::uint64_t kMemoryBytes = 64 << 10;

/// Device memory that every client has, as the client itself has it mapped.
struct ClientMemory {
  machine::MemoryFile file = machine::MemoryFile::create("fuzz", kMemoryBytes).value();
  machine::Mapping pages = machine::Mapping::of_file(file.descriptor(), 0, kMemoryBytes).value();
};
ClientMemory& client_memory() {
  static ClientMemory memory;
  return memory;
}
std::uint64_t address_of_memory(const serve::Client& client) { return client.lent().start + (32 << 20); }

/// Points at the commands that a line stands for.
proxy::StreamPiece piece_of(const serve::Client& client, proxy::PushBuffer& buffer, char kind,
                            std::string_view bytes) {
  proxy::StreamPiece piece{.start = 0, .bytes = static_cast<std::uint32_t>(bytes.size())};
  if (kind == '@') {
    std::memcpy(&piece, bytes.data(), std::min(sizeof piece, bytes.size()));
    piece.start += address_of_memory(client);
    return piece;
  }
  const bool in_device = kind == '#';
  std::memcpy(in_device ? client_memory().pages.start() : buffer.streams.data(), bytes.data(), bytes.size());
  if (in_device) piece.start = address_of_memory(client), piece.memory = proxy::StreamPiece::kDevice;
  return piece;
}

/// Into the buffer of stops: it takes every command, as the others do.
void push(serve::Client& client, std::string_view line) {
  const int file = client.push_buffer_of_stops();
  void* const map = mmap(nullptr, sizeof(proxy::PushBuffer), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) return;
  auto& buffer = *static_cast<proxy::PushBuffer*>(map);
  const std::uint32_t put = buffer.put;
  buffer.pieces[put % proxy::PushBuffer::kPieces] =
      piece_of(client, buffer, line.front(), line.substr(1).substr(0, kMemoryBytes));
  buffer.put = put + 1;
  while (client.has_work()) client.take_work();
  munmap(map, sizeof buffer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  serve::Clients clients;
  static auto instances =
      serve::Instances::cut(machine::find_shape("tiny").value(), options().limits.memory_bytes, {}).value();
  const auto client =
      serve::Client::admit(options(), {*instances.find("").value(), ""}, clients, {.process = 1});
  if (!client) return 0;
  if (!(*client)->map({address_of_memory(**client), kMemoryBytes}, client_memory().file.descriptor(), 0,
                      machine::Protection::write))
    std::abort();
  while (!rest.empty() && !(*client)->is_closed()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with('!') || line.starts_with('#') || line.starts_with('@'))
      push(**client, line);
    else
      ask(**client, line);
  }
  return 0;
}
