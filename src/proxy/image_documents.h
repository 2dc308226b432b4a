// Images and samplers as parts of messages.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "raddle/texture.h"

namespace raddle::proxy {

nlohmann::json to_document(const Image& image);
/// @errors invalid: values that no image has. Whether the whole is one, create_texture() says
Result<Image> image_of(const nlohmann::json& document);

nlohmann::json to_document(const Sampler& sampler);
/// @errors invalid: values that no sampler has
Result<Sampler> sampler_of(const nlohmann::json& document);

}  // namespace raddle::proxy
