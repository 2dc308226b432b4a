# Installs the Debian packages that building, testing or benchmarking Raddle needs: only those that are missing, by
# apt-get, as root or through sudo. Sourced by ./demo and ./test; run by itself with --list or --missing it prints names.
# Written for Debian 12 (bookworm), whose main section holds LLVM 19 since its later point releases.

raddle_packages=(
  # to build
  clang-19 lld-19 llvm-19-dev libclang-rt-19-dev cmake ninja-build
  libboost-context-dev libfmt-dev libasmjit-dev libcli11-dev nlohmann-json3-dev libelf-dev libncurses-dev liblz4-dev libzstd-dev liblua5.4-dev pkgconf
  # to test
  git python3 python3-dev python3-venv clang-format-19 libgtest-dev libgmock-dev librapidcheck-dev
)
# for ./test --all: a browser that opens the page of `raddle distribute --html`; MPI, for examples/mpi; a Debian system in
# which --exhaustive installs Raddle's packages
raddle_all_packages=(chromium openmpi-bin libopenmpi-dev debootstrap dpkg-dev)
# to compare speeds (bench/run, bench_graphics); PoCL runs the same kernels in OpenCL, g++ and libomp the ones in OpenMP,
# Mesa's llvmpipe draws the same scene
raddle_bench_packages=(libbenchmark-dev libtbb-dev libfftw3-dev libdnnl-dev libomp-19-dev g++ pocl-opencl-icd ocl-icd-opencl-dev opencl-headers
  libegl-dev libgles-dev libegl-mesa0 libgl1-mesa-dri)

# nanobind and NumPy for the Python module, from PyPI into .cache/python. Without it they are left out, and tests say so.
raddle_install_python_packages() {
  local root environment wanted
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  environment=$root/.cache/python wanted=$root/src/python/requirements.txt
  cmp -s "$wanted" "$environment/requirements.txt" && return 0
  echo "setup: installing nanobind and NumPy by pip in .cache/python"
  { /usr/bin/python3 -m venv --clear "$environment" && "$environment/bin/pip" install -q --disable-pip-version-check -r "$wanted"; } \
    >/tmp/raddle-setup.$$.log 2>&1 && cp "$wanted" "$environment" && rm -f /tmp/raddle-setup.$$.log && return 0
  tail -n 3 /tmp/raddle-setup.$$.log >&2
  rm -rf "$environment" /tmp/raddle-setup.$$.log
  echo "setup: no nanobind from PyPI: Raddle is built without its Python module" >&2
}

# Prints the packages among its arguments that are not installed, one a line.
raddle_missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

# Installs what is missing, for the benchmark or for all tests too when its argument is --bench or --all. Returns non-zero, having said why, when it
# cannot.
raddle_install_packages() {
  raddle_install_debian_packages "$@" && raddle_install_python_packages
}

raddle_install_debian_packages() {
  local needed=("${raddle_packages[@]}") missing=() as_root=() package
  [ "${1:-}" != --bench ] || needed+=("${raddle_bench_packages[@]}")
  [ "${1:-}" != --all ] || needed+=("${raddle_all_packages[@]}")
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: no apt-get here, so nothing is installed; needed (Debian names): ${needed[*]}" >&2
    return 0
  fi
  missing=($(raddle_missing_packages "${needed[@]}"))
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: run this as root (or install sudo): apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${#missing[@]} Debian packages by apt-get: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || return 1
  for package in "${missing[@]}"; do
    if ! apt-cache show "$package" >/dev/null 2>&1; then
      echo "setup: apt-get knows no package $package; Raddle needs Debian 12 (bookworm) with its main section and" \
        "point-release updates" >&2
      return 1
    fi
  done
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/tmp/raddle-setup.$$.log 2>&1 || {
    tail -n 30 /tmp/raddle-setup.$$.log >&2
    return 1
  }
  rm -f /tmp/raddle-setup.$$.log
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  case "${1:-}" in
    --list) printf '%s\n' "${raddle_packages[@]}" "${raddle_all_packages[@]}" "${raddle_bench_packages[@]}" ;;
    --missing) raddle_missing_packages "${raddle_packages[@]}" "${raddle_bench_packages[@]}" ;;
    "" | --all | --bench) raddle_install_packages "${1:-}" ;;
    *) echo "usage: bash tools/setup.sh [--all | --bench | --list | --missing]" >&2; exit 2 ;;
  esac
fi
