// How far a copy or fill has got when the call that makes it returns: CUDA's table ("API synchronization
// behavior", the same chapter in the manuals of the driver and the runtime API), once, for every call.
#pragma once

#include "driver/memory_table.h"

namespace raddle::driver {

/// How a call wants its work done.
enum class CallForm {
  synchronous,   ///< no stream is named
  asynchronous,  ///< ...Async
  in_order,      ///< of a batch: in the stream's order, whatever the memory
  during_call,   ///< of a batch: the source is read before the call returns, whatever the stream does
};

/// Kinds of memory that the table tells apart.
enum class Place {
  pageable,  ///< CUDA does not know it
  pinned,    ///< allocated or registered as such
  managed,
  device,  ///< and all other memory that CUDA knows
};

enum class Returns {
  at_once,      ///< the work is the stream's
  source_read,  ///< the source may be written again, the target may have its old contents
  done,
};

Place place_of(const AddressInfo& known);
Returns copy_returns(CallForm form, Place from, Place to);
Returns fill_returns(CallForm form, Place target);
/// CU_CTX_SYNC_MEMOPS, or CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the memory: synchronous forms are done when
/// they return.
bool syncs_memops(const Context& context, const AddressInfo& memory);

}  // namespace raddle::driver
