#include "proxy/image_documents.h"

#include <nlohmann/json.hpp>

#include "proxy/documents.h"

namespace raddle::proxy {
namespace {

using nlohmann::json;

/// Takes values out of a document; remembers whether one of them cannot be.
class Values {
 public:
  explicit Values(const json& document) : document_(document) {}

  template <class T>
  void number(const char* name, T& value, std::uint64_t most = std::numeric_limits<T>::max()) {
    const std::uint64_t given = number_in(document_, name, ~std::uint64_t{0});
    good_ = good_ && given <= most;
    value = static_cast<T>(given);
  }
  void flag(const char* name, bool& value) {
    std::uint8_t given = 0;
    number(name, given, 1);
    value = given != 0;
  }
  template <class Enum>
  void choice(const char* name, Enum& value, Enum last) {
    std::uint8_t given = 0;
    number(name, given, static_cast<std::uint64_t>(last));
    value = static_cast<Enum>(given);
  }
  void real(const char* name, float& value) {
    const auto found = document_.find(name);
    good_ = good_ && found != document_.end() && found->is_number();
    if (good_) value = found->get<float>();
  }
  Result<void> outcome(const char* what) const {
    if (good_) return {};
    return Error::invalid("a message describes no {}", what);
  }

 private:
  const json& document_;
  bool good_ = true;
};

json document_of(const ImageLevel& level) {
  return {{"address", level.address.value},   {"row pitch", level.row_pitch},
          {"slice pitch", level.slice_pitch}, {"width", level.width},
          {"height", level.height},           {"slices", level.slices}};
}

}  // namespace

json to_document(const Image& image) {
  json levels = json::array();
  for (unsigned i = 0; i < image.level_count; ++i) levels.push_back(document_of(image.levels[i]));
  return {{"type", static_cast<unsigned>(image.format.type)},
          {"channels", image.format.channels},
          {"dimensions", image.dimensions},
          {"layered", image.layered ? 1u : 0u},
          {"cube", image.cube ? 1u : 0u},
          {"linear memory", image.linear_memory ? 1u : 0u},
          {"samples", image.samples},
          {"levels", levels}};
}

Result<Image> image_of(const json& document) {
  Image image;
  Values values(document);
  values.choice("type", image.format.type, ChannelType::snorm16);
  values.number("channels", image.format.channels, 4);
  values.number("dimensions", image.dimensions, 3);
  values.flag("layered", image.layered);
  values.flag("cube", image.cube);
  values.flag("linear memory", image.linear_memory);
  values.number("samples", image.samples);
  TRY(values.outcome("image"));
  const auto levels = document.find("levels");
  if (levels == document.end() || !levels->is_array() || levels->size() > Image::kMaxLevels)
    return Error::invalid("a message describes an image without levels");
  image.level_count = static_cast<unsigned>(levels->size());
  for (unsigned i = 0; i < image.level_count; ++i) {
    ImageLevel& level = image.levels[i];
    Values of_level((*levels)[i]);
    of_level.number("address", level.address.value);
    of_level.number("row pitch", level.row_pitch);
    of_level.number("slice pitch", level.slice_pitch);
    of_level.number("width", level.width);
    of_level.number("height", level.height);
    of_level.number("slices", level.slices);
    TRY(of_level.outcome("level of an image"));
  }
  return image;
}

json to_document(const Sampler& sampler) {
  return {{"x", static_cast<unsigned>(sampler.address[0])},
          {"y", static_cast<unsigned>(sampler.address[1])},
          {"z", static_cast<unsigned>(sampler.address[2])},
          {"filter", static_cast<unsigned>(sampler.filter)},
          {"mipmap filter", static_cast<unsigned>(sampler.mipmap_filter)},
          {"normalized coordinates", sampler.normalized_coordinates ? 1u : 0u},
          {"normalized reads", sampler.normalized_reads ? 1u : 0u},
          {"srgb", sampler.srgb ? 1u : 0u},
          {"seamless cube", sampler.seamless_cube ? 1u : 0u},
          {"mipmap bias", sampler.mipmap_bias},
          {"least level", sampler.least_level},
          {"greatest level", sampler.greatest_level},
          {"r", sampler.border[0]},
          {"g", sampler.border[1]},
          {"b", sampler.border[2]},
          {"a", sampler.border[3]},
          {"anisotropy", sampler.anisotropy}};
}

Result<Sampler> sampler_of(const json& document) {
  Sampler sampler;
  Values values(document);
  constexpr const char* kAxes[] = {"x", "y", "z"};
  constexpr const char* kColours[] = {"r", "g", "b", "a"};
  for (std::size_t i = 0; i < 3; ++i) values.choice(kAxes[i], sampler.address[i], AddressMode::clamp_ogl);
  values.choice("filter", sampler.filter, FilterMode::linear);
  values.choice("mipmap filter", sampler.mipmap_filter, FilterMode::linear);
  values.flag("normalized coordinates", sampler.normalized_coordinates);
  values.flag("normalized reads", sampler.normalized_reads);
  values.flag("srgb", sampler.srgb);
  values.flag("seamless cube", sampler.seamless_cube);
  values.real("mipmap bias", sampler.mipmap_bias);
  values.real("least level", sampler.least_level);
  values.real("greatest level", sampler.greatest_level);
  for (std::size_t i = 0; i < 4; ++i) values.real(kColours[i], sampler.border[i]);
  values.number("anisotropy", sampler.anisotropy);
  TRY(values.outcome("sampler"));
  return sampler;
}

}  // namespace raddle::proxy
