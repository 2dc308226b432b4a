"""cuda-core (cuda.core): programs compiled by NVRTC to PTX and to cubins, launched on NumPy's data."""
import ctypes

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

from checks import check, done

SOURCE = """
template <class T> __global__ void saxpy(T a, const T* x, T* y, unsigned long long count) {
  const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}
"""


def saxpy(kind):
    def run():
        device = Device()
        device.set_current()
        stream = device.create_stream()
        options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
        module = Program(SOURCE, code_type="c++", options=options).compile(kind, name_expressions=("saxpy<float>",))
        kernel = module.get_kernel("saxpy<float>")
        count = 10000
        x, y = np.arange(count, dtype=np.float32), np.ones(count, dtype=np.float32)
        on_device = [device.allocate(x.nbytes, stream=stream) for _ in range(2)]
        from cuda.bindings import driver
        for buffer, data in zip(on_device, (x, y)):
            driver.cuMemcpyHtoD(int(buffer.handle), data.ctypes.data, data.nbytes)
        launch(stream, LaunchConfig(grid=(count + 255) // 256, block=256), kernel, ctypes.c_float(2), on_device[0], on_device[1],
               ctypes.c_uint64(count))
        stream.sync()
        found = np.empty_like(y)
        driver.cuMemcpyDtoH(found.ctypes.data, int(on_device[1].handle), found.nbytes)
        np.testing.assert_array_equal(found, 2 * x + 1)
    return run


check("saxpy_ptx", saxpy("ptx"))
check("saxpy_cubin", saxpy("cubin"))
done()
