r"""Compares the quality of settings: word similarity and held-out loss over a grid of options.

    python scripts/quality/settings.py wiki.txt model=cbow,skipgram negatives=exact,shared seed=1,2,3 \
        epochs=3 --lines 156003 --valid-lines 2000 --pairs ws353.tsv rg65.tsv

Prints the means and, with --section, writes them to docs/evidence/data/settings.json. Each NAME=A,B,.. is
an option of TrainConfig with the values to try. All combinations are run on the same encoded text; those
already in --log are not run again. The last lines of the text are held out.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of, parser, spearman, table, write_section

from wordvec_ca.corpus import TextOptions, encode_corpus
from wordvec_ca.eval import read_word_pairs
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train


def combinations(settings: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the options of each run."""
    types = {field.name: str(field.type) for field in fields(TrainConfig)}
    names, choices = [], []
    for setting in settings:
        name, _, values = setting.partition("=")
        read = float if "float" in types[name] else int if "int" in types[name] else str
        names.append(name)
        choices.append(
            [value == "true" if "bool" in types[name] else read(value) for value in values.split(",")]
        )
    for values in itertools.product(*choices):
        yield dict(zip(names, values, strict=True))


def main() -> None:
    """Run the grid."""
    asked = parser(__doc__, "settings")
    asked.add_argument("corpus")
    asked.add_argument("settings", nargs="+", metavar="NAME=A,B,..")
    asked.add_argument("--lines", type=int, required=True, help="training text")
    asked.add_argument("--valid-lines", type=int, default=2_000, help="held-out text, right after it")
    asked.add_argument("--min-count", type=int, default=5)
    asked.add_argument("--pairs", nargs="+", required=True)
    asked.add_argument("--log", type=Path, default=Path("quality.jsonl"))
    asked.add_argument("--section", help="name of the section to write; without it nothing is written")
    options = asked.parse_args()
    pairs = [read_word_pairs(path) for path in options.pairs]
    runs = Runs(options.log)
    groups: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        valid = list(lines_of(options.corpus, options.valid_lines, options.lines))
        encoded = encode_corpus(
            lines_of(options.corpus, options.lines, 0),
            TextOptions(min_count=options.min_count),
            cache_dir=folder,
        )

        def run(whole: Setting) -> dict[str, Any]:
            model = train(
                encoded,
                TrainConfig(**{"workers": 1, "vectors": "input", **whole["options"]}),
                valid=iter(valid),
            )
            scores = spearman(model.vectors, pairs)
            return {
                "spearman": statistics.mean(scores.values()),
                "valid_loss": model.record["valid_loss_by_epoch"][-1],
                "words_per_second": model.record["timings"]["words_per_second"],
                "concentration": model.record["attention_concentration"],
                **scores,
            }

        text = {"corpus": options.corpus, "lines": options.lines, "min_count": options.min_count}
        for setting in combinations(options.settings):
            record = runs.outcome({**text, "options": setting}, run)
            assert record is not None  # these Runs have no time limit
            rest = {name: value for name, value in setting.items() if name != "seed"}
            groups.setdefault(json.dumps(rest), []).append(record)
    print("means over seeds")
    rows = []
    for group, records in groups.items():
        means = {name: statistics.mean(r[name] for r in records) for name in ("spearman", "valid_loss")}
        spread = statistics.stdev([r["spearman"] for r in records]) if len(records) > 1 else float("nan")
        setting = ", ".join(f"{name} {value}" for name, value in json.loads(group).items())
        rows.append((setting, f"{means['spearman']:.4f} ({spread:.4f})", f"{means['valid_loss']:.4f}"))
    result = table(("setting", "Spearman (sd)", "held-out loss"), rows)
    print(result)
    if options.section:
        body = f"## {options.section}\n\n{result}"
        write_section(options.page, "Settings", options.section, body)


if __name__ == "__main__":
    main()
