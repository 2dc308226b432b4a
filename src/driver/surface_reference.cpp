// Surface references (CUDA driver API manual, "Surface Reference Management").
#include "base/notice.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/texture_reference.h"

namespace raddle::driver::entry {

Status cuModuleGetSurfRef(Here context, CUsurfref* handle, In<Module> module, const char* name) {
  if (!module->module.has_surface_reference(name)) return CUDA_ERROR_NOT_FOUND;
  *handle = named_reference<SurfaceReference, CUsurfref>(context, module, name, module->surface_references,
                                                         Process::instance().surface_references);
  return CUDA_SUCCESS;
}

Status cuSurfRefSetArray(Here context, In<SurfaceReference> reference, In<Array> array, unsigned flags) {
  if (flags != 0 || (array->descriptor.Flags & ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Module> module = reference->module.lock();
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(reference->mutex);
  TextureObject wanted;
  wanted.resource.resType = RESOURCE_TYPE_ARRAY;
  wanted.resource.res.array.hArray = array->handle;
  Image image;
  TRY(image_of(context, wanted, image));
  TRY_ASSIGN(const SurfaceHandle made, context->device.create_surface(image));
  if (const Result<void> done = module->module.bind(reference->name, made); !done) {
    if (done.error().code == ErrorCode::unsupported) base::notice("raddle: {}\n", done.error().message);
    return done;
  }
  // The memory of an array that goes is written by launches that were given.
  context->device.after_work([before = reference->bound.array] {});
  reference->bound = std::move(wanted);
  reference->is_bound = true;
  return CUDA_SUCCESS;
}

Status cuSurfRefGetArray(Here, CUarray* array, In<SurfaceReference> reference) {
  const std::lock_guard lock(reference->mutex);
  if (!reference->is_bound) return CUDA_ERROR_INVALID_VALUE;
  *array = reference->bound.resource.res.array.hArray;
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
