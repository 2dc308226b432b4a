#include "python/arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "python/errors.h"

namespace raddle::python {
namespace {

bool is_float_type(std::string_view type) { return type == "f16" || type == "f32" || type == "f64"; }

/// A Python or NumPy number. Arrays are none, although those of one element convert to numbers.
bool is_number(nb::handle value) {
  return PyNumber_Check(value.ptr()) != 0 && !nb::hasattr(value, "__len__");
}

/// Whether an integer fits so many bytes, signed or not: nvcc declares int as .u32.
bool fits(nb::handle integer, std::size_t bytes) {
  const nb::int_ bits(static_cast<std::uint64_t>(bytes * 8)), one(1);
  return !(integer < -(one << (bits - one))) && integer < (one << bits);
}

std::uint64_t low_bits(nb::handle integer) {
  const std::uint64_t bits = PyLong_AsUnsignedLongLongMask(integer.ptr());
  if (bits == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) throw nb::python_error();
  return bits;
}

nb::object integer_of(nb::handle value) {
  PyObject* const integer = PyNumber_Index(value.ptr());
  if (integer == nullptr) throw nb::python_error();
  return nb::steal(integer);
}

double float_of(nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return number;
}

/// Raises what was caught with the argument that it is about before its text, or as it is if it is about
/// something else.
[[noreturn]] void raise_about(const std::string& argument, nb::python_error& error) {
  for (PyObject* const type : {PyExc_TypeError, PyExc_OverflowError, PyExc_BufferError, PyExc_ValueError}) {
    if (!error.matches(type)) continue;
    PyErr_SetString(type, fmt::format("{}: {}", argument, nb::str(error.value()).c_str()).c_str());
    throw nb::python_error();
  }
  throw;
}

/// nanobind's own errors as Python has them.
nb::python_error as_python_error(const nb::builtin_exception& error) {
  const bool is_type = error.type() == nb::exception_type::type_error;
  PyErr_SetString(is_type ? PyExc_TypeError : PyExc_ValueError, error.what());
  return nb::python_error();
}

[[noreturn]] void raise_type(const std::string& text) { throw nb::type_error(text.c_str()); }

/// The address of __cuda_array_interface__ or __array_interface__, whose elements must lie in one piece.
struct Interface {
  std::uint64_t address = 0, bytes = 0;
  bool read_only = false;
};

Interface read_fields(nb::handle value, const char* name) {
  const nb::dict fields = nb::cast<nb::dict>(value.attr(name));
  const nb::object data = fields["data"];
  Interface found{.address = nb::cast<std::uint64_t>(data[0]), .read_only = nb::cast<bool>(data[1])};
  const std::string typestr = nb::cast<std::string>(fields["typestr"]);
  found.bytes = std::strtoull(typestr.c_str() + std::min<std::size_t>(2, typestr.size()), nullptr, 10);
  const nb::tuple shape = nb::cast<nb::tuple>(fields["shape"]);
  std::vector<std::int64_t> dense(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    dense[i] = static_cast<std::int64_t>(found.bytes);
    found.bytes *= nb::cast<std::uint64_t>(shape[i]);
  }
  const nb::object strides = fields.get("strides", nb::none());
  if (strides.is_none() || found.bytes == 0) return found;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (nb::cast<std::uint64_t>(shape[i]) != 1 && nb::cast<std::int64_t>(strides[i]) != dense[i])
      throw nb::value_error("the array is not contiguous in the order of C");
  return found;
}

Interface read_interface(nb::handle value, const char* name) {
  try {
    return read_fields(value, name);
  } catch (const nb::cast_error&) {
    raise_type(fmt::format("its {} has a field of another type than NumPy's manual says", name));
  }
}

}  // namespace

Arguments::Arguments(const std::shared_ptr<OpenDevice>& device, const KernelInfo& info, nb::args values)
    : device_(device) {
  if (values.size() != info.parameters.size())
    raise(Error::invalid("{}: {} arguments given, the kernel has {} parameters", info.name, values.size(),
                         info.parameters.size()));
  for (std::size_t i = 0; i < values.size(); ++i) add_named(info, i, values[i]);
}

void Arguments::add_named(const KernelInfo& info, std::size_t number, nb::handle value) {
  const KernelParameter& parameter = info.parameters[number];
  const auto name = [&] {
    return fmt::format("{}: argument {} (parameter {}, .{})", info.name, number + 1, parameter.name,
                       parameter.type);
  };
  try {
    add(parameter, value);
  } catch (nb::python_error& error) {
    raise_about(name(), error);
  } catch (const nb::builtin_exception& error) {
    nb::python_error translated = as_python_error(error);
    raise_about(name(), translated);
  }
}

std::vector<Argument> Arguments::list() const {
  std::vector<Argument> all;
  for (const std::vector<std::byte>& value : values_) all.emplace_back(value.data(), value.size());
  return all;
}

void Arguments::copy_back() {
  for (HostArray& array : arrays_) {
    if (!array.writable || array.copy == nullptr) continue;
    take([&] {
      nb::gil_scoped_release unlocked;
      return device_->device->read(array.data, {array.copy->address()}, array.bytes);
    }());
  }
}

void Arguments::add(const KernelParameter& parameter, nb::handle value) {
  if (value.is_none()) {
    if (parameter.bytes != sizeof(std::uint64_t)) raise_type("None stands for a null pointer only");
    return add_address(0);
  }
  if (is_number(value)) return add_number(parameter, value);
  if (add_device_array(value) || add_host_array(parameter, value) || add_dlpack(value)) return;
  raise_type(
      fmt::format("a {} is neither a number nor an array", nb::str(value.type().attr("__name__")).c_str()));
}

void Arguments::add_number(const KernelParameter& parameter, nb::handle value) {
  if (!is_float_type(parameter.type)) {
    if (parameter.bytes > sizeof(std::uint64_t))
      raise_type(
          fmt::format("a structure of {} bytes is given as an object with as many bytes", parameter.bytes));
    const nb::object integer = integer_of(value);
    if (!fits(integer, parameter.bytes)) {
      PyErr_Format(PyExc_OverflowError, "%S does not fit %zu bytes", integer.ptr(), parameter.bytes);
      throw nb::python_error();
    }
    const std::uint64_t bits = low_bits(integer);
    return add_bytes(&bits, parameter.bytes);  // the host's byte order is the device's
  }
  const double number = float_of(value);
  if (parameter.type == "f64") return add_bytes(&number, sizeof number);
  if (parameter.type == "f32") {
    const auto narrow = static_cast<float>(number);
    return add_bytes(&narrow, sizeof narrow);
  }
  char half[2];
  if (PyFloat_Pack2(number, half, 1) != 0) throw nb::python_error();
  add_bytes(half, sizeof half);
}

bool Arguments::add_device_array(nb::handle value) {
  if (!nb::hasattr(value, "__cuda_array_interface__")) return false;
  const Interface found = read_interface(value, "__cuda_array_interface__");
  add_address(found.address);
  return true;
}

bool Arguments::add_host_array(const KernelParameter& parameter, nb::handle value) {
  HostArray array;
  if (PyObject_CheckBuffer(value.ptr()) != 0) {
    array.view = std::make_unique<BufferView>(value, PyBUF_C_CONTIGUOUS);
    array.data = static_cast<std::byte*>(array.view->data());
    array.bytes = array.view->bytes();
    array.writable = !array.view->read_only();
  } else if (nb::hasattr(value, "__array_interface__")) {
    const Interface found = read_interface(value, "__array_interface__");
    array.owner = nb::borrow(value);
    array.data = reinterpret_cast<std::byte*>(found.address);
    array.bytes = found.bytes;
    array.writable = !found.read_only;
  } else {
    return false;
  }
  const bool is_pointer = parameter.type == "u64" || parameter.type == "b64" || parameter.type == "s64";
  if (is_pointer) {
    add_copy(std::move(array));
    return true;
  }
  if (array.bytes != parameter.bytes)
    raise_type(fmt::format("{} bytes given for a parameter of {}, which is passed by value", array.bytes,
                           parameter.bytes));
  add_bytes(array.data, array.bytes);
  return true;
}

bool Arguments::add_dlpack(nb::handle value) {
  if (!nb::hasattr(value, "__dlpack__")) return false;
  nb::ndarray<nb::c_contig> tensor;
  bool writable = true;
  if (!nb::try_cast(value, tensor, false)) {
    nb::ndarray<nb::c_contig, nb::ro> fixed;
    if (!nb::try_cast(value, fixed, false))
      throw nb::value_error("the tensor is not contiguous in the order of C");
    tensor = nb::ndarray<nb::c_contig>(fixed.handle());
    writable = false;
  }
  auto* const data = static_cast<std::byte*>(tensor.data());
  const int where = tensor.device_type();
  if (where == nb::device::cuda::value || where == nb::device::cuda_managed::value) {
    add_address(reinterpret_cast<std::uint64_t>(data));
    return true;
  }
  if (where != nb::device::cpu::value && where != nb::device::cuda_host::value)
    raise_type(fmt::format("a tensor of DLPack device {}: only CPU and CUDA memory is known", where));
  HostArray array;
  array.bytes = tensor.nbytes();
  array.data = data;
  array.writable = writable;
  array.owner = nb::borrow(value);
  add_copy(std::move(array));
  return true;
}

void Arguments::add_copy(HostArray array) {
  if (array.bytes == 0) return add_address(0);
  for (const HostArray& other : arrays_) {
    if (other.data + other.bytes <= array.data || array.data + array.bytes <= other.data) continue;
    if (other.data == array.data && other.bytes == array.bytes) return add_address(other.copy->address());
    if (other.writable || array.writable)
      throw nb::value_error("it overlaps another argument in part; put both into one buffer of the device");
  }
  array.copy = std::make_unique<Memory>(device_, array.bytes);
  take([&] {
    nb::gil_scoped_release unlocked;
    return device_->device->write({array.copy->address()}, array.data, array.bytes);
  }());
  add_address(array.copy->address());
  arrays_.push_back(std::move(array));
}

void Arguments::add_address(std::uint64_t address) { add_bytes(&address, sizeof address); }

void Arguments::add_bytes(const void* data, std::size_t bytes) {
  std::vector<std::byte>& value = values_.emplace_back(bytes);
  if (bytes != 0) std::memcpy(value.data(), data, bytes);
}

}  // namespace raddle::python
