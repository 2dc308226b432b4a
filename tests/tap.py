"""Runs the unittest cases of a test script and prints TAP, which tools/run_tests counts: end a script with tap.main().
The script's arguments are the cases to run, as Class.test; all without."""
import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0
        self.subtest_failed = False

    def line(self, word, test, suffix=""):
        self.number += 1
        print(f"{word} {self.number} - {test.id().removeprefix('__main__.')}{suffix}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            print(f"{subtest}\n" + "".join(traceback.format_exception(*error, limit=-2)))
            self.subtest_failed = True

    def stopTest(self, test):
        super().stopTest(test)
        if self.subtest_failed:
            self.line("not ok", test)
        self.subtest_failed = False

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("ok", test, f" # SKIP {reason}")

    def fail(self, test, error):
        print("".join(traceback.format_exception(*error, limit=-2)))
        self.line("not ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.fail(test, error)


def main():
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else loader.loadTestsFromModule(module)
    print(f"1..{suite.countTestCases()}")
    result = TapResult()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
