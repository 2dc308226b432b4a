#include "textured.h"

namespace bench {

raddle::Result<std::unique_ptr<TexturedScene>> make_llvmpipe_scene(std::uint32_t) {
  return raddle::Error::unsupported("built without EGL and OpenGL ES (tools/setup.sh --bench installs them)");
}

}  // namespace bench
