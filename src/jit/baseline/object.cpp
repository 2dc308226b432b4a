#include "jit/baseline/object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSectionELF.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCSymbol.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include "jit/line_table.h"

namespace raddle::jit::baseline {
namespace {

/// Writes the code up to an offset, and leaves the rest for later.
class CodeBytes {
 public:
  CodeBytes(Code& code, llvm::MCStreamer& streamer)
      : bytes_(reinterpret_cast<const char*>(code.holder.textSection()->buffer().data()),
               code.holder.textSection()->bufferSize()),
        streamer_(streamer) {}
  void until(std::size_t offset) {
    streamer_.emitBytes(bytes_.slice(done_, offset));
    done_ = offset;
  }
  void skip(std::size_t bytes) { done_ += bytes; }
  void rest() { until(bytes_.size()); }

 private:
  llvm::StringRef bytes_;
  llvm::MCStreamer& streamer_;
  std::size_t done_ = 0;
};

void write_code(Code& code, llvm::MCStreamer& streamer, llvm::MCContext& context) {
  CodeBytes bytes(code, streamer);
  for (const WrittenFunction& written : code.functions) {
    bytes.until(written.begin);
    llvm::MCSymbol* symbol = context.getOrCreateSymbol(written.function->getName());
    streamer.emitLabel(symbol);
    streamer.emitSymbolAttribute(symbol, llvm::MCSA_ELF_TypeFunction);
    streamer.emitELFSize(symbol, llvm::MCConstantExpr::create(written.end - written.begin, context));
    if (!written.function->hasLocalLinkage()) streamer.emitSymbolAttribute(symbol, llvm::MCSA_Global);
  }
  for (const Code::Address& address : code.addresses) {
    bytes.until(code.holder.labelOffset(address.place));
    streamer.emitValue(llvm::MCSymbolRefExpr::create(context.getOrCreateSymbol(address.symbol), context), 8);
    bytes.skip(8);
  }
  bytes.rest();
}

}  // namespace

std::unique_ptr<llvm::MemoryBuffer> write_object(Code& code, llvm::TargetMachine& machine) {
  const llvm::Target& target = machine.getTarget();
  llvm::MCContext context(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(),
                          machine.getMCSubtargetInfo());
  const std::unique_ptr<llvm::MCObjectFileInfo> files(target.createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(files.get());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.createMCAsmBackend(*machine.getMCSubtargetInfo(), *machine.getMCRegisterInfo(), {}));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      target.createMCCodeEmitter(*machine.getMCInstrInfo(), context));
  const std::unique_ptr<llvm::MCStreamer> streamer(
      target.createMCObjectStreamer(machine.getTargetTriple(), context, std::move(backend), std::move(writer),
                                    std::move(emitter), *machine.getMCSubtargetInfo()));
  streamer->initSections(false, *machine.getMCSubtargetInfo());
  streamer->switchSection(files->getTextSection());
  streamer->emitValueToAlignment(llvm::Align(64));
  write_code(code, *streamer, context);

  streamer->switchSection(context.getELFSection(".stack_sizes", llvm::ELF::SHT_PROGBITS, 0));
  for (const WrittenFunction& written : code.functions) {
    streamer->emitIntValue(written.begin, 8);
    streamer->emitULEB128IntValue(written.stack_bytes);
  }
  streamer->switchSection(context.getELFSection(kLineSection, llvm::ELF::SHT_PROGBITS, 0));
  for (const Line& line : code.lines) {
    streamer->emitIntValue(line.offset, 4);
    streamer->emitIntValue(line.line, 4);
    streamer->emitIntValue(line.column, 4);
  }
  streamer->finish();
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernel", false);
}

}  // namespace raddle::jit::baseline
