"""The page of `raddle distribute --html` in a real browser: what it draws, whether it steps and plays."""
import json
import os
import re
import shutil
import struct
import subprocess
import unittest
import zlib

from command import CommandTest, tap

BROWSER = shutil.which("chromium")
REASON = ("a browser is started with RADDLE_TEST_ALL=1 only" if not os.environ.get("RADDLE_TEST_ALL") else
          "no chromium here (tools/setup.sh --all installs it)" if BROWSER is None else None)


def pixels(png):
    """Rows of an 8-bit RGB or RGBA picture as browsers write it, as lists of (r, g, b)."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced
            step = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    raw, line, rows = zlib.decompress(data), width * step, []
    before = bytearray(line)
    for y in range(height):
        kind, now = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            left, up = now[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                p = left + up - corner
                guess = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            else:
                guess = 0
            now[i] = (now[i] + guess) & 255
        rows.append([tuple(now[i:i + 3]) for i in range(0, line, step)])
        before = now
    return rows


@unittest.skipIf(REASON, REASON)
class Page(CommandTest):
    def browse(self, page, fragment, *options, budget=1500):
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,900",
                               f"--user-data-dir={self.path('profile')}", f"--virtual-time-budget={budget}", *options, f"file://{page}#{fragment}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout.decode()

    def drawn(self, page, fragment, budget=1500):
        """What the page says it drew."""
        found = re.search(r'<pre id="drawn"[^>]*>(.*?)</pre>', self.browse(page, fragment, "--dump-dom", budget=budget), re.S)
        self.assertTrue(found)
        return json.loads(found.group(1).replace("&quot;", '"'))

    def example(self, name, policies="lake"):
        page = self.path(f"{name}.html")
        self.succeeds("distribute", "--example", name, "--policy", policies, "--html", page)
        return page

    # proves: W-21h
    def test_steps_fill_the_lake(self):
        page = self.example("lake")
        empty = self.drawn(page, "step=0")
        self.assertEqual([empty["length"], empty["machines"][0]["cells"], empty["machines"][0]["sms"]], [7, 0, 32])
        begin = self.drawn(page, "step=1")["machines"][0]
        self.assertEqual(begin["cells"], 64)  # resident before
        counts = [self.drawn(page, f"step={step}")["machines"][0] for step in (2, 7)]
        self.assertEqual([one["cells"] for one in counts], [64 + 22, 64 + 137])
        self.assertEqual(counts[0]["fresh"], 22)
        self.assertEqual(self.drawn(page, "step=99")["position"], 7)

    def test_it_plays_to_the_end(self):
        page = self.example("lake")
        self.assertTrue(self.drawn(page, "step=1&play&speed=1", budget=900)["playing"])
        ended = self.drawn(page, "step=1&play&speed=10", budget=6000)
        self.assertEqual((ended["position"], ended["playing"]), (7, False))
        self.assertEqual(ended["machines"][0]["cells"], 201)

    def test_candidates_show_their_speeds(self):
        page = self.example("nested")
        seen = [self.drawn(page, f"step={step}")["machines"][0]["badges"] for step in (2, 3, 4)]
        self.assertGreaterEqual(max(seen), 4)

    def test_policies_are_shown_together_at_equal_times(self):
        drawn = self.drawn(self.example("lake", "all"), "step=99")
        self.assertEqual(drawn["by"], "time")
        self.assertGreaterEqual(len(drawn["machines"]), 4)
        for machine in drawn["machines"]:
            self.assertGreater(machine["cells"], 64)

    def test_the_picture_is_not_blank_and_changes(self):
        page = self.example("lake")
        pictures = []
        for step in (0, 7):
            name = self.path(f"{step}.png")
            self.browse(page, f"step={step}", f"--screenshot={name}")
            rows = pixels(open(name, "rb").read())
            counts = {}
            for row in rows:
                for pixel in row:
                    counts[pixel] = counts.get(pixel, 0) + 1
            pictures.append((rows, counts))
        for rows, counts in pictures:
            self.assertGreater(len(counts), 20)
            self.assertLess(max(counts.values()) / (len(rows) * len(rows[0])), 0.9)
        different = sum(a != b for before, after in zip(pictures[0][0], pictures[1][0]) for a, b in zip(before, after))
        self.assertGreater(different, 10000)  # 201 cells of some 200 pixels

    def test_a_large_machine_keeps_readable_cells(self):
        page, load = self.path("h200.html"), self.write("load.json", """{"raddle": "load", "version": 1, "grids": [
            {"grid": [1056], "needs": {"threads": 256}, "duration": 10}]}""")
        self.succeeds("distribute", "--trace", load, "--html", page)
        drawn = self.drawn(page, "step=8")["machines"][0]
        self.assertEqual((drawn["cells"], drawn["sms"]), (1056, 132))
        self.assertGreaterEqual(drawn["cellPixels"], 60)


if __name__ == "__main__":
    tap.main()
