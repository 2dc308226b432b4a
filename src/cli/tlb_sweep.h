// How often TLBs of many sizes have the page, as a page with diagrams.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "raddle/translation.h"

namespace raddle::cli {

/// Runs the work once. @param tlb  sizes, as of --tlb
using CountTranslations = std::function<Result<TranslationCounts>(const std::string& tlb)>;

/// Runs work with SMs' TLBs of many sizes, then with GPCs', the other ones as they are.
/// @param tlb  sizes, ways and replacement, as of --tlb
/// @returns one HTML page with a diagram in SVG and a table for either
/// @errors as of the work
Result<std::string> sweep_tlbs(std::string_view title, const std::string& tlb,
                               const CountTranslations& count);

}  // namespace raddle::cli
