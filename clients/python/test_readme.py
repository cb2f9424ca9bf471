"""The programs of README.md, word for word, over a real server: QUEUEKIT_SERVER=http://.."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER = os.environ.get("QUEUEKIT_SERVER")
if not SERVER:
    print("NOT RUN: README.md over a server. Set QUEUEKIT_SERVER to its URL.", file=sys.stderr)


@unittest.skipUnless(SERVER, "QUEUEKIT_SERVER is not set")
class ReadmeTest(unittest.TestCase):
    def setUp(self):
        text = (HERE / "README.md").read_text()
        self.programs = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, re.DOTALL))

    def start(self, name):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name, name)
        program.write_text(self.programs.pop(name))
        environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True,
                                   cwd=folder.name, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_each_program_does_what_it_says(self):
        worker = self.start("worker.py")
        enqueue, app = self.start("enqueue.py"), self.start("asyncio_app.py")
        said = enqueue.communicate(timeout=30)[0].splitlines()
        self.assertEqual(said[:2], ["{'greeting': 'Hello, Ada'}", "cancelled"])
        self.assertIn("greet cancelled {'name': 'Zoe'}", said)
        self.assertEqual(said[-1], "conflict")
        said = app.communicate(timeout=30)[0].splitlines()
        self.assertEqual((said[0], said[-1]), ("4", "count completed"))
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)
        self.assertEqual([enqueue.returncode, app.returncode, worker.returncode], [0, 0, 0])
        self.assertEqual(list(self.programs), [], "each program is run")


if __name__ == "__main__":
    unittest.main()
