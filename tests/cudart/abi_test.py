"""Raddle's own declarations of the runtime API agree with NVIDIA's header wherever that is installed: every enumerator's and
flag's value, every structure's size, alignment and offsets, every function's type and symbol. Needs cuda_runtime_api.h."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

OURS = os.path.join(ROOT, "include", "raddle", "cuda")
THEIRS = os.environ.get("RADDLE_CUDA_INCLUDE", "/usr/local/cuda/include")
COMPILER = os.environ.get("CXX", "clang++-19")
HEADERS = ("cuda_runtime_api.h", "cuda_profiler_api.h", "driver_functions.h")


def sources():
    files = [os.path.join(OURS, name) for name in ("driver_types.h", "surface_types.h", "texture_types.h")]
    files += glob.glob(os.path.join(OURS, "types", "*.h")) + glob.glob(os.path.join(OURS, "api", "*.h"))
    return "\n".join(re.sub(r"//.*", "", open(file).read()) for file in sorted(files))


def enumerators(text):
    for body in re.findall(r"\benum\s+\w+\s*\{([^}]*)\}", text):
        yield from re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())


def flags(text):
    for name, value in re.findall(r"^#define (cuda\w+|CUDA\w+) (\S.*)$", text, re.M):
        if not re.search(r"_pt[sd][sz]$", value) and not re.match(r"cudaLaunchAttribute(ID|Value)$", value):
            yield name


def outer_fields(body):
    """The fields of a structure by name: of nested ones that have a name, the name."""
    while re.search(r"\{[^{}]*\}", body):
        body = re.sub(r"\b(?:struct|union)\s*\{[^{}]*\}\s*(\w*)", lambda match: f"X {match.group(1)}" if match.group(1) else "", body)
    body = re.sub(r"\(\s*\*\s*(\w+)\s*\)\([^)]*\)", r" \1", body)
    for statement in body.split(";"):
        for part in statement.split(","):
            match = re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", part)
            if match and statement.strip():
                yield match.group(1)


def structures(text):
    """(type, its fields), of the name that C++ knows."""
    for match in re.finditer(r"\b(?:struct|union)\s+(\w+)\s*\{", text):
        if match.group(1) == "dim3":
            continue
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield match.group(1), sorted(set(outer_fields(text[match.end():end - 1])))


def functions(text):
    return re.findall(r"^(?:cudaError_t|const char\*|struct \w+) (cuda\w+)\(", text, re.M)


def program():
    text = sources()
    rows = [f'{{"{name}", std::to_string(static_cast<long long>({name}))}}' for name in sorted({*enumerators(text)})]
    rows += [f'{{"{name}", std::to_string((long long)({name}))}}' for name in sorted({*flags(text)})]
    vectors = [f"{kind}{count}" for kind in "char uchar short ushort int uint float long ulong longlong ulonglong double".split()
               for count in "1 2 3 4".split()]
    vectors += [f"{kind}4_{alignment}a" for kind in "long ulong longlong ulonglong double".split() for alignment in (16, 32)]
    for name, fields in sorted(structures(text)) + [(name, ["x"]) for name in vectors] + [("dim3", list("xyz"))]:
        rows.append(f'{{"{name}", std::to_string(sizeof({name})) + " " + std::to_string(alignof({name}))}}')
        rows += [f'{{"{name}.{field}", std::to_string(offsetof({name}, {field}))}}' for field in fields]
    rows += [f'{{TEXT({name}), typeid(decltype(&{name})).name()}}' for name in sorted(set(functions(text)))]
    return ("".join(f"#include <{name}>\n" for name in HEADERS)
            + "#include <cstddef>\n#include <cstdio>\n#include <string>\n#include <typeinfo>\n#define TEXT(name) TEXT_OF(name)\n"
            "#define TEXT_OF(name) #name\nconst struct { const char* name; std::string value; } rows[] = {\n" + ",\n".join(rows)
            + '};\nint main() { for (const auto& row : rows) std::printf("%s: %s\\n", row.name, row.value.c_str()); }\n')


class Abi(unittest.TestCase):
    def answers(self, include, *options):
        with tempfile.TemporaryDirectory() as folder:
            source, binary = os.path.join(folder, "abi.cpp"), os.path.join(folder, "abi")
            with open(source, "w") as file:
                file.write(program())
            subprocess.run([COMPILER, "-w", "-O0", "-isystem", include, *options, source, "-o", binary], check=True)
            return subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()

    def compare(self, *options):
        if not os.path.exists(os.path.join(THEIRS, "cuda_runtime_api.h")):
            self.skipTest("no CUDA headers to compare with")
        ours, theirs = self.answers(OURS, *options), self.answers(THEIRS, *options)
        self.assertGreater(len(ours), 1500)
        self.assertEqual([], [f"{mine}, theirs {other}" for mine, other in zip(ours, theirs) if mine != other])
        self.assertEqual(len(ours), len(theirs))

    def test_declarations_agree_with_nvidias_header(self):
        self.compare()

    @unittest.skipUnless(os.environ.get("RADDLE_TEST_ALL"), "with RADDLE_TEST_ALL")
    def test_per_thread_symbols_agree_with_nvidias_header(self):
        self.compare("-DCUDA_API_PER_THREAD_DEFAULT_STREAM")

    @unittest.skipUnless(os.path.exists(os.path.join(THEIRS, "cuda_runtime_api.h")), "no CUDA headers to compare with")
    def test_every_prototype_of_nvidias_header_is_declared(self):
        with open(os.path.join(THEIRS, "cuda_runtime_api.h")) as file:
            theirs = set(re.findall(r"\bCUDARTAPI\s+(cuda\w+)\(", file.read()))
        self.assertEqual(set(), {name for name in theirs - set(functions(sources())) if not name.endswith(("_ptsz", "_ptds"))})


if __name__ == "__main__":
    tap.main()
