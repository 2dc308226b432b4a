"""What must hold, clause by clause, and the tests that prove it: for tools/conformance and tools/mutate.

The list is docs/requirements/*.md: a heading `## K-5 title` per requirement, under it its clauses in order,

  - a. What must hold, in one or more lines. Missing: what is not there yet.

A clause without `Missing:` is claimed. A `Missing:` line between heading and clauses holds for all of them.
A test proves clauses by a tag in its source, `proves: K-5a, K-5f` in a comment: above a TEST in C++ or a test_ method in
Python, anywhere in another file.
"""
import collections
import glob
import os
import re
import subprocess

PAGES = "docs/requirements"
TESTED = ("tests/", "examples/", "fuzz/", "bench/")
TAG = re.compile(r"^\s*(?://|#|\*)\s*proves:\s*(.+?)\s*$")
IDENTIFIER = re.compile(r"\b[A-Z]-\d+[a-z]*\b")
HEADING = re.compile(r"^## ([A-Z]-\d+)\b")
CLAUSE = re.compile(r"^- ([a-z])\. (.*)")
TESTS = {".cpp": re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP)\(\s*(\w+)\s*,\s*(\w+)"),
         ".py": re.compile(r"^\s*def (test_\w+)")}


def read(root, name):
    with open(os.path.join(root, name), errors="replace") as file:
        return file.read()


def row_of(clause):
    return clause.rstrip("abcdefghijklmnopqrstuvwxyz")


class Page:
    """One page of the list, read line by line."""

    def __init__(self, name, missing, errors):
        self.name, self.missing, self.errors = name, missing, errors
        self.row, self.clause, self.default, self.texts = None, None, "", {}

    def heading(self, row):
        self.row, self.clause, self.default = row, None, ""
        if any(row_of(clause) == row for clause in self.missing):
            self.errors.append(f"{self.name}: {row} stands there twice")

    def begin(self, letter, text):
        self.clause = self.row + letter
        expected = chr(ord("a") + sum(row_of(clause) == self.row for clause in self.texts))
        if letter != expected:
            self.errors.append(f"{self.name}: {self.clause} stands where {self.row}{expected} should")
        self.texts[self.clause] = text
        self.missing[self.clause] = self.default

    def line(self, text):
        heading, clause = HEADING.match(text), CLAUSE.match(text)
        if heading:
            self.heading(heading.group(1))
        elif text.startswith("#"):
            self.row = self.clause = None
        elif self.row and clause:
            self.begin(*clause.groups())
        elif self.clause:
            self.texts[self.clause] += " " + text.strip()
        elif self.row and text.startswith("Missing:"):
            self.default = text.removeprefix("Missing:").strip()
        elif self.default and text.strip():
            self.default += " " + text.strip()

    def end(self):
        for clause, text in self.texts.items():
            words, found, missing = text.partition("Missing:")
            if found:
                self.missing[clause] = missing.strip()
            if not words.strip() or (found and missing.strip().rstrip(".").lower() in ("", "nothing")):
                self.errors.append(f"{self.name}: {clause} needs a text, and no `Missing:` where nothing is missing")


def listed(root):
    """clause -> what is missing of it ("" if nothing), in the order of the pages; and errors in the list itself."""
    missing, errors = {}, []
    for path in sorted(glob.glob(os.path.join(root, PAGES, "*.md")), key=lambda path: "KWTAG".find(os.path.basename(path)[0])):
        page = Page(os.path.relpath(path, root), missing, errors)
        for line in read(root, page.name).splitlines():
            page.line(line)
        page.end()
    return missing, errors


def test_name(name, lines, number):
    """What the tag on line `number` belongs to: the test below it, or the file. None if there is nothing."""
    pattern = TESTS.get(os.path.splitext(name)[1])
    if pattern is None:
        return None if name.endswith(".h") else name
    for line in lines[number + 1 : number + 6]:
        match = pattern.match(line)
        if match:
            return f"{name}: {'.'.join(match.groups())}"
    return None


def tags(root):
    """clause -> tests, and errors: a tag above no test, or that names no clause."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", *TESTED], check=True,
                             stdout=subprocess.PIPE, text=True)
    proofs, errors = collections.defaultdict(list), []
    for name in sorted(set(listing.stdout.splitlines())):
        if not os.path.isfile(os.path.join(root, name)):
            continue
        lines = read(root, name).splitlines()
        for number, line in enumerate(lines):
            match = TAG.match(line)
            if not match:
                continue
            clauses, test = IDENTIFIER.findall(match.group(1)), test_name(name, lines, number)
            where = f"{name}:{number + 1}: a `proves:` tag"
            errors += [f"{where} names {clause}, a requirement and not its clause" for clause in clauses if row_of(clause) == clause]
            errors += [] if clauses else [f"{where} without identifiers"]
            errors += [] if test else [f"{where} above no test"]
            for clause in clauses if test else []:
                if test not in proofs[clause]:
                    proofs[clause].append(test)
    return proofs, errors


def contradictions(missing, proofs):
    """What list and tags say against each other."""
    wrong = [f"{tests[0]}: proves {clause}, which {PAGES} does not have"
             for clause, tests in proofs.items() if clause not in missing and row_of(clause) != clause]
    for clause, gap in missing.items():
        if not gap and not proofs.get(clause):
            wrong.append(f"{PAGES}: {clause} is claimed, but no test proves it: tag one, or say what is `Missing:`")
        if gap.lower().startswith("everything") and proofs.get(clause):
            wrong.append(f"{PAGES}: {clause} says everything is missing, but {proofs[clause][0]} proves some of it")
    return wrong
