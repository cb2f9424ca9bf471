"""The types have the fields and values of the server's OpenAPI description: QUEUEKIT_SERVER=.."""

import json
import os
import re
import sys
import typing
import unittest
import urllib.request
from pathlib import Path

from queuekit import errors, types

SERVER = os.environ.get("QUEUEKIT_SERVER")
if not SERVER:
    print("NOT RUN: the types against a server. Set QUEUEKIT_SERVER to its URL.", file=sys.stderr)

OBJECTS = {  # The schema of each type.
    "Job": types.Job, "LeasedJob": types.LeasedJob, "Lease": types.Lease,
    "Reserved": types.Reserved, "Failure": types.Failure, "Release": types.Released,
    "Undecodable": types.Mark,
    "LogLine": types.LogLine, "Progress": types.Progress, "ProgressGiven": types.NewProgress,
    "NewJob": types.NewJob, "Enqueued": types.Enqueued, "Jobs": types.JobPage,
    "Examined": types.Examined, "Ack": types.Ack, "Nack": types.Nack, "Report": types.Report,
    "Outcome": types.Outcome, "NewCheckpoint": types.NewCheckpoint,
    "Checkpoint": types.Checkpoint, "Checkpoints": types.Checkpoints, "Queue": types.Queue, "QueueSettings": types.QueueSettings,
    "Queues": types.QueuePage, "Retention": types.Retention, "Keep": types.Keep,
    "Count": types.Count, "Totals": types.Totals, "Health": types.Health,
    "ErrorGroup": types.ErrorGroup, "Note": types.Note, "Orders": types.Orders,
    "Beat": types.Beat, "RunningJob": types.RunningJob, "UndecodableKind": types.UndecodableKind,
    "Problem": types.Problem,
}
LITERALS = {"Status": types.Status, "State": types.State, "NackKind": types.NackKind,
            "ReleaseCause": types.ReleaseCause, "OrderedMode": types.Mode,
            "KeyOnWait": types.KeyOnWait,
            "KeyOnDead": types.KeyOnDead,
            "Order": types.Order}


@unittest.skipUnless(SERVER, "QUEUEKIT_SERVER is not set")
class DescriptionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with urllib.request.urlopen(f"{SERVER}/openapi.json") as answer:
            cls.openapi = json.load(answer)
        cls.schemas = cls.openapi["components"]["schemas"]

    def test_each_type_has_the_fields_of_its_schema(self):
        for name, kind in OBJECTS.items():
            with self.subTest(name):
                schema = self.schemas[name]
                # Of payloads, data and results, new objects take bytes in place of base64.
                given = name in ("NewJob", "Ack", "NewCheckpoint")
                fields = {f for f in schema["properties"] if not (given and f.endswith("_base64"))}
                self.assertEqual(set(typing.get_type_hints(kind)), fields)
                if name != "Problem":  # A proxy may leave out any of its fields.
                    self.assertEqual(set(kind.__required_keys__), set(schema.get("required", [])))

    def test_outcomes_of_new_jobs_and_events_have_the_fields_and_values_of_their_schemas(self):
        for name, kind in (("EnqueueOutcome", types.EnqueueOutcome),
                           ("EmitOutcome", types.EmitOutcome)):
            forms = self.schemas[name]["oneOf"]
            fields = {field for form in forms for field in form["properties"]}
            self.assertEqual(set(typing.get_type_hints(kind)), fields)
            outcomes = {form["properties"]["outcome"]["enum"][0] for form in forms}
            hint = typing.get_type_hints(kind)["outcome"]
            self.assertEqual(set(typing.get_args(hint)), outcomes)

    def test_options_of_events_are_the_fields_of_their_schema(self):
        fields = set(self.schemas["NewEvent"]["properties"]) - {"type", "data", "data_base64"}
        self.assertEqual(set(typing.get_type_hints(types.EventOptions)), fields)

    def test_filters_have_the_parameters_of_a_listing(self):
        parameters = self.openapi["paths"]["/v1/jobs"]["get"]["parameters"]
        names = {parameter["name"] for parameter in parameters}
        self.assertEqual(set(typing.get_type_hints(types.PageFilter)), names)

    def test_literals_have_the_values_of_their_schemas(self):
        for name, kind in LITERALS.items():
            with self.subTest(name):
                self.assertEqual(set(typing.get_args(kind)), set(self.schemas[name]["enum"]))

    def test_there_is_a_class_for_each_code_of_the_docs(self):
        page = Path(__file__).resolve().parents[2] / "docs" / "http.md"
        codes = set(re.findall(r"^\| [45]\d\d \| `(\w+)` \|", page.read_text(), re.MULTILINE))
        self.assertEqual(set(errors.BY_CODE) - {"unreachable", "no_json"}, codes)


if __name__ == "__main__":
    unittest.main()
