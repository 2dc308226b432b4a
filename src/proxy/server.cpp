// Requests: what a program asks its server for, and waits for.
#include "proxy/server.h"

#include <poll.h>
#include <sys/mman.h>

#include <cstdlib>

#include "base/assert.h"
#include "machine/shape/shape_file.h"
#include "proxy/documents.h"
#include "proxy/image_documents.h"

namespace raddle::proxy {
namespace {

using nlohmann::json;

Error lost() { return Error::make(ErrorCode::server, "the server has gone"); }

/// RADDLE_COMMANDS: in which memory this program's command streams lie (A-1a). @errors invalid
Result<bool> wants_streams_in_device_memory() {
  const char* const wanted = std::getenv("RADDLE_COMMANDS");
  const std::string_view memory = wanted != nullptr && *wanted != '\0' ? wanted : "host";
  if (memory != "host" && memory != "device")
    return Error::invalid("RADDLE_COMMANDS={}: commands lie in host or device memory", memory);
  return memory == "device";
}

}  // namespace

void RemoteCode::run_block(exec::CtaContext&) { RADDLE_ASSERT(false, "a block of a server runs here"); }
void RemoteCode::run_warp(exec::WarpContext&) { RADDLE_ASSERT(false, "a warp of a server runs here"); }

Result<Server*> Server::connect(const std::string& name) {
  static std::mutex mutex;
  static std::string connected;
  static Server* server = nullptr;  // its memory lies in this process to the end
  const std::lock_guard lock(mutex);
  if (server != nullptr && connected != name)
    return Error::invalid("this process uses the server at {} already", connected);
  if (server != nullptr) return server->lost_ ? Result<Server*>(lost()) : server;
  TRY_ASSIGN(const bool in_device_memory, wants_streams_in_device_memory());
  const auto [path, instance, context] = server_name(name);
  TRY_ASSIGN(Descriptor socket, connect_to(path));
  TRY_ASSIGN(
      const json welcome,
      exchange(socket.number(),
               {{"ask", "hello"}, {"version", kVersion}, {"instance", instance}, {"context", context}}));
  TRY_ASSIGN(machine::MachineShape shape,
             machine::read_shape(text_in(welcome, "shape"), "the server's shape"));
  std::unique_ptr<Server> made(new Server(std::move(socket), welcome, in_device_memory));
  TRY(made->open_channel());
  if (!machine::DeviceSpace::instance().borrow(
          {number_in(welcome, "window"), number_in(welcome, "window_bytes")}, *made))
    return Error::invalid("this process has something at the addresses that the server at {} lends", path);
  server = made.release();
  connected = name;
  server->launch_addresses_ = std::make_unique<machine::DeviceSpace>();
  TRY_ASSIGN(server->machine_, machine::Machine::create({.shape = std::move(shape),
                                                         .policy = text_in(welcome, "policy"),
                                                         .workers = 1,
                                                         .pin = false,
                                                         .elsewhere = number_in(welcome, "memory")}));
  server->hearing_ = std::thread([] { server->hear(); });
  return server;
}

Server::Server(Descriptor socket, const json& welcome, bool streams_in_device_memory)
    : engine_(text_in(welcome, "engine")),
      workers_(static_cast<unsigned>(number_in(welcome, "workers"))),
      streams_in_device_memory_(streams_in_device_memory),
      socket_(std::move(socket)) {
  for (std::uint32_t slot = kMostInFlight; slot-- > 0;) free_slots_.push_back(slot);
}

Result<json> Server::ask(const json& request, int attached, Descriptor* answered) {
  const std::lock_guard lock(asking_);
  if (lost_) return lost();
  Result<json> answer = exchange(socket_.number(), request, attached, answered);
  pollfd connection{socket_.number(), 0, 0};
  if (!answer && poll(&connection, 1, 0) > 0) return lost();  // before the hearing thread has noticed
  return answer;
}

template <class Layout>
Result<Layout*> Server::share(const json& request) {
  Descriptor file;
  TRY(ask(request, -1, &file));
  void* const map = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (map == MAP_FAILED) return Error::make(ErrorCode::out_of_memory, "no memory to share with the server");
  return static_cast<Layout*>(map);
}

Result<void> Server::open_channel() {
  TRY_ASSIGN(channel_, share<Channel>({{"ask", "channel"}}));
  TRY(ask({{"ask", "doorbell"}}, -1, &doorbell_));
  TRY(ask({{"ask", "reports"}}, -1, &reports_));
  TRY_ASSIGN(PushBuffer* const stops, share<PushBuffer>({{"ask", "push buffer of stops"}}));
  stops_ = std::make_unique<PushBufferWriter>(*stops);
  return {};
}

Result<PushBufferWriter*> Server::push_buffer(int priority) {
  std::unique_ptr<PushBufferWriter>& known = push_buffers_[priority];
  if (known == nullptr) {
    TRY_ASSIGN(PushBuffer* const made, share<PushBuffer>({{"ask", "push buffer"}, {"priority", priority}}));
    // Where no device memory is left, there are still the host's streams.
    std::byte* const streams = streams_in_device_memory_
                                   ? machine::DeviceSpace::instance().take_memory(PushBuffer::kStreamBytes)
                                   : nullptr;
    known = std::make_unique<PushBufferWriter>(*made, streams);
  }
  return known.get();
}

Result<std::uint64_t> Server::open_space(const SpaceWanted& wanted) {
  TRY_ASSIGN(const json answer, ask({{"ask", "open space"},
                                     {"attributes", wanted.attributes},
                                     {"heap", wanted.heap_bytes},
                                     {"print", wanted.print_bytes},
                                     {"stack", wanted.stack_bytes},
                                     {"placement", placement_number(wanted.placement)},
                                     {"work kind", wanted.work_kind},
                                     {"limit", wanted.time_limit_ns}}));
  return number_in(answer, "space");
}

void Server::close_space(std::uint64_t space) { (void)ask({{"ask", "close space"}, {"space", space}}); }

Result<void> Server::set_limit(std::uint64_t space, Limit which, std::uint64_t value) {
  TRY(ask(
      {{"ask", "set limit"}, {"space", space}, {"which", static_cast<unsigned>(which)}, {"value", value}}));
  return {};
}

Result<std::uint64_t> Server::load(std::uint64_t space, std::span<const Text> texts,
                                   std::span<const std::uint64_t> addresses) {
  json described = json::array();
  std::string all;
  for (const Text& text : texts) {
    described.push_back(
        {{"name", text.name}, {"bytes", text.text.size()}, {"library", text.is_library ? 1u : 0u}});
    all += text.text;
  }
  const std::string head = text_of({{"texts", described}, {"addresses", addresses}});
  TRY_ASSIGN(const Descriptor file, file_of(head + all));
  TRY_ASSIGN(const json answer,
             ask({{"ask", "load"}, {"space", space}, {"head", head.size()}}, file.number()));
  return number_in(answer, "module");
}

void Server::unload(std::uint64_t module) { (void)ask({{"ask", "unload"}, {"module", module}}); }

Result<std::unique_ptr<RemoteCode>> Server::compile(std::uint64_t module, ptx::FunctionId kernel,
                                                    const exec::CompileOptions& how) {
  TRY_ASSIGN(const json answer, ask({{"ask", "compile"},
                                     {"module", module},
                                     {"kernel", kernel},
                                     {"x", how.block.x},
                                     {"y", how.block.y},
                                     {"z", how.block.z},
                                     {"clustered", how.clustered ? 1u : 0u}}));
  auto code = std::make_unique<RemoteCode>();
  code->module = module;
  code->kernel = kernel;
  code->kind = static_cast<exec::BlockKind>(number_in(answer, "kind"));
  code->local_bytes = static_cast<std::uint32_t>(number_in(answer, "local"));
  exec::CodeStatistics& statistics = code->statistics;
  statistics.memory_operations = static_cast<std::uint32_t>(number_in(answer, "memory operations"));
  statistics.not_vectorised = static_cast<std::uint32_t>(number_in(answer, "not vectorised"));
  statistics.dispatched_loops = static_cast<std::uint32_t>(number_in(answer, "dispatched loops"));
  statistics.warps_together = static_cast<std::uint32_t>(number_in(answer, "warps together"));
  statistics.one_by_one = number_in(answer, "one by one") != 0;
  statistics.compile_seconds = static_cast<double>(number_in(answer, "nanoseconds")) * 1e-9;
  statistics.from_cache = number_in(answer, "from cache") != 0;
  statistics.is_quick = number_in(answer, "quick") != 0;
  return code;
}

class Server::Textures final : public machine::TextureTable {
 public:
  Textures(Server& server, std::uint64_t space) : server_(server), space_(space) {}
  std::uint64_t add_texture(const Image& image, const Sampler& sampler) override {
    return handle({{"ask", "add texture"}, {"image", to_document(image)}, {"sampler", to_document(sampler)}});
  }
  std::uint64_t add_surface(const Image& image) override {
    return handle({{"ask", "add surface"}, {"image", to_document(image)}});
  }
  std::uint64_t add_sampler(const Sampler& sampler, bool force_unnormalized_coordinates) override {
    return handle({{"ask", "add sampler"},
                   {"sampler", to_document(sampler)},
                   {"force", force_unnormalized_coordinates ? 1u : 0u}});
  }
  /// Launches there use the variables that their module was loaded with.
  std::uint64_t add_unbound(const std::string&) override { return 0; }
  bool remove(std::uint64_t handle) override {
    return server_.ask({{"ask", "remove texture"}, {"space", space_}, {"handle", handle}}).ok();
  }

 private:
  std::uint64_t handle(json request) {
    request["space"] = space_;
    const Result<json> answer = server_.ask(request);
    return answer ? number_in(*answer, "handle") : 0;
  }
  Server& server_;
  const std::uint64_t space_;
};

std::unique_ptr<machine::TextureTable> Server::textures(std::uint64_t space) {
  return std::make_unique<Textures>(*this, space);
}

bool Server::map(std::uint64_t address, std::uint64_t bytes, int descriptor, std::uint64_t offset,
                 machine::Protection protection) {
  return ask({{"ask", "map"},
              {"address", address},
              {"bytes", bytes},
              {"offset", offset},
              {"protection", static_cast<unsigned>(protection)}},
             descriptor)
      .ok();
}

bool Server::protect(std::uint64_t address, std::uint64_t bytes, machine::Protection protection) {
  return ask({{"ask", "protect"},
              {"address", address},
              {"bytes", bytes},
              {"protection", static_cast<unsigned>(protection)}})
      .ok();
}

void Server::unmap(std::uint64_t address, std::uint64_t bytes) {
  (void)ask({{"ask", "unmap"}, {"address", address}, {"bytes", bytes}});
}

}  // namespace raddle::proxy
