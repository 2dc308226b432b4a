// PTX text for cases. Each case has a scope `{ ... }` of its own, so register names repeat (and nested scopes
// are tested).
#include "isa/harness/kernel_writer.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "isa/harness/textures.h"
#include "isa/match.h"
#include "isa/op.h"
#include "ptx/module.h"

namespace raddle::testing {

using isa::Mod;
using isa::ModKind;
using isa::OperandKind;
using isa::Type;

namespace {

/// How a state space is named in the writer's own loads and stores, and how an address in it is made.
struct SpaceText {
  std::string name;  ///< "" for generic
  bool writable = true;
};

/// Of a copy, where it goes.
SpaceText space_of(const isa::Opcode& opcode) {
  if (opcode.names_several_spaces()) return {"shared"};
  isa::Mod named = opcode.get(ModKind::space);
  ptx::Space space = ptx::space_of(named);
  if (space == ptx::Space::generic) return {""};
  // Of parameters, those of calls can be written.
  if (space == ptx::Space::param && (named == Mod::param_func || opcode.is(isa::Effects::writes)))
    return {"param::func"};
  bool writable = space != ptx::Space::param && space != ptx::Space::const_;
  return {std::string(space_name(space)), writable};
}

/// Its syntax knows shared memory alone: a generic address has to be of it, too.
bool takes_shared_only(const isa::Opcode& opcode) {
  std::vector<isa::Mod> spaces;
  for (const isa::ModSlot& slot : opcode.form->slots)
    std::ranges::copy_if(slot.mods, std::back_inserter(spaces),
                         [](isa::Mod mod) { return isa::mod_kind(mod) == ModKind::space; });
  return !spaces.empty() && std::ranges::all_of(spaces, [](isa::Mod space) {
    return ptx::space_of(space) == ptx::Space::shared;
  });
}

/// The base of the area's addresses once `address` has run.
std::string area_base(const SpaceText& space) {
  if (space.name == "param::func") return "frame";
  return space.name == "shared" ? "%area32" : "%area64";
}

unsigned register_bits(Type type, unsigned wanted) {
  unsigned bits = std::max(16u, isa::bit_size(type));
  auto cls = isa::type_class(type);
  bool may_widen =
      cls == isa::TypeClass::bits || cls == isa::TypeClass::unsigned_ || cls == isa::TypeClass::signed_;
  return may_widen ? std::max(bits, wanted) : bits;
}

std::string register_type(Type type, unsigned bits) {
  if (type == Type::pred) return "pred";
  if (bits != isa::bit_size(type)) return fmt::format("b{}", bits);
  switch (type) {
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s16:
    case Type::s32:
    case Type::s64:
    case Type::f32:
    case Type::f64:
      return std::string(type_name(type));
    default:
      return fmt::format("b{}", bits);
  }
}

/// An operand as a case reads or writes it; its slot is taken later.
Port port_of(const isa::OperandSpec& spec, const CaseSpec& c) {
  Type type = case_operand_type(*c.opcode, spec);
  Port port{spec.name, type, register_bits(type, spec.may_be_wider ? c.register_bits : 0),
            spec.vector ? c.opcode->vector_length() : 1};
  if (spec.geometric == isa::GeometricKind::none) return port;
  port.elements = isa::element_count(spec, *c.opcode);
  port.is_fragment = spec.geometric == isa::GeometricKind::fragment;
  port.mixed = isa::index_count(isa::geometry_of(*c.opcode)) > 0;
  return port;
}

std::string operand_text(const isa::OperandSpec& spec, const std::vector<std::string>& registers) {
  const bool is_vector = registers.size() != 1 || spec.geometric == isa::GeometricKind::fragment;
  return !is_vector ? registers[0] : fmt::format("{{{}}}", fmt::join(registers, ", "));
}

}  // namespace

bool is_immediate_only(const isa::OperandSpec& spec) {
  return spec.name == "lut" || spec.name.starts_with("imm") || spec.is_constant;
}

std::vector<const isa::Form*> matching_forms(const isa::Opcode& opcode) {
  std::vector<isa::Word> words;
  std::string_view rest = std::string_view(opcode.text).substr(opcode.row->mnemonic.size());
  while (!rest.empty()) {
    auto end = rest.find('.', 1);
    words.push_back(isa::make_word(rest.substr(1, end == std::string_view::npos ? end : end - 1)));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  }
  std::vector<const isa::Form*> forms{opcode.form};
  isa::Assignment assignment;
  for (const isa::Form& form : opcode.row->forms)
    if (&form != opcode.form && isa::match_form(form, words, assignment)) forms.push_back(&form);
  return forms;
}

struct KernelWriter::Writing {
  CaseLayout layout;
  const CaseSpec* spec = nullptr;
  std::string after;  ///< stores, written behind the instruction
};

KernelWriter::KernelWriter() {
  body_ = R"(.version 8.7
.target sm_90a
.address_size 64
.const .align 16 .b8 table[2048] = {)";
  for (unsigned i = 0; i < 2048; ++i)
    body_ += fmt::format("{}{}", i ? "," : "", (i * 167 + (i >> 3) * 29 + 5) & 255);
  body_ += R"(};
.visible .entry test(.param .u64 out, .param .u64 in, .param .u64 memory, .param .u32 mask, .param .align 16 .b8 block[64])
{
.reg .b64 %out, %in, %area64;
.reg .b32 %lane, %mask, %bit, %area32;
.reg .pred %idle;
.shared .align 16 .b8 shared_area[2048];
.local .align 16 .b8 local_area[64];
ld.param.b64 %out, [out];
ld.param.b64 %in, [in];
ld.param.b32 %mask, [mask];
mov.u32 %lane, %tid.x;
mad.wide.u32 %out, %lane, 8, %out;
mad.wide.u32 %in, %lane, 8, %in;
shr.u32 %bit, %mask, %lane;
and.b32 %bit, %bit, 1;
setp.eq.u32 %idle, %bit, 0;
@%idle bra END;
)";
  lines_ = static_cast<unsigned>(std::count(body_.begin(), body_.end(), '\n'));
}

void KernelWriter::line(const std::string& text) {
  body_ += text;
  body_ += '\n';
  ++lines_;
}

Port KernelWriter::take_input(Port port) {
  port.slot = std::exchange(in_slots_, in_slots_ + port.slots());
  return port;
}

Port KernelWriter::take_output(Port port) {
  port.slot = std::exchange(out_slots_, out_slots_ + port.slots());
  return port;
}

/// Loads one element's register from its slot(s).
void KernelWriter::load(const Port& port, const std::string& reg) {
  unsigned offset = port.slot * kSlotBytes;
  if (port.type == Type::pred) {
    line(fmt::format("{{ .reg .b32 %t; ld.global.b32 %t, [%in+{}]; setp.ne.s32 {}, %t, 0; }}", offset, reg));
  } else if (port.bits == 128) {
    line(
        fmt::format("{{ .reg .b64 %t, %u; ld.global.b64 %t, [%in+{}]; ld.global.b64 %u, [%in+{}]; mov.b128 "
                    "{}, {{%t, %u}}; }}",
                    offset, offset + kSlotBytes, reg));
  } else {
    line(fmt::format("ld.global.b{} {}, [%in+{}];", port.bits, reg, offset));
  }
}

void KernelWriter::store(const Port& port, const std::string& reg) {
  unsigned offset = port.slot * kSlotBytes;
  if (port.type == Type::pred) {
    line(fmt::format("{{ .reg .b32 %t; selp.b32 %t, 1, 0, {}; st.global.b32 [%out+{}], %t; }}", reg, offset));
  } else if (port.bits == 128) {
    line(
        fmt::format("{{ .reg .b64 %t, %u; mov.b128 {{%t, %u}}, {}; st.global.b64 [%out+{}], %t; "
                    "st.global.b64 [%out+{}], %u; }}",
                    reg, offset, offset + kSlotBytes));
  } else {
    line(fmt::format("st.global.b{} [%out+{}], {};", port.bits, offset, reg));
  }
}

/// Declares the registers of an operand's elements, "%s_b0" and so on.
std::vector<std::string> KernelWriter::declare(char prefix, const Port& port) {
  std::vector<std::string> registers;
  for (unsigned i = 0; i < port.elements; ++i) {
    registers.push_back(fmt::format("%{}_{}{}", prefix, port.name, i));
    line(fmt::format(".reg .{} {};", port.mixed ? "b32" : register_type(port.type, port.bits),
                     registers.back()));
  }
  return registers;
}

std::string KernelWriter::source(Writing& w, const isa::OperandSpec& spec, const CaseSpec& c) {
  if (spec.names_members && c.member_mask_from_launch) return "%mask";
  Port port = take_input(port_of(spec, c));
  w.layout.sources.push_back(port);
  std::vector<std::string> registers = declare('s', port);
  for (const std::string& reg : registers) {
    load(port, reg);
    port.slot += port.bits > 64 ? 2 : 1;
  }
  if (spec.geometric == isa::GeometricKind::none) return operand_text(spec, registers);
  const isa::Geometry geometry = isa::geometry_of(*c.opcode);
  const bool layer = isa::has_layer(geometry), surface = c.opcode->row->chapter == "surface";
  for (std::size_t i = 0; i < registers.size() && surface && c.random; ++i)
    line(fmt::format("and.b32 {0}, {0}, {1:#x};", registers[i],
                     coordinate_mask(*c.opcode, i == (layer ? 1 : 0))));
  if (isa::has_sample(geometry) && spec.geometric == isa::GeometricKind::coordinates && c.random)
    line(fmt::format("and.b32 {0}, {0}, {1};", registers[layer ? 1 : 0], TestTextures::kSamples - 1));
  if (registers.size() == 3) registers.push_back(registers.back());  // PTX wants four, and ignores the last
  return operand_text(spec, registers);
}

/// A register with the handle of the test texture or surface that suits the opcode, or of the test sampler.
std::string KernelWriter::handle(const isa::Opcode& opcode, const isa::OperandSpec& spec) {
  const bool is_query = opcode.op == isa::Op::txq_sampler;
  if (spec.kind == OperandKind::sampler || is_query) {
    line(fmt::format(".reg .b64 %sampler; mov.b64 %sampler, {};", TestTextures::sampler()));
    return is_query ? "[%sampler" : "%sampler";
  }
  const isa::Geometry geometry = isa::geometry_of(opcode);
  const bool surface = opcode.row->chapter == "surface";
  const bool integers = opcode.type() == Type::u32 || opcode.type() == Type::s32;
  line(fmt::format(".reg .b64 %handle; mov.b64 %handle, {};",
                   surface ? TestTextures::surface(geometry) : TestTextures::texture(geometry, integers)));
  return "[%handle";
}

/// The surface's contents afterwards: 16 bytes for each lane.
void KernelWriter::dump_surface(Writing& w) {
  for (unsigned i = 0; i < 2; ++i) {
    const Port port = take_output({fmt::format("surface{}", i), Type::b64, 64, 1});
    w.layout.results.push_back(port);
    line(
        fmt::format("{{ .reg .b64 %h, %t; .reg .b32 %x; mov.b64 %h, {}; mad.lo.u32 %x, %lane, 16, {}; "
                    "suld.b.1d.b64.trap %t, [%h, %x]; st.global.b64 [%out+{}], %t; }}",
                    TestTextures::surface(isa::Geometry::d1), 8 * i, port.slot * kSlotBytes));
  }
}

std::string KernelWriter::destination(Writing& w, const isa::OperandSpec& spec, const CaseSpec& c) {
  Port port = take_output(port_of(spec, c));
  w.layout.results.push_back(port);
  return operand_text(spec, declare('d', port));
}

/// Fills the lane's 64 bytes in global memory with those of its area, in other order, and returns the address
/// operand.
std::string KernelWriter::source_of_copy(const Writing& w) {
  line("ld.param.b64 %area64, [memory]; mad.wide.u32 %area64, %lane, 64, %area64;");
  line("{ .reg .b64 %t;");
  for (unsigned i = 0; i < kAreaSlots; ++i)
    line(fmt::format("ld.global.b64 %t, [%in+{}]; st.global.b64 [%area64+{}], %t;",
                     (w.layout.area_in + i) * kSlotBytes, 8 * (kAreaSlots - 1 - i)));
  line("}");
  return "[%area64]";
}

/// Fills the lane's 64 bytes in the opcode's state space and returns the address operand.
std::string KernelWriter::address(Writing& w, const isa::Opcode& opcode) {
  if (w.layout.has_area && opcode.names_several_spaces()) return source_of_copy(w);
  SpaceText space = space_of(opcode);
  w.layout.has_area = true;
  w.layout.area_is_written = space.writable;
  std::string reg = area_base(space);
  if (space.name == "shared") {
    line("mov.u32 %area32, shared_area; mad.lo.u32 %area32, %lane, 64, %area32;");
  } else if (space.name == "local") {
    line("mov.u64 %area64, local_area;");
  } else if (space.name == "const") {
    line("mov.u64 %area64, table; mad.wide.u32 %area64, %lane, 64, %area64;");
  } else if (space.name == "param") {
    return "[block+16]";
  } else if (space.name == "param::func") {
    line(".param .align 16 .b8 frame[64];");
  } else if (takes_shared_only(opcode)) {
    line("mov.u32 %area32, shared_area; mad.lo.u32 %area32, %lane, 64, %area32;");
    line("cvt.u64.u32 %area64, %area32; cvta.shared.u64 %area64, %area64;");
  } else {
    line("ld.param.b64 %area64, [memory]; mad.wide.u32 %area64, %lane, 64, %area64;");
  }
  if (!space.writable) return "[" + reg + "]";
  w.layout.area_in = in_slots_;
  in_slots_ += kAreaSlots;
  std::string dot = space.name.empty() ? "" : "." + space.name;
  line("{ .reg .b64 %t;");
  for (unsigned i = 0; i < kAreaSlots; ++i)
    line(fmt::format("ld.global.b64 %t, [%in+{}]; st{}.b64 [{}+{}], %t;", (w.layout.area_in + i) * kSlotBytes,
                     dot, reg, 8 * i));
  line("}");
  return "[" + reg + "]";
}

void KernelWriter::dump_area(Writing& w, const isa::Opcode& opcode) {
  if (!w.layout.area_is_written) return;
  SpaceText space = space_of(opcode);
  std::string dot = space.name.empty() ? "" : "." + space.name;
  w.layout.area_out = out_slots_;
  out_slots_ += kAreaSlots;
  line("{ .reg .b64 %t;");
  for (unsigned i = 0; i < kAreaSlots; ++i)
    line(fmt::format("ld{}.b64 %t, [{}+{}]; st.global.b64 [%out+{}], %t;", dot, area_base(space), 8 * i,
                     (w.layout.area_out + i) * kSlotBytes));
  line("}");
}

void KernelWriter::carry_in(Writing& w) {
  Port port = take_input({"carry", Type::pred, 32, 1});
  w.layout.sources.push_back(port);
  line(fmt::format("{{ .reg .b32 %t; ld.global.b32 %t, [%in+{}]; add.cc.u32 %t, %t, -1; }}",
                   port.slot * kSlotBytes));
}

void KernelWriter::carry_out(Writing& w) {
  Port port = take_output({"carry", Type::b32, 32, 1});
  w.layout.results.push_back(port);
  line(fmt::format("{{ .reg .b32 %t; addc.u32 %t, 0, 0; st.global.b32 [%out+{}], %t; }}",
                   port.slot * kSlotBytes));
}

Result<CaseLayout> KernelWriter::add(const CaseSpec& c) {
  const isa::Row& row = *c.opcode->row;
  for (std::size_t i = 0; i < c.form->operands.size(); ++i) {
    const isa::OperandSpec* spec = find_operand(row, c.form->operands[i].name);
    if (!spec)
      return Error::unsupported("{}: operand '{}' is in no operand list", row.id, c.form->operands[i].name);
    bool open = spec->kind == OperandKind::value && case_operand_type(*c.opcode, *spec) == Type::none;
    if (open || (spec->kind != OperandKind::value && spec->kind != OperandKind::address &&
                 spec->kind != OperandKind::handle && spec->kind != OperandKind::sampler))
      return Error::unsupported("{}: operand '{}' needs a hand-written kernel", row.id, spec->name);
    if (is_immediate_only(*spec) && (c.immediates.size() <= i || c.immediates[i].empty()))
      return Error::invalid("{}: operand '{}' takes an immediate", row.id, spec->name);
  }
  Writing w;
  w.spec = &c;
  line("{");
  w.layout.first_line = lines_;
  std::string operands;
  bool in_brackets = false;
  for (std::size_t i = 0; i < c.form->operands.size(); ++i) {
    const isa::OperandSlot& slot = c.form->operands[i];
    if (slot.optional && !c.present[i]) continue;
    const isa::OperandSpec& spec = *find_operand(row, slot.name);
    std::string text = i < c.immediates.size() && !c.immediates[i].empty() ? c.immediates[i]
                       : spec.kind == OperandKind::address                 ? address(w, *c.opcode)
                       : spec.kind == OperandKind::handle || spec.kind == OperandKind::sampler
                           ? handle(*c.opcode, spec)
                       : spec.is_destination ? destination(w, spec, c)
                                             : source(w, spec, c);
    std::string_view mark = i < c.marks.size() ? std::string_view(c.marks[i]) : std::string_view();
    bool minus = mark.starts_with('-');
    if (in_brackets && !slot.bracketed) operands += "]", in_brackets = false;
    in_brackets |= spec.kind == OperandKind::handle;
    operands += operands.empty() ? " " : slot.joined ? "|" : ", ";
    operands += fmt::format("{}{}{}", minus ? "-" : "", text, mark.substr(minus));
  }
  bool wrap_carry =
      row.text->scope == isa::Scope::lane && c.opcode->is(isa::Effects::state) && !w.layout.results.empty();
  if (wrap_carry) carry_in(w);
  if (in_brackets) operands += "]";
  line(c.opcode->text + operands + ";");
  if (wrap_carry) carry_out(w);
  for (const Port& port : w.layout.results) {
    if (wrap_carry && &port == &w.layout.results.back()) break;
    for (unsigned i = 0; i < port.elements; ++i) {
      Port element = port;
      element.slot += i * (port.bits > 64 ? 2 : 1);
      store(element, fmt::format("%d_{}{}", port.name, i));
    }
  }
  if (w.layout.has_area) dump_area(w, *c.opcode);
  if (c.random && row.chapter == "surface" && c.opcode->is(isa::Effects::writes)) dump_surface(w);
  line("}");
  w.layout.last_line = lines_;
  return w.layout;
}

std::string KernelWriter::finish() { return body_ + "END:\nret;\n}\n"; }

Type case_operand_type(const isa::Opcode& opcode, const isa::OperandSpec& spec) {
  return opcode.operand_type(spec);
}

std::string random_mark(Random& random, const isa::OperandSpec& spec) {
  std::string mark = spec.may_be_minus && random.chance(30) ? "-" : "";
  while (spec.selector != isa::SelectorKind::none && !random.chance(10)) {
    std::string text = random.chance(50) ? "b" : "h";
    for (unsigned digits = 1 + random.below(4); digits > 0; --digits)
      text += static_cast<char>('0' + random.below(8));
    if (isa::selector_fits(spec.selector, isa::selector_from_text(text))) return mark + "." + text;
  }
  return mark;
}

const isa::OperandSpec* find_operand(const isa::Row& row, std::string_view name) {
  for (const auto& spec : row.operands)
    if (spec.name == name) return &spec;
  return nullptr;
}

std::vector<std::vector<bool>> operand_choices(const isa::Form& form) {
  std::vector<std::vector<bool>> all{std::vector<bool>(form.operands.size(), true)};
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    if (!form.operands[i].optional) continue;
    std::size_t count = all.size();
    for (std::size_t k = 0; k < count; ++k) {
      all.push_back(all[k]);
      all.back()[i] = false;
    }
  }
  return all;
}

}  // namespace raddle::testing
