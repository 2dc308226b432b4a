// The rival: OpenGL ES 3 by EGL without a display, which Mesa's llvmpipe runs on the same cores.
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>

#include <cstddef>
#include <cstring>

#include "textured.h"

namespace bench {

using raddle::Error;
using raddle::Result;

namespace {

// Clip space has z from -w to w there, and y upwards in the image.
constexpr const char* kVertexText = R"(#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 place;
uniform mat4 view_projection;
out vec3 facing;
out vec2 at;
void main() {
  vec4 p = view_projection * vec4(position, 1.0);
  gl_Position = vec4(p.xy, 2.0 * p.z - p.w, p.w);
  facing = normal;
  at = place;
})";
constexpr const char* kPixelText = R"(#version 300 es
precision highp float;
in vec3 facing;
in vec2 at;
uniform sampler2D albedo;
out vec4 colour;
void main() {
  float lit = 0.2 + 0.8 * max(dot(normalize(facing), vec3(0.48, 0.8, 0.36)), 0.0);
  colour = vec4(textureLod(albedo, at, 0.0).rgb * lit, 1.0);
})";

class LlvmpipeScene : public TexturedScene {
 public:
  explicit LlvmpipeScene(std::uint32_t side) : side_(static_cast<GLsizei>(side)) {}
  ~LlvmpipeScene() override {
    if (display_ != EGL_NO_DISPLAY) eglTerminate(display_);
  }

  Result<void> set_up() {
    TRY(open());
    TRY(build());
    upload();
    return make_target();
  }

  std::string name() const override { return reinterpret_cast<const char*>(glGetString(GL_RENDERER)); }
  Result<void> draw() override {
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glDrawElements(GL_TRIANGLES, count_, GL_UNSIGNED_INT, nullptr);
    glFinish();
    return {};
  }
  Result<examples::Pixels> pixels() override {
    const auto row = static_cast<std::size_t>(side_) * 4;
    examples::Pixels upside(row * side_), pixels(upside.size());
    glReadPixels(0, 0, side_, side_, GL_RGBA, GL_UNSIGNED_BYTE, upside.data());
    for (GLsizei y = 0; y < side_; ++y) std::memcpy(&pixels[row * y], &upside[row * (side_ - 1 - y)], row);
    return pixels;
  }

 private:
  Result<void> open() {
    const auto get =
        reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    if (get == nullptr) return Error::unsupported("EGL has no platforms");
    display_ = get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
    if (display_ == EGL_NO_DISPLAY || eglInitialize(display_, nullptr, nullptr) == EGL_FALSE)
      return Error::unsupported("EGL cannot do without a display here");
    eglBindAPI(EGL_OPENGL_ES_API);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
                             EGL_NONE};
    EGLConfig config = nullptr;
    EGLint found = 0;
    eglChooseConfig(display_, wanted, &config, 1, &found);
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
    const EGLContext context =
        eglCreateContext(display_, found != 0 ? config : nullptr, EGL_NO_CONTEXT, version);
    if (context == EGL_NO_CONTEXT ||
        eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context) == EGL_FALSE)
      return Error::unsupported("EGL makes no context of OpenGL ES 3");
    return {};
  }

  Result<void> build() {
    const GLuint program = glCreateProgram();
    for (const auto& [kind, text] :
         {std::pair{GL_VERTEX_SHADER, kVertexText}, {GL_FRAGMENT_SHADER, kPixelText}}) {
      const GLuint shader = glCreateShader(static_cast<GLenum>(kind));
      glShaderSource(shader, 1, &text, nullptr);
      glCompileShader(shader);
      glAttachShader(program, shader);
    }
    glLinkProgram(program);
    GLint linked = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (linked == 0) return Error::unsupported("the shaders are not accepted");
    glUseProgram(program);
    const deferred::Scene scene =
        examples::make_view(static_cast<std::uint32_t>(side_), static_cast<std::uint32_t>(side_));
    glUniformMatrix4fv(glGetUniformLocation(program, "view_projection"), 1, GL_TRUE, scene.view_projection);
    return {};
  }

  void upload() {
    const examples::Mesh mesh = examples::make_scene(kDetail);
    count_ = static_cast<GLsizei>(mesh.indices.size());
    GLuint buffers[2], texture = 0;
    glGenBuffers(2, buffers);
    glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
    glBufferData(GL_ARRAY_BUFFER,
                 static_cast<GLsizeiptr>(mesh.vertices.size() * sizeof(deferred::MeshVertex)),
                 mesh.vertices.data(), GL_STATIC_DRAW);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, static_cast<GLsizeiptr>(mesh.indices.size() * 4),
                 mesh.indices.data(), GL_STATIC_DRAW);
    const std::pair<GLint, std::size_t> attributes[] = {{3, 0}, {3, 12}, {2, 24}};
    for (GLuint i = 0; i < 3; ++i) {
      glEnableVertexAttribArray(i);
      glVertexAttribPointer(i, attributes[i].first, GL_FLOAT, GL_FALSE, sizeof(deferred::MeshVertex),
                            reinterpret_cast<const void*>(attributes[i].second));
    }
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    constexpr auto kSide = static_cast<GLsizei>(examples::kTextureSide);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, kSide, kSide, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                 examples::make_texture().data());
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  }

  Result<void> make_target() {
    GLuint frame = 0, sheets[2];
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glGenRenderbuffers(2, sheets);
    glBindRenderbuffer(GL_RENDERBUFFER, sheets[0]);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, side_, side_);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, sheets[0]);
    glBindRenderbuffer(GL_RENDERBUFFER, sheets[1]);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT32F, side_, side_);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, sheets[1]);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      return Error::unsupported("OpenGL ES makes no such target");
    glViewport(0, 0, side_, side_);
    glClearColor(0.1f, 0.1f, 0.15f, 1);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_CULL_FACE);
    glFrontFace(GL_CW);
    return {};
  }

  GLsizei side_, count_ = 0;
  EGLDisplay display_ = EGL_NO_DISPLAY;
};

}  // namespace

Result<std::unique_ptr<TexturedScene>> make_llvmpipe_scene(std::uint32_t side) {
  auto scene = std::make_unique<LlvmpipeScene>(side);
  TRY(scene->set_up());
  return std::unique_ptr<TexturedScene>(std::move(scene));
}

}  // namespace bench
