"""Vectors in parts: what each part can tell apart, the same bits after a resume, files and tables."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca.cli import main
from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig, attention_weights, weights_by_place
from wordvec_ca.models.sizes import logits_of
from wordvec_ca.runs import train
from wordvec_ca.tables import logits_by_part
from wordvec_ca.training.collapse import dead_places
from wordvec_ca.vectors import KeyedVectors

PAIRS = 20


def language(same: str, n: int = 12_000, seed: int = 5) -> list[list[str]]:
    """Return lines of eleven around one of two words a_i, b_i, with the same near or the same far words.

    With ``same="far"``, the places next to the word have words of its own, and the places three to five off
    have words of the pair; else the other way round. All other words are filler.
    """
    rng = np.random.default_rng(seed)
    lines = []
    for pair, member in zip(rng.integers(0, PAIRS, n), rng.choice(["a", "b"], n), strict=True):
        own, shared = f"{pair}{member}", f"{pair}"
        near, far = (own, shared) if same == "far" else (shared, own)
        line = [f"filler{i}" for i in rng.integers(0, 60, 11)]
        line[5] = f"{member}_{pair}"
        for place in (4, 6):
            line[place] = f"near{near}-{rng.integers(3)}"
        for place in (0, 1, 2, 8, 9, 10):
            line[place] = f"far{far}-{rng.integers(3)}"
        lines.append(line)
    return lines


def options(model: str, **more: Any) -> TrainConfig:
    return TrainConfig(
        model=model, window=5, vector_size=32, parts="near:2,far", epochs=4, workers=1, min_count=1, sample=0,
        tokenizer="whitespace", negative=10, **more,
    )  # fmt: skip


def right(model: EmbeddingModel, name: str, lines: list[list[str]]) -> float:
    """Return how often one part of x and of the output vectors prefers the right one of a_i and b_i."""
    config, index, d = model.config, model.vocab.index, model.config.vector_size
    n_slots, columns = logits_of(config)
    words, slots = model.word_logits[:, :columns], model.slot_logits[0, :n_slots]
    logits = logits_by_part(words, slots, "full", config.rings())
    part, of_words, of_slots = next(one for one in logits if one[0].name == name)
    hits = 0
    for line in lines:
        context = [index[line[5 + offset]] for offset in part.offsets]
        weights = np.ones(len(context))
        if config.spec.attends:
            weights = np.exp(of_words[context, range(len(context))] + of_slots)
        x = weights / weights.sum() @ model.inputs[context, :d][:, part.columns]
        pair = line[5].partition("_")[2]
        of_a, of_b = (model.outputs[index[f"{member}_{pair}"], :d][part.columns] @ x for member in "ab")
        hits += (of_a > of_b) == (line[5][0] == "a")
    return hits / len(lines)


@pytest.mark.parametrize("model", ["cbow", "cbow-attn"])
@pytest.mark.parametrize(("same", "blind", "seeing"), [("far", "far", "near"), ("near", "near", "far")])
def test_only_one_part_can_tell_two_words_apart(model: str, same: str, blind: str, seeing: str) -> None:
    learnt = train(language(same), options(model))
    lines = language(same, n=2_000, seed=6)
    assert right(learnt, seeing, lines) >= 0.95
    # this part of x does not tell the words apart
    assert abs(right(learnt, blind, lines) - 0.5) <= 3 * 0.5 / 2_000**0.5


# ---- the configuration ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "meant"),
    [
        ("near:2,far", "near:1-2:16,far:3-5:16"),
        ("near:1-2:10,far:3-5:22", "near:1-2:10,far:3-5:22"),
        ("near:2,all:5", "near:1-2:16,all:1-5:16"),
        ("near:2,far,", None),
        ("a, b:2-:3", "a:1-5:29,b:2-5:3"),
        ("one:2-4", "one:2-4:32"),
        ("x:1:5,y:2,z", "x:1-1:5,y:1-2:14,z:3-5:13"),
    ],
)
def test_parts_are_read_as_they_are_documented(parts: str, meant: str | None) -> None:
    config = {"model": "cbow", "window": 5, "vector_size": 32, "parts": parts}
    if meant is None:
        with pytest.raises(ValueError, match="parts has"):
            TrainConfig(**config)
        return
    resolved = ResolvedConfig.of(TrainConfig(**config))
    assert resolved.parts == meant
    assert resolved.shrink_windows is False
    assert ResolvedConfig.from_dict(resolved.as_dict()) == resolved


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("", "NAME:PLACES"),
        ("near:0", "between 1 and the window"),
        ("near:6", "between 1 and the window, which is 5"),
        ("near:4-3", "must rise"),
        ("near:5,far", "must rise"),
        ("a:2,a", "two parts of one name"),
        ("a:2:20,b:3-5:20", "add up to vector_size, which is 32"),
        ("a:2:32,b", "add up"),
        ("a:2:0,b", "add up"),
        (",".join("abcdefghi"), "at most 8"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(model="cbow-attn", window=5, vector_size=32, parts=parts)


@pytest.mark.parametrize("model", ["skipgram", "ssg", "cwindow"])
def test_other_models_have_no_parts(model: str) -> None:
    with pytest.raises(ValueError, match="is for cbow, cbow-attn, not"):
        TrainConfig(model=model, parts="near:2,far")


# ---- what is made of them ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "m"
    train(language("far", 600), options("cbow-attn", subwords=True), output=folder)
    return folder


def test_a_model_is_trained_further_with_the_same_parts(trained: Path) -> None:
    more = train(language("far", 50), continue_from=trained)
    assert more.config.parts == "near:1-2:16,far:3-5:16"
    for other in (None, "near:1,far"):
        config = dataclasses.replace(more.config, parts=other)
        with pytest.raises(DataError, match="parts is 'near:1-2:16,far:3-5:16' in"):
            train(language("far", 50), config, continue_from=trained)


def test_a_part_is_columns_of_the_whole(trained: Path) -> None:
    vectors = KeyedVectors.load(trained)
    near, far = vectors.part("near"), vectors.part("far")
    np.testing.assert_array_equal(np.hstack([near.vectors, far.vectors]), vectors.vectors)
    assert near.counts is not None
    assert near.metadata["part"] == "near"
    assert near.parts == ()
    unknown = vectors.get_vector("filler61")  # made of n-grams
    np.testing.assert_allclose(far.get_vector("filler61"), unknown[16:], rtol=1e-6)
    folded = vectors.with_attention_folded().vectors
    assert near.attends
    assert vectors.attends
    np.testing.assert_allclose(folded[:, :16], near.vectors * near.attention[:, None], rtol=1e-6)
    assert far.attends
    np.testing.assert_allclose(vectors.attention, (near.attention + far.attention) / 2, rtol=1e-5)
    assert np.abs(near.attention - far.attention).max() > 0.01
    of_model = EmbeddingModel.load(trained).vectors.part("far").attention
    np.testing.assert_allclose(far.attention, of_model)
    with pytest.raises(DataError, match="no part 'middle': they have near, far"):
        vectors.part("middle")
    with pytest.raises(DataError, match="no part 'far': they are in one part"):
        near.part("far")


def test_attention_of_each_part_adds_up_to_one(trained: Path) -> None:
    line = language("far", 1)[0]
    weights = attention_weights(trained, line, 5)
    for name, offsets in (("near", [-2, -1, 1, 2]), ("far", [-5, -4, -3, 3, 4, 5])):
        of_part = [w for w in weights if w.part == name]
        assert [w.offset for w in of_part] == offsets
        assert sum(w.weight or 0 for w in of_part) == pytest.approx(1)
    with pytest.raises(DataError, match="nothing to attend to"):
        attention_weights(trained, ["unknown", line[5], "unheard"], 1)


def test_dead_places_are_found_in_each_part() -> None:
    vocab = Vocab(["a", "b"], np.array([9, 8]))
    model = EmbeddingModel(options("cbow-attn"), vocab)
    model.slot_logits[0, 4 + 3] = -9.0  # place +3, the fourth of the far part
    tokens = np.array([0, 1] * 40, np.int32)
    near, far = weights_by_place(model, tokens)
    assert near[1] == pytest.approx(np.ones(4))
    assert [far[0].offsets[place] for place in dead_places(far[1])] == [3]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0), *capsys.readouterr()


def test_commands_know_parts(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    vectors = KeyedVectors.load(trained)
    for name in ("near", "far"):
        code, out, _ = run(capsys, "nn", trained, "a_3", "--part", name, "--json")
        assert code == 0
        nearest = [entry["word"] for entry in json.loads(out)["neighbours"]]
        assert nearest == [word for word, _ in vectors.part(name).most_similar("a_3", topn=10)]
        assert run(capsys, "export", trained, "-o", tmp_path / f"{name}.txt", "--part", name)[0] == 0
        exported = KeyedVectors.load(tmp_path / f"{name}.txt")
        np.testing.assert_allclose(exported.vectors, vectors.part(name).vectors, rtol=1e-4, atol=1e-6)
        question = ("a_1", "b_1", "a_2")
        code, out, _ = run(capsys, "analogy", trained, *question, "--part", name, "--json")
        assert code == 0
        answers = [entry["word"] for entry in json.loads(out)["answers"]]
        assert answers == [word for word, _ in vectors.part(name).analogy(*question, topn=10)]
    for command in (("nn", trained, "a_3"), ("analogy", trained, "a_1", "b_1", "a_2")):
        code, _, err = run(capsys, *command, "--part", "middle")
        assert code == 1
        assert "near, far" in err
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a_1\tb_1\t9\na_1\ta_2\t1\na_3\tb_4\t2\na_5\tb_5\t8\nb_2\ta_2\t7\n")
    scores = [
        run(capsys, "eval", trained, "--tasks", "similarity", "--similarity", pairs, "-q", *more)[1]
        for more in ((), ("--part", "far"))
    ]
    assert scores[0] != scores[1]
    sentence = " ".join(language("far", 1)[0])
    code, out, _ = run(capsys, "attention", trained, sentence, "--target", "6", "--plot", tmp_path / "a.png")
    assert code == 0
    assert "part near" in out
    assert "part far" in out
    assert (tmp_path / "a.png").stat().st_size > 5_000
    code, out, _ = run(capsys, "attention", trained, sentence, "--target", "6", "--json")
    assert {entry["part"] for entry in json.loads(out)["context"]} == {"near", "far"}
    code, out, _ = run(capsys, "report", trained, "-o", "-")
    assert code == 0
    assert out.count("Attention by place") >= 2
    assert "near: 16 dimensions, places 1 to 2" in out
    code, _, err = run(capsys, "train", tmp_path / "none.txt", "--model", "ssg", "--parts", "near:2,far")
    assert code == 2
    assert "parts" in err
