"""Every check of tools/check, and tools/conformance, accepts a sound tree and reports the violation it exists for."""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap  # noqa: E402

LIBRARIES = "raddle_library(base)\nraddle_library(isa DEPS raddle_base)\nraddle_library(exec DEPS raddle_isa)\n" \
            "raddle_library(interp DEPS raddle_exec SOURCES ${x})\nraddle_library(jit DEPS raddle_exec LLVM)\n" \
            "set(RADDLE_ENGINES raddle_interp raddle_jit)\nraddle_library(runtime DEPS ${RADDLE_ENGINES})\n"
PAGE = "| row | status | forms | since | test | note |\n| `add` | done | 2 | PTX 1.0, sm_10 | {} |  |\n"
REQUIREMENT = "# K\n## K-1 One\n- a. Words.\n  More words.{}\n- b. Other words.{}\n## K-2 Two\nMissing: everything.\n- a. Words.\n"
PROOF = "// proves: {}\nTEST(Suite, name) {{}}\n"


class Checks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = self.directory.name
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("src/CMakeLists.txt", LIBRARIES)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def check(self, name, *options):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/check"), "--root", self.root, *options, name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def accepts(self, name):
        status, output = self.check(name)
        self.assertEqual(status, 0, output)
        self.assertIn("\nok 1", output)

    def rejects(self, name, text):
        status, output = self.check(name)
        self.assertEqual(status, 1, output)
        self.assertIn("not ok 1", output)
        self.assertIn(text, output)

    def include(self, name, included):
        self.write(name, f"#include {included}\n")

    def test_includes_accepts_the_arrow(self):
        self.include("src/interp/a.cpp", '"exec/abi.h"')
        self.include("src/runtime/a.cpp", '"interp/a.h"')
        self.include("src/isa/add/reference.cpp", '"interp/a.h"')
        self.include("src/isa/add/lowering.cpp", "<llvm/IR/Value.h>")
        self.include("src/cli/a.cpp", '"jit/a.h"')
        self.include("src/driver/a.cpp", '"runtime/memory.h"')
        self.accepts("includes")

    def test_includes_rejects_what_runs_against_it(self):
        for name, included, text in (("src/isa/a.h", '"exec/abi.h"', "does not depend on exec"),
                                     ("src/interp/a.cpp", '"jit/engine.h"', "does not depend on jit"),
                                     ("src/isa/add/reference.cpp", '"jit/a.h"', "interp includes"),
                                     ("src/exec/a.cpp", "<llvm/IR/Value.h>", "only the jit"),
                                     ("src/exec/b.cpp", '"raddle/raddle.h"', "public"),
                                     ("src/runtime/b.cpp", '"cli/a.h"', "nothing includes the cli"),
                                     ("src/runtime/c.cpp", '"driver/a.h"', "nothing includes the driver"),
                                     ("src/driver/b.cpp", '"machine/memory/mapping.h"', "through runtime only"),
                                     ("src/driver/c.h", '"exec/abi.h"', "through runtime only"),
                                     ("include/raddle/a.h", '"runtime/a.h"', "a public header includes")):
            with self.subTest(name):
                self.include(name, included)
                self.rejects("includes", text)
                os.remove(os.path.join(self.root, name))

    def test_sizes(self):
        self.write("src/base/a.cpp", "int a;\n" * 500)
        self.write("src/base/rows.def", "X\n" * 2000)
        self.accepts("sizes")
        self.write("src/base/a.cpp", "// Long because it is one table.\n" + "int a;\n" * 600)
        self.accepts("sizes")
        self.write("src/base/a.cpp", "int a;\n" * 501)
        self.rejects("sizes", "must say why")
        self.write("src/base/a.cpp", "// Long because it is one table.\n" + "int a;\n" * 800)
        self.rejects("sizes", "at most 800")

    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("src/base/a.cpp", "int a = 1;\n")
        status, output = self.check("format")
        if "not installed" in output:
            self.skipTest("clang-format-19 is not installed")
        self.assertEqual(status, 0, output)
        self.write("src/base/a.cpp", "int   a=1 ;\n")
        self.rejects("format", "src/base/a.cpp: not formatted")
        self.check("format", "--fix")
        self.accepts("format")

    def test_self_contained(self):
        self.write("docs/a.md", "shared memory\n")
        self.accepts("self_contained")
        self.write("docs/a.md", "see ../shared" + "/x\n")
        self.rejects("self_contained", "docs/a.md:1")

    def test_names(self):
        text = "namespace {\nconstexpr int kMost = 3;\nstruct Way {\n};\n}  // namespace\n"
        self.write("src/base/a.cpp", text)
        self.write("src/exec/a.cpp", text)
        self.write("src/base/b.cpp", "struct Way {\n};\nconstexpr int kMost = 3;\n")
        self.accepts("names")
        self.write("src/base/b.cpp", text)
        self.rejects("names", "src/base/b.cpp:2: kMost is also in src/base/a.cpp")
        self.write("src/base/a.cpp", "namespace {\nstruct alignas(64) Map {\n};\n}  // namespace\n")
        self.write("src/base/b.cpp", "namespace {\nstruct alignas(64) Way {\n};\n}  // namespace\n")
        self.accepts("names")
        self.write("src/base/b.cpp", "namespace {\nstruct alignas(8) Map {\n};\n}  // namespace\n")
        self.rejects("names", "src/base/b.cpp:2: Map is also in src/base/a.cpp")

    def test_todo(self):
        self.write("src/base/a.cpp", "// TO" + "DO(#3): later\n")
        self.accepts("todo")
        self.write("src/base/a.cpp", "// TO" + "DO: later\n")
        self.rejects("todo", "src/base/a.cpp:1")

    def test_properties(self):
        self.write("tests/unit/base/a_test.cpp", "{\n  EXPECT_TRUE(\n      rc::check(1, [] {}));\n")
        self.accepts("properties")
        self.write("tests/unit/base/a_test.cpp", "{\n  rc::check(1, [] {});\n")
        self.rejects("properties", "tests/unit/base/a_test.cpp:2")

    def test_width_of_comments(self):
        self.write(".clang-format", "BasedOnStyle: Google\nColumnLimit: 110\nReflowComments: false\n")
        self.write("src/exec/a.h", "//" + " word" * 20 + "\n// proves:" + " K-1a," * 30 + "\n")
        self.accepts("format")
        self.write("src/exec/a.h", "//" + " word" * 30 + "\n")
        self.rejects("format", "src/exec/a.h:1: // word")

    def test_paths(self):
        self.write("src/exec/abi.h", "// As exec/abi.h and abi.h say, see docs/a.md and cuda.h.\n")
        self.write("docs/a.md", "Read `src/exec/abi.h`; try `app.cpp`.\n")
        self.accepts("paths")
        self.write("docs/b.md", "Read `src/exec/gone.h`.\n")
        self.rejects("paths", "docs/b.md:1: no such file: src/exec/gone.h")
        self.write("docs/b.md", "")
        self.write("src/exec/b.h", "int a;  // as gone.cpp says\n")
        self.rejects("paths", "src/exec/b.h:1: no such file: gone.cpp")

    def test_one_place(self):
        self.write("src/isa/special_registers/a.cpp", "case SpecialRegister::tid:\n")
        self.write("src/ptx/device_services.def", 'DEVICE_SERVICE(malloc, "malloc", 8, 8)\n')
        self.accepts("one_place")
        for text, instead in (("case isa::SpecialRegister::tid:", "row"), ("offsetof(exec::Services, poll)", "signature_of"),
                              ('if (name == "vprintf")', "find_device_service"), ("e.code.pointer(x)", "Addresses::begin")):
            self.write("src/jit/a.cpp", text + "\n")
            self.rejects("one_place", instead)

    def test_links(self):
        self.write("docs/a.md", "[code](../src/CMakeLists.txt) [web](https://example.org/x)\n")
        self.accepts("links")
        self.write("docs/a.md", "[gone](gone.md)\n")
        self.rejects("links", "no such file: gone.md")

    def program(self, page):
        """Stands in for the built raddle: prints a page."""
        self.write("page", page)
        path = self.write("build/bin/raddle", f"#!/bin/sh\ncat {self.root}/page\n")
        os.chmod(path, stat.S_IRWXU)

    def test_isa_page(self):
        self.rejects("isa_page", "is not built")
        self.program(PAGE.format("`tests/isa/x/add.ptx`"))
        self.rejects("isa_page", "stale")
        self.write("docs/generated/isa.md", PAGE.format("`tests/isa/x/add.ptx`"))
        self.accepts("isa_page")

    def test_driver_page(self):
        self.rejects("driver_page", "no entry found")
        self.write("src/driver/entries.def", "ENTRY(cuInit, cuInit, 2000, (unsigned flags), (flags))\n")
        self.write("tests/unit/driver/a.cpp", "cuInit(0);\n")
        self.rejects("driver_page", "stale")
        self.check("driver_page", "--fix")
        self.accepts("driver_page")
        self.write("tests/unit/driver/a.cpp", "cuInitialise(0);\n")
        self.rejects("driver_page", "no test calls cuInit")

    def test_cudart_page(self):
        self.rejects("cudart_page", "no entry found")
        self.write("src/cudart/entries.def", "ENTRY(cudaFree, (void* pointer), (pointer))\nEXPORT(__cudaInitModule)\n")
        self.write("tests/unit/cudart/a.cpp", "cudaFree(0); __cudaInitModule(0);\n")
        self.rejects("cudart_page", "stale")
        self.check("cudart_page", "--fix")
        self.accepts("cudart_page")
        self.write("tests/unit/cudart/a.cpp", "cudaFree(0);\n")
        self.rejects("cudart_page", "no test calls __cudaInitModule")

    def test_rows_tested(self):
        self.program(PAGE.format("`tests/isa/x/add.ptx`"))
        self.accepts("rows_tested")
        self.program(PAGE.format("-"))
        self.rejects("rows_tested", "add is done but has no test file")
        self.program("nothing\n")
        self.rejects("rows_tested", "no row found")

    def test_mutations(self):
        self.accepts("mutations")
        entry = "[[mutation]]\nfile = 'src/a.cpp'\nold = 'a < b'\nnew = '{}'\ntest = 'test_a'\n"
        self.write("src/a.cpp", "bool f() { return a < b; }\n")
        self.write("tools/mutations.toml", entry.format("a <= b"))
        self.accepts("mutations")
        self.write("tools/mutations.toml", entry.format("a < b"))
        self.rejects("mutations", "is not a change of one line")
        self.write("tools/mutations.toml", entry.format("a <= b"))
        self.write("src/a.cpp", "bool f() { return a < b || a < b; }\n")
        self.rejects("mutations", "stands there 2 times")
        self.write("src/a.cpp", "")
        self.rejects("mutations", "stands there 0 times")
        self.write("src/a.cpp", "bool f() { return a < b; }\n")
        self.write("docs/requirements/K.md", REQUIREMENT.format("", ""))
        self.write("tools/mutations.toml", entry.format("a <= b") + "clauses = 'K-1b'\n")
        self.accepts("mutations")
        self.write("tools/mutations.toml", entry.format("a <= b") + "clauses = 'K-1b, K-1c'\n")
        self.rejects("mutations", "has no clause K-1c")

    def conformance(self, missing, test, also=""):
        """The page of a list of three clauses: what is missing of K-1a and K-1b, and a test."""
        self.write("docs/requirements/K.md", REQUIREMENT.format(*(f" Missing: {m}" if m else "" for m in missing)) + also)
        self.write("tests/a_test.cpp", test)
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/conformance"), "--root", self.root],
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(self.root, "docs/conformance.md")) as page:
            return page.read()

    def test_conformance_states(self):
        both = self.conformance(("", ""), PROOF.format("K-1a, K-1b"))
        self.assertIn("| K-1 | proven | `tests/a_test.cpp: Suite.name` |", both)
        self.assertIn("| K-1b | proven | `tests/a_test.cpp: Suite.name` |", both)
        self.assertIn("| K-2 | not yet | - |\n| K-2a | not yet | everything. |", both)
        self.assertIn("1 proven, 0 partial, 1 not yet; 2 of 3 clauses proven.", both)
        self.accepts("conformance")
        one = self.conformance(("", "half of it."), PROOF.format("K-1a"))
        self.assertIn("| K-1 | partial | 1 of 2 clauses; something is missing of b |", one)
        self.assertIn("| K-1b | not yet | half of it. |", one)
        self.accepts("conformance")
        weak = self.conformance(("half of it.", "half of it."), PROOF.format("K-1b"))
        self.assertIn("| K-1 | partial | 0 of 2 clauses; something is missing of a, b |", weak)
        self.assertIn("| K-1b | partial | half of it. |", weak)
        self.accepts("conformance")
        self.assertIn("| K-1 | not yet | - |", self.conformance(("half of it.", "everything."), ""))
        self.accepts("conformance")
        self.write("docs/conformance.md", "old\n")
        self.rejects("conformance", "stale")

    def test_conformance_names_tests_of_every_kind(self):
        self.write("tests/b_test.py", "class Suite:\n    # proves: K-1b\n    def test_it(self):\n        pass\n")
        self.write("tests/c.ptx", "// proves: K-1b\n")
        page = self.conformance(("", ""), PROOF.format("K-1a"))
        self.assertIn("| K-1b | proven | `tests/b_test.py: test_it`, `tests/c.ptx` |", page)
        self.accepts("conformance")

    def test_conformance_contradictions(self):
        for missing, test, text in ((("", ""), PROOF.format("K-1a"), "K-1b is claimed, but no test proves it"),
                                    (("", "half."), "", "K-1a is claimed, but no test proves it"),
                                    (("", "everything."), PROOF.format("K-1a, K-1b"), "K-1b says everything is missing"),
                                    (("", ""), PROOF.format("K-1a, K-1b, K-2a"), "K-2a says everything is missing"),
                                    (("", ""), PROOF.format("K-1a, K-1b, K-1c"), "proves K-1c, which"),
                                    (("", ""), PROOF.format("K-1a, K-1b, K-9a"), "proves K-9a, which"),
                                    (("", ""), PROOF.format("K-1a, K-1b, K-1"), "names K-1, a requirement and not its clause"),
                                    (("", ""), PROOF.format("K-1a, K-1b") + PROOF.format("much"), "without identifiers"),
                                    (("", ""), PROOF.format("K-1a, K-1b") + "// proves: K-1b\nint x;\n", "above no test"),
                                    (("", "nothing."), PROOF.format("K-1a"), "no `Missing:` where nothing is missing")):
            with self.subTest(text):
                self.conformance(missing, test)
                self.rejects("conformance", text)

    def test_conformance_refuses_lists_that_do_not_read_in_order(self):
        for also, text in (("## K-1 Again\n- a. Words.\n", "K-1 stands there twice"),
                           ("## K-3 Three\n- b. Words. Missing: half.\n", "K-3b stands where K-3a should"),
                           ("## K-3 Three\n- a. Missing: half.\n", "K-3a needs a text")):
            with self.subTest(text):
                self.conformance(("", ""), PROOF.format("K-1a, K-1b"), also)
                self.rejects("conformance", text)

    def test_conformance_refuses_a_proven_row_with_an_open_clause(self):
        page = self.conformance(("", "half."), PROOF.format("K-1a"))
        self.write("docs/conformance.md", page.replace("| K-1 | partial |", "| K-1 | proven |"))
        self.rejects("conformance", "K-1 is called proven, but K-1b is not")


if __name__ == "__main__":
    tap.main()
