// What a server says of itself to whoever watches it (`raddle top`): its machine, its clients, what they have
// and do.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serve/clients.h"
#include "serve/instances.h"
#include "serve/options.h"

namespace raddle::machine {
class Machine;
}

namespace raddle::serve {

/// Holds up nobody longer than it takes to copy a few numbers.
nlohmann::json describe(const Options& options, machine::Machine& machine, const Instances& instances,
                        Clients& clients);

}  // namespace raddle::serve
