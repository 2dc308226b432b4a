// Libdevice's functions (src/linking/libdevice), called by PTX that only declares them: each against the
// host's arithmetic, most in long double. The limits are those of CUDA's tables ("Mathematical Functions
// Appendix") or smaller.
#include <fmt/format.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "base/file.h"
#include "kernel_test.h"

namespace {

using Number = long double;  ///< holds every 64-bit integer and every double
using Exact = std::function<std::vector<Number>(const std::vector<Number>&)>;

constexpr int kDraws = 48;

/// Letters of a signature, "result:parameters": f d i u l L h (16 bits); F D I are pointers to results, v no
/// result, p and q the addresses of floats and doubles.
struct LibdeviceCase {
  std::string name, signature;
  Number low, high;  ///< of the arguments
  Number ulps;       ///< most of them that a result may be away
  Exact exact;
};

struct Letter {
  char letter;
  const char *type, *param, *reg;  ///< PTX's: to load and store, of the parameter, of the register
};
constexpr Letter kLetters[] = {
    {'f', "f32", "b32", "%f"}, {'d', "f64", "b64", "%d"}, {'i', "s32", "b32", "%r"},
    {'u', "u32", "b32", "%r"}, {'l', "s64", "b64", "%l"}, {'L', "u64", "b64", "%l"},
    {'h', "b32", "b32", "%r"}, {'p', "u64", "b64", "%l"}, {'q', "u64", "b64", "%l"},
};
const Letter& letter(char c) {
  for (const Letter& each : kLetters)
    if (each.letter == c) return each;
  std::abort();
}
bool is_out(char c) { return c == 'F' || c == 'D' || c == 'I'; }
char pointee(char c) { return static_cast<char>(c + ('a' - 'A')); }

std::uint64_t bits_of(Number x, char type) {
  switch (type) {
    case 'f':
      return std::bit_cast<std::uint32_t>(static_cast<float>(x));
    case 'd':
      return std::bit_cast<std::uint64_t>(static_cast<double>(x));
    case 'i':
    case 'l':
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    default:
      return static_cast<std::uint64_t>(x);
  }
}
Number value_of(std::uint64_t bits, char type) {
  switch (type) {
    case 'f':
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case 'd':
      return std::bit_cast<double>(bits);
    case 'i':
      return static_cast<std::int32_t>(bits);
    case 'u':
      return static_cast<std::uint32_t>(bits);
    case 'l':
      return static_cast<Number>(static_cast<std::int64_t>(bits));
    case 'h':
      return static_cast<Number>(bits & 0xffff);
    default:
      return static_cast<Number>(bits);
  }
}

/// In units of the last place of the type; of integers the difference.
Number distance(Number got, Number want, char type) {
  if (type != 'f' && type != 'd') return std::fabs(got - want);
  const Number rounded = type == 'f' ? static_cast<float>(want) : static_cast<double>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) == std::isnan(rounded) ? 0 : 1e30L;
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) return 1e30L;
  const int least = type == 'f' ? -149 : -1074, digits = type == 'f' ? 23 : 52;
  const int exponent = rounded == 0 ? least : std::max(std::ilogb(rounded) - digits, least);
  return std::fabs(std::ldexp(got - want, -exponent));
}

/// A kernel `test_NAME` whose thread i loads its arguments from slots of 8 bytes, and stores the results.
std::string kernel_of(const LibdeviceCase& one) {
  const std::string parameters = one.signature.substr(2);
  const char result = one.signature[0];
  std::string declaration = ".extern .func ", body, passed, stores;
  if (result != 'v') declaration += fmt::format("(.param .{} r) ", letter(result).param);
  declaration += one.name + " (";
  int inputs = 0, outputs = result == 'v' ? 0 : 1;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const char c = parameters[k];
    const Letter& kind = letter(is_out(c) ? 'L' : c);
    declaration += fmt::format("{}.param .{} p{}", k ? ", " : "", kind.param, k);
    passed += fmt::format("{}a{}", k ? ", " : "", k);
    body += fmt::format("  .param .{} a{};\n", kind.param, k);
    if (is_out(c)) {
      const Letter& to = letter(pointee(c));
      body += fmt::format(
          "  .local .align 8 .b8 o{0}[8];\n  mov.u64 %l0, o{0};\n  cvta.local.u64 %l0, %l0;\n", k);
      body += fmt::format("  st.param.b64 [a{}], %l0;\n", k);
      stores += fmt::format("  ld.local.{0} {1}0, [o{2}];\n  st.global.{0} [%out+{3}], {1}0;\n", to.type,
                            to.reg, k, 8 * kDraws * outputs++);
    } else {
      body += fmt::format("  ld.global.{0} {1}0, [%in+{2}];\n  st.param.{3} [a{4}], {1}0;\n", kind.type,
                          kind.reg, 8 * kDraws * inputs++, kind.type[0] == 'f' ? kind.type : kind.param, k);
    }
  }
  std::string call = fmt::format("  call {}, ({});\n", one.name, passed);
  if (result != 'v') {
    const Letter& kind = letter(result);
    body += fmt::format("  .param .{} r;\n", kind.param);
    call =
        fmt::format("  call (r), {}, ({});\n  ld.param.{} {}0, [r];\n  st.global.{} [%out], {}0;\n", one.name,
                    passed, kind.type[0] == 'f' ? kind.type : kind.param, kind.reg, kind.type, kind.reg);
  }
  return fmt::format(
      "{});\n.visible .entry test_{}(.param .u64 in, .param .u64 out) {{\n"
      "  .reg .f32 %f0; .reg .f64 %d0; .reg .b32 %r0; .reg .b64 %l0, %in, %out, %at; .reg .u32 %index;\n"
      "  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n"
      "  mov.u32 %index, %tid.x; mul.wide.u32 %at, %index, 8; add.u64 %in, %in, %at; add.u64 %out, %out, "
      "%at;\n{}{}{}"
      "  ret;\n}}\n",
      declaration, one.name, body, call, stores);
}

// Cases of one shape. `host`: a function of long double.
using Unary = Number (*)(Number);
using Binary = Number (*)(Number, Number);
Exact of(Unary f) {
  return [f](const std::vector<Number>& x) { return std::vector<Number>{f(x[0])}; };
}
Exact of(Binary f) {
  return [f](const std::vector<Number>& x) { return std::vector<Number>{f(x[0], x[1])}; };
}
Number bisected(const std::function<Number(Number)>& rising, Number low, Number high) {
  for (int i = 0; i < 200; ++i) (rising((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  return low;
}
Number half_turns(Number x, Number shift) {  // sin(pi (x + shift))
  const Number part = std::remainder(x, 2.0L) + shift;
  const Number near = std::remainder(part, 2.0L);
  return std::sin(std::acos(-1.0L) * (near > 0.5L ? 1 - near : near < -0.5L ? -1 - near : near));
}
template <typename T>
T at_rounding(int mode, const std::function<T()>& compute) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile T value = compute();
  std::fesetround(before);
  return value;
}

std::vector<LibdeviceCase> cases() {
  std::vector<LibdeviceCase> all;
  const auto unary = [&](const char* name, Number low, Number high, Number ulps_f, Number ulps_d,
                         Exact exact) {
    all.push_back({fmt::format("__nv_{}f", name), "f:f", low, high, ulps_f, exact});
    all.push_back({fmt::format("__nv_{}", name), "d:d", low, high, ulps_d, exact});
  };
  const auto binary = [&](const char* name, Number low, Number high, Number ulps_f, Number ulps_d,
                          Exact exact) {
    all.push_back({fmt::format("__nv_{}f", name), "f:ff", low, high, ulps_f, exact});
    all.push_back({fmt::format("__nv_{}", name), "d:dd", low, high, ulps_d, exact});
  };
  const Number root = std::sqrt(2.0L);
#include "libdevice_cases.h"
  return all;
}

class Libdevice : public KernelTest {};

/// A seed for the arguments: RADDLE_TEST_SEED.
std::uint64_t seed() {
  const char* given = std::getenv("RADDLE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
}

bool tries_all() {
  const char* given = std::getenv("RADDLE_TEST_ALL");
  return given != nullptr && *given != '\0' && std::string(given) != "0";
}

std::vector<std::string> exported_names() {
  std::vector<std::string> names;
  const std::string source = raddle::read_file(RADDLE_LIBDEVICE_PTX).value();
  constexpr std::string_view kMark = ".visible .func";
  for (std::size_t at = source.find(kMark); at != std::string::npos; at = source.find(kMark, at + 1)) {
    const std::size_t begin = source.find("__nv_", at);
    names.push_back(source.substr(begin, source.find_first_of("( \n", begin) - begin));
  }
  return names;
}

// All of them in the interpreter; with a compiler, which takes longer, one in twelve, or all of them with
// RADDLE_TEST_ALL.
TEST_P(Libdevice, EveryFunctionIsExactEnough) {
  std::vector<LibdeviceCase> chosen;
  std::size_t turn = seed();
  for (LibdeviceCase& one : cases())
    if (interpreted() || tries_all() || turn++ % 12 == 0) chosen.push_back(std::move(one));
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (const LibdeviceCase& one : chosen) text += kernel_of(one);
  load_text(text);
  if (HasFatalFailure()) return;
  std::mt19937_64 random(seed());
  const auto doubles = buffer(std::vector<double>{3, -4, 12, 84, 0.5, 2, 7});
  const auto floats = buffer(std::vector<float>{3, -4, 12, 84, 0.5f, 2, 7});
  for (const LibdeviceCase& one : chosen) {
    std::string inputs, outputs = one.signature[0] == 'v' ? "" : one.signature.substr(0, 1);
    for (const char c : one.signature.substr(2)) (is_out(c) ? outputs : inputs) += is_out(c) ? pointee(c) : c;
    std::vector<std::uint64_t> slots(kDraws * inputs.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const char type = inputs[i / kDraws];
      Number x = one.low + (one.high - one.low) * std::uniform_real_distribution<Number>(0, 1)(random);
      if (type != 'f' && type != 'd') x = std::trunc(x);
      slots[i] = type == 'p'   ? floats.address().value
                 : type == 'q' ? doubles.address().value
                               : bits_of(x, type);
    }
    const auto in = buffer(slots);
    auto out = buffer(std::vector<std::uint64_t>(kDraws * outputs.size()));
    auto found = module().kernel("test_" + one.name);
    ASSERT_TRUE(found.ok()) << one.name << ": " << found.error().to_string();
    run(*found, {.grid = {1}, .block = {kDraws}}, in, out);
    const std::vector<std::uint64_t> got = contents(out);
    bool good = true;
    for (std::size_t i = 0; i < kDraws && good; ++i) {
      std::vector<Number> arguments;
      for (std::size_t k = 0; k < inputs.size(); ++k)
        arguments.push_back(value_of(slots[k * kDraws + i], inputs[k]));
      const std::vector<Number> wanted = one.exact(arguments);
      ASSERT_EQ(wanted.size(), outputs.size()) << one.name;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const Number value = value_of(got[k * kDraws + i], outputs[k]);
        const Number away = distance(value, wanted[k], outputs[k]);
        good = good && away <= one.ulps;
        EXPECT_LE(static_cast<double>(away), static_cast<double>(one.ulps))
            << one.name << " of " << static_cast<double>(arguments[0]) << ", "
            << static_cast<double>(arguments.back()) << ": " << static_cast<double>(value) << " instead of "
            << static_cast<double>(wanted[k]) << "; seed " << seed();
      }
    }
  }
}

// Absolute errors where a unit in the last place says little: J and Y from 8 on, on both sides of 25 and of
// the order.
TEST_P(Libdevice, BesselFunctionsOfLargeArguments) {
  if (!interpreted()) return;  // the same code: EveryFunctionIsExactEnough compares the engines
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const LibdeviceCase one[] = {{"__nv_jn", "d:id", 0, 0, 0, {}}, {"__nv_yn", "d:id", 0, 0, 0, {}}};
  for (const LibdeviceCase& each : one) text += kernel_of(each);
  load_text(text);
  if (HasFatalFailure()) return;
  for (const int order : {0, 1, 2, 20, 64}) {
    std::vector<std::uint64_t> slots(2 * kDraws);
    for (int i = 0; i < kDraws; ++i) {
      slots[i] = static_cast<std::uint64_t>(order);
      slots[kDraws + i] = bits_of(8 + i * 2.37L, 'd');
    }
    const auto in = buffer(slots);
    for (const LibdeviceCase& each : one) {
      auto out = buffer(std::vector<std::uint64_t>(kDraws));
      run(*module().kernel("test_" + each.name), {.grid = {1}, .block = {kDraws}}, in, out);
      const std::vector<std::uint64_t> got = contents(out);
      for (int i = 0; i < kDraws; ++i) {
        const Number x = value_of(slots[kDraws + i], 'd');
        const Number exact = each.name == "__nv_jn" ? ::jnl(order, x) : ::ynl(order, x);
        const Number limit = 5e-12L * std::max(1.0L, std::fabs(exact));
        EXPECT_LE(std::fabs(value_of(got[i], 'd') - exact), limit)
            << each.name << " of order " << order << " at " << static_cast<double>(x);
      }
    }
  }
}

TEST_P(Libdevice, EveryFunctionHasATest) {
  std::vector<std::string> tested;
  for (const LibdeviceCase& one : cases()) tested.push_back(one.name);
  const std::vector<std::string> names = exported_names();
  EXPECT_GE(names.size(), 349u);
  for (const std::string& name : names) EXPECT_EQ(std::count(tested.begin(), tested.end(), name), 1) << name;
}

TEST_P(Libdevice, ANameThatNobodyHasFailsByName) {
  load_text(
      ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func __nv_sinful ();\n"
      ".visible .entry k() { call __nv_sinful, (); ret; }\n");
  if (HasFatalFailure()) return;
  const auto found = module().kernel("k");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().to_string().find("__nv_sinful is not defined"), std::string::npos)
      << found.error().to_string();
}

#ifdef RADDLE_TEST_JIT
INSTANTIATE_TEST_SUITE_P(Engines, Libdevice,
                         testing::Values(EngineChoice{"interp", ""}, EngineChoice{"jit", ""}), engine_name);
#else
INSTANTIATE_TEST_SUITE_P(Engines, Libdevice, testing::Values(EngineChoice{"interp", ""}), engine_name);
#endif

}  // namespace
