// A client's objects and memory.
#include "serve/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <limits>

#include "serve/requests.h"

namespace raddle::serve {
namespace {

/// Addresses of a client's window: what it fills, and what the server fills for it (its kernels' heap,
/// parameters). Far more than memory, since guards lie between allocations.
constexpr std::uint64_t kLentBytes = 128ull << 30, kOwnBytes = 64ull << 30;
/// A client's address spaces and modules, at most.
constexpr std::size_t kMostSpaces = 256, kMostModules = 4096, kMostPushBuffers = 16;

}  // namespace

Result<std::shared_ptr<Client>> Client::admit(const Options& options, ClientPlace place, Clients& all,
                                              Peer peer) {
  auto window = std::make_shared<machine::DeviceSpace>(kLentBytes + kOwnBytes, nullptr, kLentBytes);
  if (!window->is_reserved())
    return Error::make(ErrorCode::out_of_memory, "no addresses are left for another client");
  TRY_ASSIGN(auto channel, SharedPart<proxy::Channel>::make("raddle channel"));
  TRY_ASSIGN(auto stops, SharedPart<proxy::PushBuffer>::make("raddle push buffer"));
  proxy::Descriptor doorbell = proxy::make_bell();
  if (!doorbell) return Error::make(ErrorCode::out_of_memory, "no descriptors are left");
  std::shared_ptr<Client> client(new Client(options, std::move(place), std::move(peer), std::move(channel),
                                            std::move(stops), std::move(doorbell), std::move(window)));
  all.add(client);
  return client;
}

Client::Client(const Options& options, ClientPlace place, Peer peer, SharedPart<proxy::Channel> channel,
               SharedPart<proxy::PushBuffer> stops, proxy::Descriptor doorbell,
               std::shared_ptr<machine::DeviceSpace> window)
    : options_(options),
      instance_(place.instance),
      context_(std::move(place.context)),
      peer_(std::move(peer)),
      flights_(std::move(channel)),
      doorbell_(std::move(doorbell)),
      window_(std::move(window)),
      space_id_(machine::AddressSpace::next_id()),
      memory_(*window_, memory_limit(), place.instance.memory()),
      stops_(std::move(stops), std::numeric_limits<int>::min()),
      piece_(sizeof(proxy::LaunchCommand) + proxy::kMostParameters + 16) {}

Client::~Client() {
  close();
  if (reporting_.joinable()) {
    shutdown(reports_.number(), SHUT_RDWR);
    reporting_.join();
  }
  modules_.clear();  // what they use is still there
  if (!spaces_.empty()) spaces_.begin()->second->device->space().machine().confine(space_id_, {});
  spaces_.clear();
}

void Client::close() {
  if (closed_.exchange(true)) return;
  const std::lock_guard lock(launching_);
  std::vector<std::shared_ptr<Space>> spaces;
  {
    const std::lock_guard objects(objects_mutex_);
    for (const auto& [number, space] : spaces_) spaces.push_back(space);
  }
  for (const auto& space : spaces) space->device->space().cancel();
}

Client::Usage Client::usage() {
  Usage usage{.in_flight = flights_.count(), .launches = flights_.answered()};
  {
    const std::lock_guard lock(memory_mutex_);
    usage.memory_bytes = memory_.used();
  }
  const std::lock_guard lock(objects_mutex_);
  for (const auto& buffer : push_buffers_) usage.in_push_buffers += buffer->reader.waiting();
  usage.spaces = spaces_.size();
  usage.modules = modules_.size();
  for (const auto& [number, space] : spaces_) usage.blocks += space->device->space().blocks_completed();
  return usage;
}

bool Client::is_selected() {
  const std::lock_guard lock(objects_mutex_);
  return !spaces_.empty() && spaces_.begin()->second->device->space().context().is_done();
}

Result<std::shared_ptr<Client::Space>> Client::space(std::uint64_t number) {
  const std::lock_guard lock(objects_mutex_);
  const auto known = spaces_.find(number);
  if (known != spaces_.end()) return known->second;
  return Error::make(ErrorCode::not_found, "the client has no address space {}", number);
}

Result<std::shared_ptr<Client::Loaded>> Client::module(std::uint64_t number) {
  const std::lock_guard lock(objects_mutex_);
  const auto known = modules_.find(number);
  if (known != modules_.end()) return known->second;
  return Error::make(ErrorCode::not_found, "the client has no module {}", number);
}

Client::Space::~Space() {
  device.reset();
  if (heap_of == nullptr) return;
  const std::lock_guard lock(heap_of->memory_mutex_);
  heap_of->memory_.refund(heap_bytes);
}

/// What kernels may have by malloc counts as if they had it.
Result<void> Client::charge_heap(Space& space, std::uint64_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  TRY(memory_.charge(bytes));
  if (space.heap_of != nullptr) memory_.refund(space.heap_bytes);
  space.heap_of = this;
  space.heap_bytes = bytes;
  return {};
}

Result<std::uint64_t> Client::open_space(const DeviceOptions& wanted) {
  auto space = std::make_shared<Space>();
  TRY(charge_heap(*space, wanted.heap_bytes));
  DeviceOptions options = options_.device;
  options.translation = Translation::windowed;
  options.context = context_;
  if (wanted.placement) options.placement = wanted.placement;
  options.work_kind = wanted.work_kind;
  options.attribute = wanted.attribute;
  options.heap_bytes = wanted.heap_bytes;
  options.stack_bytes = wanted.stack_bytes;
  options.print_bytes =
      std::min(wanted.print_bytes == 0 ? proxy::kMostText : wanted.print_bytes, proxy::kMostText);
  options.time_limit = options_.limits.kernel_time;
  if (wanted.time_limit.count() != 0 &&
      (options.time_limit.count() == 0 || wanted.time_limit < options.time_limit))
    options.time_limit = wanted.time_limit;
  options.output = [&printed = space->printed](std::string_view text) { printed.append(text); };
  const auto ended = [this, &printed = space->printed](machine::AddressSpace& its, machine::Task& task) {
    its.output().flush();
    flights_.ended(task, printed.take());
  };
  TRY_ASSIGN(space->device, ServedDevice::open(std::move(options), window_, space_id_, ended));
  if (const SmLimit limit{instance_.confinement(), options_.limits.sms}; !limit.is_none())
    space->device->space().machine().confine(space_id_, limit);
  const std::lock_guard lock(objects_mutex_);
  if (spaces_.size() >= kMostSpaces || is_closed())
    return Error::invalid("a client has {} spaces", kMostSpaces);
  spaces_.emplace(++last_number_, std::move(space));
  return last_number_;
}

Result<void> Client::close_space(std::uint64_t number) {
  TRY_ASSIGN(const std::shared_ptr<Space> closed, space(number));
  std::vector<std::shared_ptr<Loaded>> modules;  // end without the lock
  const std::lock_guard launching(launching_);
  closed->device->space().cancel();
  const std::lock_guard lock(objects_mutex_);
  for (auto module = modules_.begin(); module != modules_.end();) {
    const bool is_its = module->second->space == closed;
    if (is_its) modules.push_back(module->second);
    module = is_its ? modules_.erase(module) : std::next(module);
  }
  if (spaces_.size() == 1) closed->device->space().machine().confine(space_id_, {});
  spaces_.erase(number);
  return {};
}

Result<void> Client::set_limit(std::uint64_t number, Limit limit, std::uint64_t value) {
  TRY_ASSIGN(const std::shared_ptr<Space> known, space(number));
  if (limit == Limit::print_bytes && value > proxy::kMostText)
    return Error::invalid("a print buffer of {} bytes exceeds {}", value, proxy::kMostText);
  if (limit != Limit::heap_bytes) return known->device->device().set_limit(limit, value);
  const std::uint64_t before = known->heap_bytes;
  TRY(charge_heap(*known, value));
  Result<void> set = known->device->device().set_limit(limit, value);
  if (!set) TRY(charge_heap(*known, before));
  return set;
}

Result<std::uint64_t> Client::load(std::uint64_t number, std::span<const Program::Image> images,
                                   std::span<const std::uint64_t> addresses) {
  auto loaded = std::make_shared<Loaded>();
  TRY_ASSIGN(loaded->space, space(number));
  const std::uint32_t capability = loaded->space->device->space().machine().shape().capability;
  TRY_ASSIGN(const Program program, Program::read(images, capability));
  TRY_ASSIGN(loaded->module, ServedModule::load(*loaded->space->device, program, addresses));
  const std::lock_guard lock(objects_mutex_);
  if (modules_.size() >= kMostModules) return Error::invalid("a client has {} modules", kMostModules);
  modules_.emplace(++last_number_, std::move(loaded));
  return last_number_;
}

Result<void> Client::unload(std::uint64_t number) {
  TRY_ASSIGN(const std::shared_ptr<Loaded> loaded, module(number));  // ends without the lock
  const std::lock_guard lock(objects_mutex_);
  modules_.erase(number);
  return {};
}

Result<std::uint64_t> Client::add_texture(std::uint64_t number, const Texture& texture) {
  TRY_ASSIGN(const std::shared_ptr<Space> known, space(number));
  ServedDevice& device = *known->device;
  if (texture.image && texture.sampler) return device.add_texture(*texture.image, *texture.sampler);
  if (texture.image) return device.add_surface(*texture.image);
  return device.space().textures().add_sampler(*texture.sampler, texture.force_unnormalized_coordinates);
}

Result<void> Client::remove_texture(std::uint64_t number, std::uint64_t handle) {
  TRY_ASSIGN(const std::shared_ptr<Space> known, space(number));
  if (known->device->space().textures().remove(handle)) return {};
  return Error::make(ErrorCode::not_found, "nothing has the handle {:#x}", handle);
}

Result<ServedCode> Client::compile(std::uint64_t number, std::uint64_t kernel, Dim3 block, bool clustered) {
  TRY_ASSIGN(const std::shared_ptr<Loaded> loaded, module(number));
  return loaded->module->compile(kernel, block, clustered);
}

Result<int> Client::add_push_buffer(int priority) {
  TRY_ASSIGN(auto part, SharedPart<proxy::PushBuffer>::make("raddle push buffer"));
  auto made = std::make_unique<PushBufferEnd>(std::move(part), priority);
  const int descriptor = made->part.descriptor();
  const std::lock_guard lock(objects_mutex_);
  if (push_buffers_.size() >= kMostPushBuffers)
    return Error::invalid("a client has {} push buffers", kMostPushBuffers);
  const auto behind =
      std::ranges::find_if(push_buffers_, [&](const auto& known) { return known->priority > priority; });
  push_buffers_.insert(behind, std::move(made));
  return descriptor;
}

Result<proxy::Descriptor> Client::open_reports() {
  int ends[2];
  if (reports_) return Error::invalid("a client has one connection for reports");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error::make(ErrorCode::out_of_memory, "no descriptors are left");
  reports_ = proxy::Descriptor(ends[0]);
  reporting_ = std::thread([this] {
    serve_connection(*this, reports_.number());
    close();
  });
  return proxy::Descriptor(ends[1]);
}

Result<void> Client::map(exec::AddressRange pages, int descriptor, std::uint64_t offset,
                         machine::Protection protection) {
  const std::lock_guard lock(memory_mutex_);
  return memory_.map(pages, descriptor, offset, protection);
}

Result<void> Client::protect(exec::AddressRange pages, machine::Protection protection) {
  const std::lock_guard lock(memory_mutex_);
  return memory_.protect(pages, protection);
}

Result<void> Client::unmap(exec::AddressRange pages) {
  const std::lock_guard lock(memory_mutex_);
  return memory_.unmap(pages);
}

}  // namespace raddle::serve
