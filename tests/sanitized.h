// Whether this build has a sanitizer, under which everything takes ten times as long: tests do less of
// what the plain build does in full number.
#pragma once

namespace raddle {

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace raddle
