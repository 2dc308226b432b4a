#include "machine/memory/guarded_access.h"

namespace raddle::machine {
namespace {
thread_local GuardedAccess* current_access = nullptr;
}  // namespace

GuardedAccess::GuardedAccess() { current_access = this; }
GuardedAccess::~GuardedAccess() { current_access = nullptr; }

GuardedAccess* GuardedAccess::current() { return current_access; }
void GuardedAccess::leave() { siglongjmp(current_access->before_, 1); }

}  // namespace raddle::machine
