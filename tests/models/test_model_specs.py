"""The table of models agrees with the training loop and with the documentation."""

import runpy
from pathlib import Path
from typing import get_args

import pytest

from wordvec_ca import TrainConfig
from wordvec_ca.kernels import sgns_reference as reference
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.specs.models import (
    MODEL_ALIASES,
    MODELS,
    SPECS,
    ModelName,
    defaults_by_model,
    models_with,
    spec_of,
)

ROOT = Path(__file__).resolve().parents[2]


def test_the_loop_tells_compositions_apart():
    letters = {spec.composition: spec.letter for spec in SPECS}
    assert len(set(letters.values())) == len(letters)
    assert set(reference.COMPOSITIONS) == set(letters.values())


def test_aliases_lead_to_models():
    assert not set(MODEL_ALIASES) & set(MODELS)
    for alias, name in MODEL_ALIASES.items():
        assert TrainConfig(model=alias) == TrainConfig(model=name)
    with pytest.raises(ValueError, match="model is 'glove'; it must be one of cbow, skipgram"):
        spec_of("glove")


def test_defaults_follow_from_the_table():
    for spec in SPECS:
        config = ResolvedConfig.of(TrainConfig(model=spec.name))
        assert config.window == spec.window
        assert config.shrink_windows is not spec.knows_places
        assert config.alpha == spec.default_alpha("exact")
        assert config.sharing() == (spec.shared_by or 1)
    summing = ResolvedConfig.of(TrainConfig(cbow_mean=False))
    assert summing.alpha == ResolvedConfig.of(TrainConfig(cbow_update="word2vec")).alpha
    assert summing.alpha_warning() is None
    wide = ResolvedConfig.of(TrainConfig(cbow_mean=False, window=100))
    assert wide.alpha < summing.alpha / 5
    assert ResolvedConfig.of(wide) == ResolvedConfig.from_dict(wide.as_dict()) == wide
    assert defaults_by_model(lambda spec: spec.window) == "5; 20 for cbow-attn; 10 for pv-dm-attn"
    assert models_with("pairwise") == ("skipgram", "ssg", "pv-dbow")


def test_the_documentation_shows_the_table():
    page = (ROOT / "docs" / "models.md").read_text("utf-8")
    hook = runpy.run_path(str(ROOT / "scripts" / "site" / "model_table.py"))
    shown = hook["on_page_markdown"](page)
    rows = [line for line in shown.splitlines() if line.count(" | ") == 5 and line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["--model", *MODELS]


def test_type_checkers_know_all_names_and_nothing_else():
    assert set(get_args(ModelName)) == {*MODELS, *MODEL_ALIASES}
