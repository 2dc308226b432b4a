// The parts into which a server's machine is cut: instances with SMs and memory of their own, as MIG has
// them, and what is left, for clients that name none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/shape/machine_shape.h"
#include "serve/lent_memory.h"
#include "serve/options.h"

namespace raddle::serve {

class Instance {
 public:
  /// @param sms  of the machine, ascending; empty: all
  Instance(std::string name, machine::MachineShape shape, std::vector<std::uint32_t> sms,
           std::uint64_t memory_bytes, unsigned most_clients)
      : name_(std::move(name)),
        shape_(std::move(shape)),
        sms_(std::move(sms)),
        most_clients_(most_clients),
        memory_(memory_bytes) {}

  const std::string& name() const { return name_; }  ///< empty: of those that name none
  /// The machine that its clients see.
  const machine::MachineShape& shape() const { return shape_; }
  /// As SmLimit::sms.
  const std::vector<std::uint32_t>& confinement() const { return sms_; }
  unsigned most_clients() const { return most_clients_; }  ///< 0: as many as the server takes
  MemoryBudget& memory() { return memory_; }

 private:
  const std::string name_;
  const machine::MachineShape shape_;
  const std::vector<std::uint32_t> sms_;
  const unsigned most_clients_;
  MemoryBudget memory_;
};

class Instances {
 public:
  /// Cuts a machine, in the order given, from its first free GPCs on; what is left is the nameless one.
  /// @param memory_bytes  of the machine
  /// @errors invalid: names the instance that cannot be, and why
  static Result<Instances> cut(const machine::MachineShape& machine, std::uint64_t memory_bytes,
                               std::span<const InstanceOptions> wanted);

  /// @errors server: there is none of that name, or nothing is left for those that name none
  Result<Instance*> find(const std::string& name) const;
  std::span<const std::unique_ptr<Instance>> all() const { return instances_; }

 private:
  std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace raddle::serve
