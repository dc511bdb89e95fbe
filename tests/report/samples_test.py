"""Reading samples: what is refused, with which sentence, and what an interrupted run still gives."""

import gzip
import json
import os
import tempfile
import unittest

from report import samples
from support import END, SCHEMA_1, cell, head, read_text, sample, text_of

RUN = head()
CELL = cell(0, "manual")
SAMPLE = sample(0, 0, 2.0, 2.0, 3.0)


def without(line, name):
    return {key: value for key, value in line.items() if key != name}


class Reading(unittest.TestCase):
    def refuses(self, lines, sentence):
        with self.assertRaises(samples.SampleError) as caught:
            read_text(lines if isinstance(lines, str) else text_of(lines))
        self.assertEqual(str(caught.exception), sentence)

    def test_the_file_of_the_first_schema(self):
        runs, interruption = samples.read(SCHEMA_1)
        self.assertEqual(interruption, "")
        self.assertEqual(len(runs), 1)
        self.assertEqual(len(runs[0].cells), 43)
        self.assertEqual({len(one.samples) for one in runs[0].cells.values()}, {9})
        self.assertEqual(runs[0].missing[0]["why"], "io_uring_setup: Operation not permitted")

    def test_a_later_schema_is_refused(self):
        later = dict(RUN, schema=2)
        for lines in ([later], [without(later, "host")]):
            self.refuses(lines, "samples:1: these samples have schema 2, and this report reads schema 1: use the report "
                                "of the Weft that wrote them")
        self.refuses([dict(RUN, schema=0)], "samples:1: schema = 0; expected 1")
        self.refuses([RUN, END, later], "samples:3: these samples have schema 2, and this report reads schema 1: use "
                                        "the report of the Weft that wrote them")

    def test_malformed_lines_have_file_line_and_what_is_wrong(self):
        kinds = "expected one of run, cell, sample, missing, switch, simulated, end"
        for lines, sentence in (
                ([RUN, "{"], "samples:2: no JSON: Expecting property name enclosed in double quotes: "
                             "line 2 column 1 (char 2)"),
                ('{"kind":"ru', "samples:1: no JSON: Unterminated string starting at: line 1 column 9 (char 8)"),
                ([RUN, "[]"], "samples:2: kind = null; " + kinds),
                ([RUN, '{"kind":[]}'], "samples:2: kind = []; " + kinds),
                ([RUN, {"kind": "cells"}], 'samples:2: kind = "cells"; ' + kinds),
                ([CELL], 'samples:1: "cell" before the first "run" line'),
                ([without(RUN, "host")], 'samples:1: a "run" line without "host"'),
                ([dict(RUN, schema="1")], 'samples:1: "schema" = "1"; expected a whole number'),
                ([dict(RUN, schema=True)], 'samples:1: "schema" = true; expected a whole number'),
                ([RUN, dict(CELL, columns="total")], 'samples:2: "columns" = "total"; expected a list'),
                ([RUN, dict(CELL, bytes=1.5)], 'samples:2: "bytes" = 1.5; expected a whole number'),
                ([RUN, dict(CELL, scenario="other")],
                 'samples:2: scenario "other" is not among those of the "run" line'),
                ([RUN, dict(CELL, ranks=0)], "samples:2: bytes = 1048576, ranks = 0; expected at least 0 and 1"),
                ([RUN, dict(CELL, link="1gbit")], 'samples:2: "link" = "1gbit"; expected an object'),
                ([RUN, dict(CELL, link={"delay_us": "1ms"})], 'samples:2: "delay_us" = "1ms"; expected a number'),
                ([head(statistic={"repetitions": "mode"})],
                 'samples:1: "statistic" = "mode"; expected one of median, min, mean, max'),
                ([head(members=["manual"])], 'samples:1: "members" = "manual"; expected an object'),
                ([RUN, CELL, CELL], "samples:3: a second cell with id 0"),
                ([RUN, CELL, dict(SAMPLE, cell=7)], "samples:3: no cell has id 7"),
                ([RUN, CELL, dict(SAMPLE, ranks=[[1, 2]])],
                 "samples:3: rank 0 has [1, 2]; expected 3 numbers, one for each of blocking, work, total"),
                ([RUN, CELL, dict(SAMPLE, ranks=[7])],
                 "samples:3: rank 0 has 7; expected 3 numbers, one for each of blocking, work, total"),
                ([RUN, CELL, dict(SAMPLE, ranks=[[1, 2, "3"]])],
                 'samples:3: rank 0 has "3"; expected a number of microseconds'),
                ([RUN, CELL, dict(SAMPLE, ranks=[[1, 2, 3], [1, 2, 3]])], "samples:3: 2 ranks; its cell has 1"),
                ([RUN, {"kind": "end"}], 'samples:2: an "end" line without "complete"'),
                ("", "samples: it is empty; expected the samples of `weft bench --json FILE`")):
            with self.subTest(sentence):
                self.refuses(lines, sentence)

    def test_not_a_number_and_infinity_are_refused(self):
        for value in ("NaN", "Infinity", "-Infinity", "1e999"):
            lines = text_of([RUN, CELL]) + json.dumps(SAMPLE).replace("2.0", value, 1) + "\n"
            with self.assertRaises(samples.SampleError, msg=value):
                read_text(lines)

    def test_a_file_that_cannot_be_read(self):
        with self.assertRaises(samples.SampleError) as caught:
            samples.read("/nowhere/samples")
        self.assertEqual(str(caught.exception), "/nowhere/samples: No such file or directory")

    def test_a_packed_file_is_read_as_the_plain_one(self):
        with open(SCHEMA_1, "rb") as plain, tempfile.TemporaryDirectory() as folder:
            packed = gzip.compress(plain.read())
            for content, sentence in ((packed, ""), (packed[:-100], "Compressed file ended"), (b"plain", "Not a gzipped")):
                path = os.path.join(folder, "samples.jsonl.gz")
                with open(path, "wb") as file:
                    file.write(content)
                if sentence:
                    with self.assertRaisesRegex(samples.SampleError, "samples.jsonl.gz: " + sentence):
                        samples.read(path)
                else:
                    self.assertEqual(len(samples.read(path)[0][0].cells), 43)

    def test_an_interrupted_run_is_said_to_be(self):
        whole = text_of([RUN, CELL, SAMPLE])
        for text, sentence in ((whole + json.dumps(SAMPLE)[:20], "The run was interrupted: the last line of the file is cut off."),
                               (whole, 'The run was interrupted: the file has no "end" line.'),
                               (whole + text_of([dict(END, complete=False)]),
                                "The run was interrupted before everything was measured."),
                               (whole + text_of([END]), "")):
            runs, interruption = read_text(text)
            self.assertEqual(interruption, sentence)
            self.assertEqual(len(runs[0].cells[0].samples), 1)

    def test_runs_that_follow_each_other_have_cells_of_their_own(self):
        runs, _ = read_text(text_of([RUN, CELL, SAMPLE, dict(RUN, mpi="MPICH 5.0.2"), CELL, SAMPLE, SAMPLE, END]))
        self.assertEqual([len(run.cells[0].samples) for run in runs], [1, 2])
