#include "proxy/descriptor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace raddle::proxy {

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Descriptor make_bell() { return Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void ring(const Descriptor& bell) {
  const std::uint64_t one = 1;
  (void)!write(bell.number(), &one, sizeof one);
}

}  // namespace raddle::proxy
