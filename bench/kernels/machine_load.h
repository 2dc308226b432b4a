// How much of the machine others used while we measured; a figure taken on a busy machine should say so.
#pragma once

namespace bench {

class MachineLoad {
 public:
  MachineLoad();  ///< starts observing
  /// Cores' worth of time that other processes, and the hypervisor's other guests, took since construction.
  double other_cores() const;

 private:
  double busy_, own_, started_;
};

}  // namespace bench
