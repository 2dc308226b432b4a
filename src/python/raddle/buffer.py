"""Arrays in device memory."""
from typing import Any

import numpy

from raddle.errors import InvalidError


class Buffer:
    """An array in device memory, in the order of C; freed with this object. Device.buffer() and Device.empty() make it.

    Kernels take it for a pointer parameter, and so do libraries that know __cuda_array_interface__ while they use the
    same device. numpy.asarray(buffer) copies it to the host.
    """

    def __init__(self, device, shape, dtype):
        self.dtype = numpy.dtype(dtype)
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.size = int(numpy.prod(self.shape, dtype=numpy.int64))  #: elements
        self.nbytes = self.size * self.dtype.itemsize
        self._memory = device._device.allocate(self.nbytes)

    @property
    def address(self) -> int:
        """The device address of the first element, as a number."""
        return self._memory.address

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False),
                "strides": None, "stream": None}

    def write(self, array: Any) -> None:
        """Copies an array of as many elements from the host, converted to the buffer's type. Waits for kernels before.

        Raises InvalidError for another number of elements.
        """
        array = numpy.ascontiguousarray(array, dtype=self.dtype)
        if array.size != self.size:
            raise InvalidError(f"{array.size} elements given for a buffer of {self.size}")
        self._memory.write(array.reshape(-1).view(numpy.uint8))

    def read(self) -> numpy.ndarray:
        """A NumPy array with a copy of the contents. Waits for kernels before.

        Raises KernelFault if one of them faulted.
        """
        array = numpy.empty(self.shape, self.dtype)
        self._memory.read(array.reshape(-1).view(numpy.uint8))
        return array

    def fill(self, value: complex) -> None:
        """Sets all elements to a number."""
        self.write(numpy.full(self.shape, value, self.dtype))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a buffer in device memory is read by a copy")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<raddle.Buffer {self.shape} {self.dtype} at {self.address:#x}>"
