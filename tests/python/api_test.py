"""raddle.Device, kernels, buffers and what may be an argument."""
import ctypes
import gc
import io
import contextlib
import os
import signal
import threading
import unittest

import numpy
import raddle
from package import HEAD, KERNELS, ROOT, PackageTest, store_kernel, tap

VECTOR_ADD = os.path.join(KERNELS, "vector_add.ptx")


class Tensor:
    """An array that is known by DLPack only, as PyTorch's tensors are."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Interface:
    """An array that is known by an attribute of that name only."""

    def __init__(self, name, fields, owner=None):
        setattr(self, name, fields)
        self.owner = owner


class DeviceTest(PackageTest):
    @classmethod
    def setUpClass(cls):
        cls.device = raddle.Device()
        cls.add = cls.device.load(VECTOR_ADD)["vector_add"]

    def setUp(self):
        self.a = numpy.arange(1000, dtype=numpy.float32)
        self.b = numpy.full(1000, 2, numpy.float32)

    def check_sum(self, a, b, c, result=None):
        self.add(a, b, c, 1000, grid=4, block=256)
        numpy.testing.assert_array_equal(c if result is None else result(), self.a + self.b)

    def stored(self, type_, value, dtype):
        result = numpy.zeros(1, dtype)
        self.device.load(store_kernel("store", type_))["store"](result, value, grid=1, block=1)
        return result[0]


class Arrays(DeviceTest):
    def test_numpy(self):
        self.check_sum(self.a, self.b, numpy.zeros(1000, numpy.float32))

    def test_buffers_of_the_device(self):
        c = self.device.empty(1000)
        self.check_sum(self.device.buffer(self.a), self.device.buffer(self.b), c, result=lambda: numpy.asarray(c))

    def test_one_array_twice_is_one_in_the_kernel(self):
        expected = self.a + self.a
        self.add(self.a, self.a, self.a, 1000, grid=4, block=256)
        numpy.testing.assert_array_equal(self.a, expected)

    def test_arrays_that_overlap_in_part_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"vector_add: argument 2 \(parameter .*overlaps"):
            self.add(self.a[:900], self.a[100:], self.b, 900, grid=4, block=256)

    def test_what_is_read_only_stays_as_it_is(self):
        self.a.flags.writeable = False
        kept = bytes(self.a)
        self.add(self.a, self.b, self.a, 1000, grid=4, block=256)
        self.assertEqual(bytes(self.a), kept)
        self.add(self.b, self.b, Tensor(self.a), 1000, grid=4, block=256)  # DLPack says so, too
        self.assertEqual(bytes(self.a), kept)
        frozen = numpy.zeros(1000, numpy.float32).tobytes()
        self.check_sum(frozen, self.b, c := numpy.zeros(1000, numpy.float32), result=lambda: c + self.a)

    def test_dlpack(self):
        c = numpy.zeros(1000, numpy.float32)
        self.check_sum(Tensor(self.a), Tensor(self.b), Tensor(c), result=lambda: c)

    def test_array_interface(self):
        c = numpy.zeros(1000, numpy.float32)
        wrapped = [Interface("__array_interface__", array.__array_interface__) for array in (self.a, self.b, c)]
        self.check_sum(*wrapped, result=lambda: c)

    def test_cuda_array_interface_lies_in_device_memory(self):
        a, b, c = self.device.buffer(self.a), self.device.buffer(self.b), self.device.empty(1000)
        wrapped = [Interface("__cuda_array_interface__", x.__cuda_array_interface__) for x in (a, b, c)]
        self.check_sum(*wrapped, result=c.read)
        self.check_sum(a.address, b.address, c.address, result=c.read)

    def test_what_is_not_contiguous_is_refused(self):
        strided = numpy.zeros(2000, numpy.float32)[::2]
        fields = dict(self.device.buffer(self.a).__cuda_array_interface__, strides=(8,))
        for wrong in (strided, Tensor(strided), Interface("__array_interface__", strided.__array_interface__),
                      Interface("__cuda_array_interface__", fields)):
            with self.subTest(type(wrong)), self.assertRaisesRegex((ValueError, BufferError), "argument 1 .*contiguous"):
                self.add(wrong, self.b, self.b, 1000, grid=4, block=256)

    def test_malformed_interfaces_are_refused(self):
        sound = self.device.buffer(self.a).__cuda_array_interface__
        for field, wrong in (("data", ("here", False)), ("data", None), ("shape", 5), ("shape", ("x",)), ("typestr", 4)):
            with self.subTest(field=field, wrong=wrong), self.assertRaisesRegex(TypeError, "argument 1 "):
                self.add(Interface("__cuda_array_interface__", dict(sound, **{field: wrong})), self.b, self.b, 1000, grid=4)

    def test_arrays_without_elements_and_none_are_null(self):
        nothing = numpy.zeros(0, numpy.float32)
        self.add(nothing, None, nothing, 0, grid=1, block=32)

    def test_staged_memory_is_given_back(self):
        gc.collect()
        before = self.device.memory_used
        for _ in range(3):
            self.check_sum(self.a, self.b, numpy.zeros(1000, numpy.float32))
        self.device.synchronize()
        self.assertEqual(self.device.memory_used, before)


class Numbers(DeviceTest):
    def test_numbers_are_converted_to_the_parameter(self):
        for type_, value, dtype, expected in (
                ("u32", 7, "u4", 7), ("u32", -1, "i4", -1), ("u32", 2**32 - 1, "u4", 2**32 - 1), ("u64", 2**64 - 1, "u8", 2**64 - 1),
                ("s64", -2**63, "i8", -2**63), ("u16", numpy.int64(9), "u2", 9), ("u32", True, "u4", 1), ("f32", 1.5, "f4", 1.5),
                ("f32", 3, "f4", 3), ("f32", numpy.int32(3), "f4", 3), ("f64", numpy.float32(0.5), "f8", 0.5), ("f16", 1.5, "f2", 1.5)):
            with self.subTest(type=type_, value=value):
                self.assertEqual(self.stored(type_, value, dtype), expected)

    def test_what_does_not_fit_is_refused(self):
        for type_, value in (("u32", 2**32), ("u32", -2**31 - 1), ("u16", 65536), ("u64", 2**64)):
            with self.subTest(type=type_, value=value), self.assertRaisesRegex(OverflowError, r"argument 2 \(parameter value, ."):
                self.stored(type_, value, "u8")
        for type_, value in (("u32", 1.5), ("f32", "text"), ("u32", object()), ("u32", self.a), ("u32", None)):
            with self.subTest(type=type_, value=value), self.assertRaisesRegex(TypeError, r"store: argument 2 \(parameter value"):
                self.stored(type_, value, "u8")

    def test_structures_by_value(self):
        class Pair(ctypes.Structure):
            _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_float), ("z", ctypes.c_uint32)]
        kernel = self.device.load(HEAD + """
.visible .entry third(.param .u64 to, .param .align 4 .b8 pair[12]) {
  .reg .u64 %to; .reg .u32 %value;
  ld.param.u64 %to, [to];
  ld.param.u32 %value, [pair+8];
  st.global.u32 [%to], %value;
  ret;
}""")["third"]
        result = numpy.zeros(1, numpy.uint32)
        kernel(result, Pair(1, 2, 3), grid=1, block=1)
        self.assertEqual(result[0], 3)
        kernel(result, numpy.array([4, 5, 6], numpy.uint32), grid=1, block=1)
        self.assertEqual(result[0], 6)
        with self.assertRaisesRegex(TypeError, "8 bytes given for a parameter of 12"):
            kernel(result, numpy.zeros(2, numpy.uint32), grid=1, block=1)


class Launches(DeviceTest):
    def test_report(self):
        report = self.add(self.a, self.b, self.b, 1000, grid=(4, 1), block=[256])
        self.assertIn(report.engine, ("jit", "interp"))
        self.assertGreater(report.seconds, 0)

    def test_launch_returns_at_once_and_waits_once(self):
        c = numpy.zeros(1000, numpy.float32)
        launch = self.add.launch(self.a, self.b, c, 1000, grid=4, block=256)
        self.assertEqual(launch.wait().engine, launch.wait().engine)
        self.assertTrue(launch.done)
        numpy.testing.assert_array_equal(c, self.a + self.b)

    def test_objects_keep_their_device(self):
        kernel = raddle.Device("tiny").load(VECTOR_ADD)["vector_add"]
        gc.collect()
        c = numpy.zeros(1000, numpy.float32)
        kernel(self.a, self.b, c, 1000, grid=8, block=kernel.suggested_block)
        numpy.testing.assert_array_equal(c[:256], (self.a + self.b)[:256])

    def test_shared_memory_and_clusters(self):
        kernel = self.device.load(HEAD + """
.extern .shared .align 4 .b8 room[];
.visible .entry ranks(.param .u64 to) {
  .reg .u64 %to, %at; .reg .u32 %block, %rank, %size;
  ld.param.u64 %to, [to];
  mov.u32 %block, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %size, %dynamic_smem_size;
  mad.lo.u32 %rank, %rank, 65536, %size;
  mad.wide.u32 %at, %block, 4, %to;
  st.global.u32 [%at], %rank;
  ret;
}""")["ranks"]
        result = numpy.zeros(8, numpy.uint32)
        kernel(result, grid=8, block=32, shared=1024, cluster=4)
        self.assertEqual([int(x) for x in result >> 16], [0, 1, 2, 3] * 2)
        self.assertEqual(set(result & 0xffff), {1024})
        with self.assertRaisesRegex(raddle.InvalidError, "shared"):
            kernel(result, grid=8, block=32, shared=1 << 20)

    def test_wrong_configurations(self):
        for wrong in ({"grid": 0}, {"grid": (1, 1, 1, 1)}, {"grid": ()}, {"grid": 1, "block": 4096}, {"grid": 3, "cluster": 2}):
            with self.subTest(wrong), self.assertRaises(raddle.InvalidError):
                self.add(self.a, self.b, self.b, 1000, **wrong)
        with self.assertRaisesRegex(raddle.InvalidError, "3 arguments given, the kernel has 4"):
            self.add(self.a, self.b, self.b, grid=1)

    def test_what_kernels_print(self):
        module = self.device.compile('extern "C" __global__ void hello(int n) { printf("hello %d\\n", n); }')
        with contextlib.redirect_stdout(io.StringIO()) as text:
            module["hello"](7, grid=1, block=2)
        self.assertEqual(text.getvalue(), "hello 7\n" * 2)

    def test_two_threads(self):
        def work(results, i):
            c = numpy.zeros(1000, numpy.float32)
            for _ in range(20):
                self.add(self.a, self.b, c, 1000, grid=4, block=256)
            results[i] = numpy.array_equal(c, self.a + self.b)
        results = [False, False]
        threads = [threading.Thread(target=work, args=(results, i)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True, True])

    def test_control_c_ends_a_kernel(self):
        endless = raddle.Device("tiny").load(HEAD + ".visible .entry endless() {\nagain: bra again;\n}")["endless"]
        # A process that a shell started in the background ignores it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            endless(grid=1, block=32)
        endless.module.device.synchronize()  # the device works on

    def test_time_limit(self):
        endless = raddle.Device("tiny", time_limit=0.05).load(HEAD + ".visible .entry endless() {\nagain: bra again;\n}")["endless"]
        with self.assertRaises(raddle.LaunchTimeout):
            endless(grid=1, block=32)


class Faults(PackageTest):
    KERNEL = HEAD + """
.visible .entry wild(.param .u64 to) {
  .reg .u64 %to;
  ld.param.u64 %to, [to];
  st.global.u32 [%to], 1;
  ret;
}
"""

    def test_a_fault_names_its_line(self):
        for engine in ("jit", "interp"):
            device = raddle.Device("tiny", engine=engine)
            kernel = device.load(self.KERNEL)["wild"]
            with self.subTest(engine), self.assertRaises(raddle.KernelFault) as caught:
                kernel(0x500000, grid=1, block=1)
            fault = caught.exception
            self.assertEqual((fault.kernel, fault.block, fault.line), ("wild", (0, 0, 0), 8))
            self.assertEqual(fault.source, "st.global.u32 [%to], 1;")
            self.assertIn("illegal address 0x500000", str(fault))
            self.assertIsInstance(fault, RuntimeError)
            with self.assertRaises(raddle.KernelFault):  # it is sticky
                kernel(None, grid=1, block=1)

    def test_a_fault_of_cuda_source_names_its_line(self):
        module = raddle.Device("tiny").compile('extern "C" __global__ void wild(int* p) {\n  *p = 1;\n}', ["-lineinfo"])
        with self.assertRaises(raddle.KernelFault) as caught:
            module["wild"](0x500000, grid=1, block=1)
        self.assertRegex(caught.exception.cuda_source, r":2\b")

    def test_an_array_is_not_overrun_in_host_memory(self):
        around = numpy.zeros(3 << 20, numpy.float32)
        inner = around[1 << 20:2 << 20]
        kernel = raddle.Device("tiny").load(HEAD + """
.visible .entry beyond(.param .u64 to) {
  .reg .u64 %to;
  ld.param.u64 %to, [to];
  st.global.u32 [%to+4194304], 1;
  ret;
}""")["beyond"]
        with self.assertRaises(raddle.KernelFault):
            kernel(inner, grid=1, block=1)
        self.assertFalse(around.any())


class Code(PackageTest):
    def test_version(self):
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            self.assertIn(f"project(raddle VERSION {raddle.__version__} ", file.read())

    def test_inspect(self):
        info = raddle.inspect(VECTOR_ADD)[0]
        self.assertEqual(info.name, "vector_add")
        self.assertEqual([parameter.type for parameter in info.parameters], ["u64", "u64", "u64", "u32"])
        self.assertGreater(info.registers, 0)
        self.assertIsNone(info.required_block)
        self.assertEqual(info.unsupported, [])

    def test_wrong_code(self):
        device = raddle.Device("tiny")
        with self.assertRaisesRegex(raddle.UnsupportedError, "wrong.u32"):
            device.load(HEAD + ".visible .entry bad() {\n  wrong.u32 1;\n}\n")["bad"]
        with self.assertRaises(raddle.InvalidError) as caught:
            raddle.inspect(HEAD + ".visible .entry bad( {\n}\n")
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual((caught.exception.line, caught.exception.source), (4, ".visible .entry bad( {"))
        with self.assertRaisesRegex(raddle.NotFoundError, "vector_add"):
            device.load(VECTOR_ADD)["vector_ad"]
        with self.assertRaises(raddle.FileError):
            device.load("/no/such.ptx")
        with self.assertRaises(raddle.NotFoundError):
            raddle.Device("h9000")

    def test_compile_errors_are_the_compilers(self):
        with self.assertRaisesRegex(raddle.CompileError, r"<source>:2.*nonsense"):
            raddle.compile("__global__ void f() {\n  nonsense;\n}\n")

    def test_variables(self):
        module = raddle.Device("tiny").load(HEAD + ".visible .global .align 4 .u32 count[3];\n.visible .entry f() { ret; }\n")
        address, nbytes = module.variable("count")
        self.assertEqual(nbytes, 12)
        self.assertNotEqual(address, 0)

    def test_out_of_memory(self):
        with self.assertRaises(raddle.OutOfMemoryError) as caught:
            raddle.Device("tiny").empty(1 << 50, numpy.uint8)
        self.assertIsInstance(caught.exception, MemoryError)


class Buffers(PackageTest):
    def test_contents(self):
        device = raddle.Device("tiny")
        buffer = device.buffer(numpy.arange(6).reshape(2, 3))
        self.assertEqual((buffer.shape, len(buffer), buffer.nbytes), ((2, 3), 2, 48))
        numpy.testing.assert_array_equal(buffer, [[0, 1, 2], [3, 4, 5]])
        buffer.fill(7)
        self.assertEqual(numpy.asarray(buffer).tolist(), [[7] * 3] * 2)
        with self.assertRaises(raddle.InvalidError):
            buffer.write(numpy.zeros(5))


SPIN = HEAD + """
.visible .entry spin(.param .u64 flag) {
  .reg .pred %p; .reg .b64 %a; .reg .b32 %v;
  ld.param.u64 %a, [flag];
again:
  ld.volatile.u32 %v, [%a];
  setp.eq.u32 %p, %v, 0;
  @%p bra again;
  ret;
}
.visible .entry release(.param .u64 flag) {
  .reg .b64 %a;
  ld.param.u64 %a, [flag];
  st.volatile.u32 [%a], 1;
  ret;
}
"""


class Streams(PackageTest):
    def setUp(self):
        self.device = raddle.Device(workers=2)
        module = self.device.load(SPIN)
        self.spin, self.release = module["spin"], module["release"]
        self.flag = self.device.buffer(numpy.zeros(1, numpy.uint32))

    def start(self, stream):
        """A kernel that ends when the flag is set. The launch is kept: dropping it would wait."""
        self.waiting = self.spin.launch(self.flag, grid=1, block=1, stream=stream)

    def test_work_of_a_stream_runs_beside_that_of_another(self):
        """The first kernel ends only when the second has run; in one stream they would never."""
        first, second = self.device.stream(), self.device.stream(priority=-1)
        self.start(first)
        self.assertFalse(first.done)
        self.release(self.flag, grid=1, block=1, stream=second)
        first.synchronize()
        self.assertTrue(self.waiting.done and first.done)

    def test_a_stream_waits_for_an_event(self):
        first, second = self.device.stream(), self.device.stream()
        start = first.record()
        self.start(first)
        end = first.record()
        self.assertFalse(end.done)
        second.wait(end)
        after = second.record()
        self.release(self.flag, grid=1, block=1)
        end.wait()
        self.assertTrue(end.done)
        after.wait()
        self.assertGreater(end.elapsed_ms(start), 0)
        self.assertLess(start.elapsed_ms(end), 0)
        self.assertGreaterEqual(after.elapsed_ms(end), 0)

    def test_what_follows_an_event_comes_after_it(self):
        first, second = self.device.stream(), self.device.stream()
        self.start(first)
        second.wait(first.record())
        second.record()
        self.assertFalse(second.done)
        self.release(self.flag, grid=1, block=1)
        second.synchronize()
        self.assertTrue(first.done)

    def test_copies_wait_for_all_streams(self):
        add, stream = self.device.load(VECTOR_ADD)["vector_add"], self.device.stream()
        a = self.device.buffer(numpy.ones(1000, numpy.float32))
        self.start(stream)
        sum_ = add.launch(a, a, a, 1000, grid=4, block=256, stream=stream)
        threading.Timer(0.2, lambda: self.release(self.flag, grid=1, block=1)).start()
        numpy.testing.assert_array_equal(a.read(), numpy.full(1000, 2, numpy.float32))
        self.assertTrue(sum_.done)

    def test_an_event_that_is_not_done_has_no_time(self):
        stream = self.device.stream()
        start = stream.record()
        self.start(stream)
        with self.assertRaisesRegex(raddle.InvalidError, "not done"):
            stream.record().elapsed_ms(start)
        self.release(self.flag, grid=1, block=1)

    def test_faults_are_told(self):
        stream = self.device.stream()
        launched = self.spin.launch(64, grid=1, block=1, stream=stream)
        event = stream.record()
        with self.assertRaises(raddle.KernelFault):
            stream.synchronize()
        with self.assertRaises(raddle.KernelFault):
            event.wait()
        with self.assertRaises(raddle.KernelFault):
            launched.wait()

    def test_streams_and_events_of_another_device_are_refused(self):
        other = raddle.Device("tiny", workers=1)
        stream, event = other.stream(), other.stream().record()
        with self.assertRaisesRegex(raddle.InvalidError, "another device"):
            self.release(self.flag, grid=1, block=1, stream=stream)
        with self.assertRaisesRegex(raddle.InvalidError, "another device"):
            self.device.stream().wait(event)
        with self.assertRaisesRegex(raddle.InvalidError, "two devices"):
            self.device.stream().record().elapsed_ms(event)

    def test_a_stream_may_go_before_its_work_and_its_device(self):
        self.release.launch(self.flag, grid=1, block=1, stream=self.device.stream()).wait()
        stream = raddle.Device("tiny", workers=1).stream()
        gc.collect()
        stream.synchronize()
        self.assertEqual(self.flag.read()[0], 1)


if __name__ == "__main__":
    tap.main()
