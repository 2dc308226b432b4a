#include "graph/lua/control_flow.h"

#include <cctype>
#include <vector>

namespace raddle::graph {
namespace {

constexpr std::string_view kFlow = " __flow(); ";

class Marker {
 public:
  explicit Marker(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_, 2) == "--")
        comment();
      else if (c == '"' || c == '\'')
        quoted(c);
      else if (c == '[' && long_bracket(at_) != kNone)
        bracketed(long_bracket(at_));
      else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_')
        word();
      else
        symbol(c);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Block {
    enum class Kind { branch, loop, function, repeat, plain } kind;
    bool awaits_do = false;  // for, while
    int parentheses = -1;    // function: of its parameters; -1: not begun
    bool has_return = false;
  };

  void copy(std::size_t count) {
    count = std::min(count, text_.size() - at_);
    result_.append(text_.substr(at_, count));
    at_ += count;
  }
  void insert() { result_.append(kFlow); }

  /// Equal signs of a long bracket that opens here.
  std::size_t long_bracket(std::size_t at) const {
    std::size_t level = 0;
    while (at + 1 + level < text_.size() && text_[at + 1 + level] == '=') ++level;
    return at + 1 + level < text_.size() && text_[at + 1 + level] == '[' ? level : kNone;
  }
  void bracketed(std::size_t level) {
    const std::string close = "]" + std::string(level, '=') + "]";
    const std::size_t end = text_.find(close, at_ + level + 2);
    copy(end == std::string_view::npos ? text_.size() : end + close.size() - at_);
  }
  void comment() {
    copy(2);
    if (at_ < text_.size() && text_[at_] == '[')
      if (const std::size_t level = long_bracket(at_); level != kNone) return bracketed(level);
    const std::size_t end = text_.find('\n', at_);
    copy(end == std::string_view::npos ? text_.size() : end - at_);
  }
  void quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    copy(end + 1 - at_);
  }

  void symbol(char c) {
    copy(1);
    if (blocks_.empty()) return;
    Block& block = blocks_.back();
    if (block.kind != Block::Kind::function || block.parentheses == 0) return;
    if (c == '(') block.parentheses = block.parentheses == -1 ? 1 : block.parentheses + 1;
    if (c == ')' && --block.parentheses == 0) insert();
  }

  void word() {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    const char before = result_.empty() ? ' ' : result_.back();
    if (before == '.' || before == ':') return copy(name.size());  // a field
    if (name == "until") return leave_repeat(name);
    copy(name.size());
    if (name == "if") blocks_.push_back({Block::Kind::branch});
    if (name == "for" || name == "while") blocks_.push_back({Block::Kind::loop, true});
    if (name == "function") blocks_.push_back({Block::Kind::function});
    if (name == "repeat") blocks_.push_back({Block::Kind::repeat});
    if (name == "do" && !take_do()) blocks_.push_back({Block::Kind::plain});
    if (name == "return" && !blocks_.empty()) blocks_.back().has_return = true;
    if (name == "then" || name == "else" || name == "do" || name == "repeat") insert();
    if (name == "end") leave();
  }
  bool take_do() {
    if (blocks_.empty() || !blocks_.back().awaits_do) return false;
    blocks_.back().awaits_do = false;
    return true;
  }
  void leave() {
    if (blocks_.empty()) return;
    const bool is_statement = blocks_.back().kind != Block::Kind::function;
    blocks_.pop_back();
    if (is_statement) insert();
  }
  void leave_repeat(std::string_view name) {
    if (!blocks_.empty()) {
      if (!blocks_.back().has_return) insert();
      blocks_.pop_back();
    }
    copy(name.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string result_;
  std::vector<Block> blocks_;
};

}  // namespace

std::string with_control_flow(std::string_view text) { return Marker(text).run(); }

}  // namespace raddle::graph
