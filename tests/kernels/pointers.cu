// Functions called by pointer: out of a table, passed to a function, kept in memory from one launch to the next, and as
// virtual functions of objects that a kernel made.
#include <new>

typedef float (*Unary)(float);
__device__ float square(float x) { return x * x; }
__device__ float negate(float x) { return -x; }
__device__ float half_of(float x) { return x * 0.5f; }
__device__ Unary operations[3] = {square, negate, half_of};

__device__ __noinline__ float twice(Unary f, float x) { return f(f(x)); }

/// Each thread by its own entry: lanes of a warp call different functions.
extern "C" __global__ void map_by_table(const int* which, const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = twice(operations[which[i]], in[i]);
}

struct Work {
  Unary function;
  float argument;
};
extern "C" __global__ void prepare(const int* which, const float* in, Work* work, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) work[i] = {operations[which[i]], in[i]};
}
extern "C" __global__ void perform(const Work* work, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = work[n - 1 - i].function(work[n - 1 - i].argument);
}

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 4; }
};
struct Rectangle : Shape {
  float width, height;
  __device__ Rectangle(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};
struct Triangle : Rectangle {
  using Rectangle::Rectangle;
  __device__ float area() const override { return Rectangle::area() / 2; }
  __device__ int corners() const override { return 3; }
};
constexpr int kShapeBytes = 24;

/// Odd ones are triangles. shapes: kShapeBytes each.
extern "C" __global__ void make_shapes(char* shapes, int n) {
  static_assert(sizeof(Rectangle) <= kShapeBytes && sizeof(Triangle) <= kShapeBytes, "room for every shape");
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 2) new (shapes + i * kShapeBytes) Triangle(i, 3);
  else new (shapes + i * kShapeBytes) Rectangle(i, 2);
}
extern "C" __global__ void measure_shapes(const char* shapes, float* areas, int* corners, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Shape* shape = reinterpret_cast<const Shape*>(shapes + i * kShapeBytes);
  areas[i] = shape->area();
  corners[i] = shape->corners();
}
