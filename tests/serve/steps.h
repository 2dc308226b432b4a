// The protocol by hand, step by step, as a program speaks it.
#pragma once

#include <sys/mman.h>

#include <iterator>
#include <optional>
#include <string>

#include "machine/memory/mapping.h"
#include "proxy/channel.h"
#include "proxy/push_buffer.h"
#include "ptx/parser.h"
#include "serve/server_process.h"

namespace raddle::serve {

/// Speaks the protocol as a program does, and can stop after any step.
class Steps {
 public:
  /// @param text    of its module
  /// @param kernel  that it launches: number of the function in the text, "spin"'s
  explicit Steps(const std::string& path, std::string text = kKernels, std::uint32_t kernel = 1)
      : path_(path), text_(std::move(text)), kernel_(kernel) {}

  /// Takes steps until one fails, or so many are done.
  void take(int count) {
    using Step = bool (Steps::*)();
    constexpr Step kSteps[] = {&Steps::connect, &Steps::hello,  &Steps::channel, &Steps::reports,
                               &Steps::space,   &Steps::memory, &Steps::load,    &Steps::compile,
                               &Steps::buffer,  &Steps::launch, &Steps::limit,   &Steps::texture,
                               &Steps::unmap};
    for (int i = 0; i < count && i < static_cast<int>(std::size(kSteps)); ++i)
      if (!(this->*kSteps[i])()) return;
    ended_ = true;
  }
  static constexpr int kCount = 13;
  bool ended() const { return ended_; }
  int connection() const { return connection_.number(); }
  /// Where it has a megabyte of memory.
  std::uint64_t memory_address() const { return data_; }
  proxy::PushBuffer* push_buffer() { return buffer_; }
  proxy::Channel& channel_memory() { return *map_file<proxy::Channel>(channel_); }
  proxy::PushBuffer* add_push_buffer(int priority) {
    proxy::Descriptor file;
    if (!ask({{"ask", "push buffer"}, {"priority", priority}}, -1, &file)) return nullptr;
    return map_file<proxy::PushBuffer>(file);
  }
  /// Of one thread, with a parameter of 8 bytes.
  proxy::LaunchCommand launch_of(std::uint32_t kernel, std::uint64_t number) const {
    proxy::LaunchCommand command;
    command.parameter_bytes = 8;
    command.number = number;
    command.module = module_;
    command.kernel = kernel;
    for (int i = 0; i < 3; ++i) command.grid[i] = command.block[i] = 1;
    return command;
  }
  /// Launches "spin" on the flag at an address, or another text's kernel.
  bool push_spin(proxy::PushBufferWriter& writer, std::uint64_t number, std::uint64_t flag) const {
    const proxy::LaunchCommand command = launch_of(kernel_, number);
    return writer.write(std::as_bytes(std::span(&command, 1)), std::as_bytes(std::span(&flag, 1)));
  }
  /// More device memory, at the same address for both sides. Null: there is none
  std::byte* add_memory(std::uint64_t address, std::uint64_t bytes,
                        machine::Protection protection = machine::Protection::write) {
    const auto file = machine::MemoryFile::create("test", bytes);
    void* const wanted = reinterpret_cast<void*>(address);
    if (!file || !ask({{"ask", "map"},
                       {"address", address},
                       {"bytes", bytes},
                       {"offset", 0u},
                       {"protection", static_cast<unsigned>(protection)}},
                      file->descriptor()))
      return nullptr;
    void* const map =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file->descriptor(), 0);
    return map == wanted ? static_cast<std::byte*>(map) : nullptr;
  }
  /// Whether the server has cut it off.
  bool is_cut_off() const {
    const auto answer = proxy::exchange(connection(), {{"ask", "nothing"}});
    return !answer && answer.error().code == ErrorCode::server;
  }
  std::uint64_t module() const { return module_; }
  volatile std::uint32_t* words() { return words_; }  ///< that memory, as this process has it

 private:
  template <class Layout>
  static Layout* map_file(const proxy::Descriptor& file) {
    return static_cast<Layout*>(
        mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0));
  }
  bool connect() {
    auto made = proxy::connect_to(path_);
    if (made) connection_ = std::move(*made);
    return made.ok();
  }
  std::optional<nlohmann::json> ask(const nlohmann::json& request, int attached = -1,
                                    proxy::Descriptor* answered = nullptr) {
    auto answer = proxy::exchange(connection_.number(), request, attached, answered);
    return answer ? std::optional(std::move(*answer)) : std::nullopt;
  }
  bool hello() {
    const auto welcome = ask({{"ask", "hello"}, {"version", proxy::kVersion}});
    if (welcome) data_ = (*welcome)["window"].get<std::uint64_t>() + (32 << 20);
    return welcome.has_value();
  }
  bool channel() {
    return ask({{"ask", "channel"}}, -1, &channel_) && ask({{"ask", "doorbell"}}, -1, &doorbell_);
  }
  bool reports() { return ask({{"ask", "reports"}}, -1, &reports_).has_value(); }
  bool space() {
    const auto answer = ask({{"ask", "open space"}, {"heap", 1u << 20}, {"stack", 1024u}});
    if (answer) space_ = (*answer)["space"];
    return answer.has_value();
  }
  bool memory() {
    const auto file = machine::MemoryFile::create("test", 1 << 20);
    words_ = static_cast<volatile std::uint32_t*>(
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor(), 0));
    return ask({{"ask", "map"}, {"address", data_}, {"bytes", 1u << 20}, {"offset", 0u}, {"protection", 2u}},
               file->descriptor())
        .has_value();
  }
  bool load() {
    const std::string head =
        proxy::text_of({{"texts", {{{"name", "test.ptx"}, {"bytes", text_.size()}, {"library", 0u}}}},
                        {"addresses", std::vector<std::uint64_t>(ptx::parse(text_)->variables.size())}});
    const auto file = proxy::file_of(head + text_);
    const auto answer = ask({{"ask", "load"}, {"space", space_}, {"head", head.size()}}, file->number());
    if (answer) module_ = (*answer)["module"];
    return answer.has_value();
  }
  bool compile() {
    return ask({{"ask", "compile"},
                {"module", module_},
                {"kernel", kernel_},
                {"x", 1u},
                {"y", 1u},
                {"z", 1u}})
        .has_value();
  }
  bool buffer() {
    buffer_ = add_push_buffer(0);
    return buffer_ != nullptr;
  }
  bool launch() {
    proxy::PushBufferWriter writer(*buffer_);
    return push_spin(writer, 1, data_);
  }
  bool limit() {
    return ask({{"ask", "set limit"}, {"space", space_}, {"which", 0u}, {"value", 2048u}}).has_value();
  }
  bool texture() { return !ask({{"ask", "add texture"}, {"space", space_}}).has_value(); }
  /// Under the running kernel.
  bool unmap() {
    return proxy::send(connection_.number(), {{"ask", "unmap"}, {"address", data_}, {"bytes", 1u << 20}})
        .ok();
  }

  const std::string path_, text_;
  const std::uint32_t kernel_;
  proxy::Descriptor connection_, channel_, doorbell_, reports_;
  proxy::PushBuffer* buffer_ = nullptr;
  volatile std::uint32_t* words_ = nullptr;
  std::uint64_t data_ = 0, space_ = 0, module_ = 0;
  bool ended_ = false;
};

}  // namespace raddle::serve
