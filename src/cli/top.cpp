// `raddle top`: watches a server. It asks as often as it draws; the server answers from what it knows anyway.
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <optional>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/top_page.h"
#include "proxy/channel.h"
#include "proxy/message.h"

namespace raddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<nlohmann::json> look(const proxy::Descriptor& connection) {
  return proxy::exchange(connection.number(), {{"ask", "status"}, {"version", proxy::kVersion}});
}

/// The terminal while it is a screen.
class Screen {
 public:
  static std::optional<Screen> open() {
    std::setlocale(LC_ALL, "");
    SCREEN* const made = newterm(nullptr, stdout, stdin);
    if (made == nullptr) return std::nullopt;
    return Screen(made);
  }
  Screen(Screen&& other) noexcept : screen_(std::exchange(other.screen_, nullptr)) {}
  ~Screen() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }
  /// As many lines as there is room for.
  void draw(const TopPage& page) {
    erase();
    for (std::size_t i = 0; i < page.lines.size() && static_cast<int>(i) < LINES - 1; ++i) {
      if (i == page.heading) attron(A_REVERSE);
      mvaddnstr(static_cast<int>(i), 0, page.lines[i].c_str(), COLS);
      if (i == page.heading) attroff(A_REVERSE);
    }
    mvaddnstr(LINES - 1, 0, "q: quit", COLS);
    refresh();
  }
  /// Waits for that long. @returns whether the user wants to end
  bool wants_end(std::uint64_t milliseconds) {
    ::timeout(static_cast<int>(milliseconds));
    const int key = getch();
    return key == 'q' || key == 'Q' || key == 3 || key == 4;
  }

 private:
  explicit Screen(SCREEN* screen) : screen_(screen) {
    raw();  // Ctrl-C is a key here: the terminal is put back whichever way it ends
    noecho();
    curs_set(0);
  }
  SCREEN* screen_;
};

Result<void> watch(const proxy::Descriptor& connection, std::uint64_t interval_ms) {
  std::optional<Screen> screen = Screen::open();
  if (!screen) return Error::invalid("this terminal (TERM) cannot be drawn on: --once prints the same");
  std::optional<nlohmann::json> before;
  auto asked_before = Clock::now();
  do {
    TRY_ASSIGN(nlohmann::json now, look(connection));
    const auto asked = Clock::now();
    const double seconds = std::chrono::duration<double>(asked - asked_before).count();
    screen->draw(top_page(now, before ? &*before : nullptr, seconds));
    before = std::move(now);
    asked_before = asked;
  } while (!screen->wants_end(interval_ms));
  return {};
}

Result<void> print_once(const proxy::Descriptor& connection, bool as_json) {
  TRY_ASSIGN(const nlohmann::json now, look(connection));
  if (as_json) {
    fmt::print("{}\n", now.dump(2));
    return {};
  }
  for (const std::string& line : top_page(now, nullptr, 0).lines) fmt::print("{}\n", line);
  return {};
}

Result<void> show(const TopOptions& options) {
  const char* const server = std::getenv("RADDLE_SERVER");
  const std::string path = options.socket.empty() && server != nullptr ? server : options.socket;
  if (path.empty()) return Error::invalid("which server? --socket PATH or RADDLE_SERVER says");
  TRY_ASSIGN(const proxy::Descriptor connection, proxy::connect_to(proxy::server_name(path).path));
  if (options.once || options.json) return print_once(connection, options.json);
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return Error::invalid("this is no terminal: --once or --json print what is there now");
  return watch(connection, options.interval_ms);
}

}  // namespace

int top(const TopOptions& options) {
  const Result<void> shown = show(options);
  return shown ? kSuccess : report(shown.error());
}

}  // namespace raddle::cli
