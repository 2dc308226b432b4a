"""`raddle top`: what it shows of a server, as text, as JSON and on a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

import command
from command import RADDLE, CommandTest, tap

SPIN = command.HEAD + """.visible .entry spin(.param .u64 flag) {
  .reg .pred %p; .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [flag];
LOOP:
  ld.volatile.global.u32 %r, [%rd];
  setp.eq.u32 %p, %r, 0;
  @%p bra LOOP;
  ret;
}
"""


class Terminal:
    """A program on a terminal of 24 lines and 120 columns, of which xterm's few commands that move the cursor are understood."""

    def __init__(self, *words):
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm"
            os.execv(words[0], words)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.bytes = b""

    def read_until(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.bytes += os.read(self.master, 65536)
                except OSError:  # the other end is closed
                    break
            if re.search(pattern, self.bytes):
                return True
        return False

    def end(self):
        _, status = os.waitpid(self.process, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status)


class Top(CommandTest):
    def start(self, *options):
        server = subprocess.Popen([RADDLE, "serve", "--socket", self.path("socket"), "--shape", "tiny", *options], text=True, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertIn("listening", server.stdout.readline())
        return server

    def status(self):
        return json.loads(self.succeeds("top", "--socket", self.path("socket"), "--json"))

    def start_program(self, server="socket"):
        """A kernel that never ends, of two blocks."""
        file = self.write("spin.ptx", SPIN)
        program = subprocess.Popen([RADDLE, "run", file, "--server", self.path(server), "--grid", "2", "--block", "32", "--arg", "buf:u32:1"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        end = time.monotonic() + 30
        while time.monotonic() < end and not any(c["launches running"] for c in self.status()["clients"]):
            time.sleep(0.01)
        return program

    def test_an_idle_server(self):
        self.start("--clients", "5")
        status = self.status()
        self.assertEqual(status["clients"], [])
        self.assertEqual(status["most clients"], 5)
        self.assertEqual({blocks for gpc in status["blocks by gpc"] for blocks in gpc}, {0})
        text = self.succeeds("top", "--socket", self.path("socket"), "--once")
        self.assertIn("tiny", text)
        self.assertIn("0 of 5 clients", text)

    def test_a_program_that_runs(self):
        self.start()
        program = self.start_program()
        client, = self.status()["clients"]
        self.assertEqual(client["process"], program.pid)
        self.assertEqual(client["user"], os.getuid())
        self.assertEqual(client["name"], "raddle")
        self.assertEqual((client["launches running"], client["launches waiting"]), (1, 0))
        self.assertGreater(client["memory"], 0)
        self.assertLessEqual(client["memory"], client["memory limit"])
        self.assertEqual(sum(blocks for gpc in self.status()["blocks by gpc"] for blocks in gpc), 2)
        line, = (line for line in self.succeeds("top", "--socket", self.path("socket"), "--once").splitlines() if str(program.pid) in line)
        self.assertIn(" raddle ", line)
        program.kill()
        program.wait()
        end = time.monotonic() + 20
        while time.monotonic() < end and self.status()["clients"]:
            time.sleep(0.01)
        self.assertEqual(self.status()["clients"], [])

    def test_a_screen(self):
        self.start()
        program = self.start_program()
        for key in (b"q", b"\x03"):
            terminal = Terminal(RADDLE, "top", "--socket", self.path("socket"), "--interval", "20")
            self.assertTrue(terminal.read_until(rb"LAUNCHES"), terminal.bytes)
            self.assertTrue(terminal.read_until(str(program.pid).encode()), terminal.bytes)
            self.assertIn(b"GPC 0", terminal.bytes)
            os.write(terminal.master, key)
            self.assertTrue(terminal.read_until(rb"\x1b\[\?1049l"), terminal.bytes)  # the screen that was there before
            self.assertEqual(terminal.end(), command.SUCCESS)

    def test_the_server_goes(self):
        server = self.start()
        terminal = Terminal(RADDLE, "top", "--socket", self.path("socket"), "--interval", "20")
        self.assertTrue(terminal.read_until(b"clients"), terminal.bytes)
        server.send_signal(signal.SIGTERM)
        self.assertTrue(terminal.read_until(b"the connection was closed|Connection reset|Broken pipe"), terminal.bytes)
        self.assertEqual(terminal.end(), command.INVALID)

    def test_what_it_needs(self):
        self.assertIn("RADDLE_SERVER", self.fails(command.INVALID, "top", "--once"))
        self.assertIn("No such file", self.fails(command.INVALID, "top", "--once", "--socket", self.path("none")))
        self.start()
        self.assertIn("--once", self.fails(command.INVALID, "top", "--socket", self.path("socket")))


if __name__ == "__main__":
    tap.main()
