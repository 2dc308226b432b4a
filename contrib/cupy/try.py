"""What of CuPy runs: a line for each part, "ok NAME" or "not ok NAME: WHY". Ends with the number of parts that must run and do not."""
import sys

import cupy
import numpy

CHECKS = []


def check(run):
    CHECKS.append(run)
    return run


@check
def arithmetic():
    assert int((cupy.arange(10) ** 2).sum()) == 285


@check
def elementwise_kernel():
    squared = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference")
    x, y = cupy.arange(1000, dtype="float32"), cupy.float32(3)
    numpy.testing.assert_array_equal(squared(x, y).get(), (numpy.arange(1000, dtype="float32") - 3) ** 2)


@check
def raw_kernel():
    kernel = cupy.RawKernel("""extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
      int i = blockDim.x * blockIdx.x + threadIdx.x;
      if (i < n) c[i] = a[i] + b[i];
    }""", "add")
    a, b = (cupy.random.default_rng(seed).random(1000, dtype="float32") for seed in (1, 2))
    c = cupy.empty_like(a)
    kernel((8,), (128,), (a, b, c, 1000))
    numpy.testing.assert_array_equal(c.get(), a.get() + b.get())


@check
def raw_module():
    module = cupy.RawModule(code="template<class T> __global__ void twice(T* p) { p[threadIdx.x] *= 2; }", options=("-std=c++17",),
                            name_expressions=("twice<double>",))
    values = cupy.arange(32, dtype="float64")
    module.get_function("twice<double>")((1,), (32,), (values,))
    numpy.testing.assert_array_equal(values.get(), 2 * numpy.arange(32))


@check
def reductions():
    host = numpy.random.default_rng(3).random((50, 70))
    device = cupy.asarray(host)
    numpy.testing.assert_allclose(device.sum(axis=0).get(), host.sum(axis=0))
    numpy.testing.assert_allclose(float(device.std()), host.std())
    assert int(device.argmax()) == host.argmax()
    norm = cupy.ReductionKernel("float64 x", "float64 y", "x * x", "a + b", "y = sqrt(a)", "0", "euclidean")
    numpy.testing.assert_allclose(float(norm(device)), numpy.linalg.norm(host))


@check
def sorting():
    host = numpy.random.default_rng(4).integers(0, 1000, 5000).astype("int32")
    device = cupy.asarray(host)
    numpy.testing.assert_array_equal(cupy.sort(device).get(), numpy.sort(host))
    numpy.testing.assert_array_equal(host[cupy.argsort(device).get()], numpy.sort(host))
    numpy.testing.assert_array_equal(cupy.unique(device).get(), numpy.unique(host))


@check
def scans_and_indexing():
    host = numpy.random.default_rng(5).integers(0, 9, 3000)
    device = cupy.asarray(host)
    numpy.testing.assert_array_equal(cupy.cumsum(device).get(), numpy.cumsum(host))
    numpy.testing.assert_array_equal(device[device > 4].get(), host[host > 4])
    numpy.testing.assert_array_equal(cupy.bincount(device).get(), numpy.bincount(host))


@check
def fusion():
    @cupy.fuse()
    def shifted(x, y):
        return cupy.sqrt(x * x + y)
    host = numpy.arange(100.0)
    numpy.testing.assert_allclose(shifted(cupy.asarray(host), 1.0).get(), numpy.sqrt(host * host + 1))


@check
def streams_and_memory_pools():
    with cupy.cuda.Stream() as stream:
        values = cupy.ones(1 << 16)
        total = values.sum()
    stream.synchronize()
    assert float(total) == 1 << 16
    assert cupy.get_default_memory_pool().used_bytes() > 0


@check
def random_generator():
    values = cupy.random.default_rng(1).standard_normal(20000)
    assert abs(float(values.mean())) < 0.05 and abs(float(values.std()) - 1) < 0.05


# NVIDIA's libraries of mathematics have NVIDIA's runtime and machine code in them.
@check
def library_cublas():
    a = cupy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_allclose((a @ a.T).get(), a.get() @ a.get().T)


@check
def library_cufft():
    host = numpy.arange(16.0)
    numpy.testing.assert_allclose(cupy.fft.fft(cupy.asarray(host)).get(), numpy.fft.fft(host))


@check
def library_curand():
    assert 0 <= float(cupy.random.random(100).min()) < 0.5


@check
def library_cusolver():
    host = numpy.array([[2.0, 1.0], [1.0, 3.0]])
    numpy.testing.assert_allclose(cupy.linalg.inv(cupy.asarray(host)).get(), numpy.linalg.inv(host))


def main():
    wanted, failed = sys.argv[1:], 0
    for run in CHECKS:
        if wanted and run.__name__ not in wanted:
            continue
        try:
            run()
            print("ok", run.__name__, flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += not run.__name__.startswith("library_")
            why = (str(error).strip().splitlines() or [""])[0][:150]
            print(f"not ok {run.__name__}: {type(error).__name__}: {why}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
