"""The models, in one table.

This table determines the options of the command line with their defaults and help, validation, the
table in the documentation, the shapes of parameters and the record that the training loop reads. To add a
model, write an entry here and, in ``kernels/sgns_context.h`` and its reference implementation
``kernels/sgns_reference.py``, how its hidden vector is composed of input rows and how the gradient goes
back to them; ``kernels/sgns_reader.h`` chooses the context words of a window. CONTRIBUTING.md has an
example.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from wordvec_ca.errors import known_names

# Learning rate of models that average, with the exact step. With n context words in the window, this step
# is n times smaller than word2vec's, so it needs a higher rate.
EXACT_ALPHA = 0.2


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model."""

    # As in ``--model``.
    name: str
    # Other names under which people know it.
    aliases: tuple[str, ...] = ()
    # How the hidden vector x is made of the rows of the context words: the row of one context word at a
    # time (each pair of words is a prediction), their mean, their mean weighted by attention, or all of
    # them one after another. The loop knows it by its first letter, so no two begin with the same one.
    composition: Literal["pair", "mean", "attention", "side by side"]
    # Output vectors of a word: one; one for each place of the window; one as long as all rows of the
    # window.
    outputs: Literal["one", "by place", "wide"] = "one"
    # Default number of context words on each side.
    window: int = 5
    # Default learning rate at the start; for the exact step of a model that averages it is ``EXACT_ALPHA``.
    alpha: float = 0.05
    # Default number of predictions, from positions far apart in the text, that share a draw of negatives;
    # None if each draws its own (docs/decisions/010-shared-negatives.md).
    shared_by: int | None = None
    # Whether each line is a document with a row D of its own, which is one of the rows in x.
    documents: bool = False
    # Number of the model in fastText's files; None if fastText does not have the model.
    fasttext_number: int | None = None
    # hidden, output_shape, gradient, source: For the documentation: x, the shape of O, the gradient of a
    # row of W, and the origin of the model.
    hidden: str
    output_shape: str = "V × d"
    gradient: str
    source: str
    # For the documentation: when to choose it.
    advice: str

    @property
    def pairwise(self) -> bool:
        """Whether the model predicts the target from one context word at a time."""
        return self.composition == "pair"

    @property
    def letter(self) -> int:
        """The code of the first letter of ``composition``, by which the training loop identifies it."""
        return ord(self.composition[0])

    @property
    def attends(self) -> bool:
        """Whether the model has attention logits."""
        return self.composition == "attention"

    @property
    def averages(self) -> bool:
        """Whether x is a mean of context rows: then there is the choice of ``cbow_update``."""
        return self.composition in ("mean", "attention")

    @property
    def has_tree(self) -> bool:
        """Whether hierarchical softmax is possible; with output rows for each place, each place would need a
        tree.
        """
        return self.outputs != "by place"

    @property
    def sums(self) -> bool:
        """Whether x can be the sum of context rows instead of their mean."""
        return self.composition == "mean"

    @property
    def knows_places(self) -> bool:
        """Whether the model has parameters for each place of the window. If so, windows do not shrink by
        default.
        """
        return self.outputs != "one" or self.attends

    def bands(self, window: int) -> int:
        """Return the number of output rows of a word."""
        return 2 * window if self.outputs == "by place" else 1

    @property
    def has_lines(self) -> bool:
        """Whether lines are text alone: documents must be stored, and sampled or held-out ones have no
        vectors.
        """
        return not self.documents

    @property
    def pairs_documents(self) -> bool:
        """Whether the model predicts words from the document alone, so that ``dbow_words`` can be chosen."""
        return self.documents and self.pairwise

    @property
    def joins_documents(self) -> bool:
        """Whether x has places for several tags, so that ``dm_tag_count`` can be chosen."""
        return self.documents and self.outputs == "wide"

    def widths(self, window: int, tags: int = 1) -> int:
        """Return how many times longer than an input row an output row is, given the tags of a document."""
        return 2 * window + tags * self.documents if self.outputs == "wide" else 1

    def default_alpha(self, cbow_update: str, cbow_mean: bool = True) -> float:
        """Return the default learning rate at the start, which depends on the step (``cbow_update``)."""
        # In a sum of rows each row takes the whole gradient, as in word2vec's step: no rate for an n-th
        # part.
        return EXACT_ALPHA if self.averages and cbow_update == "exact" and cbow_mean else self.alpha


# All models, in the order of the help and of the documentation.
SPECS = (
    ModelSpec(
        name="cbow",
        composition="mean",
        shared_by=4,
        fasttext_number=1,
        hidden="mean of the rows present",
        gradient="`exact`: g / n each; `word2vec`: g each",
        source="Mikolov et al. 2013; Irsoy et al. 2021",
        advice="the fastest; topics and meaning; a small window for syntax",
    ),
    ModelSpec(
        name="skipgram",
        aliases=("sg", "skip-gram"),
        composition="pair",
        shared_by=16,
        fasttext_number=2,
        hidden="the row of one context word",
        gradient="g",
        source="Mikolov et al. 2013",
        advice="rare words, similarity; 2 to 6 times slower",
    ),
    ModelSpec(
        name="ssg",
        aliases=("structgram", "structured-skipgram"),
        composition="pair",
        outputs="by place",
        alpha=0.025,
        hidden="the row of one context word",
        output_shape="V × 2b × d, by slot",
        gradient="g",
        source="Ling et al. 2015a",
        advice="tagging; memory × 2·window for outputs",
    ),
    ModelSpec(
        name="cwindow",
        composition="side by side",
        outputs="wide",
        hidden="the rows side by side, zeros where there is none",
        output_shape="V × 2bd",
        gradient="the part of g of each slot",
        source="Ling et al. 2015a",
        advice="syntax, word order; memory × 2·window for outputs",
    ),
    ModelSpec(
        name="cbow-attn",
        aliases=("attention", "cbow-attention"),
        composition="attention",
        window=20,
        shared_by=4,
        hidden="Σ aᵢ Wᵢ",
        gradient="`exact`: aᵢ g; `word2vec`: n aᵢ g",
        source="Ling et al. 2015",
        advice="large windows without losing word order; a third to a half of CBOW's speed",
    ),
    ModelSpec(
        name="pv-dbow",
        aliases=("dbow",),
        composition="pair",
        documents=True,
        shared_by=16,
        hidden="the row of the document; with `--dbow-words` of one context word, too",
        gradient="g",
        source="Le & Mikolov 2014",
        advice="vectors of documents: classification, search",
    ),
    ModelSpec(
        name="pv-dm",
        aliases=("dm",),
        composition="mean",
        documents=True,
        shared_by=4,
        hidden="mean of the rows of the words and of the document",
        gradient="`exact`: g / n each; `word2vec`: g each",
        source="Le & Mikolov 2014",
        advice="vectors of documents and of words",
    ),
    ModelSpec(
        name="pv-dm-concat",
        composition="side by side",
        outputs="wide",
        documents=True,
        hidden="the rows side by side, that of the document last",
        output_shape="V × (2b + 1)d",
        gradient="the part of g of each slot",
        source="Le & Mikolov 2014",
        advice="documents, with word order; memory × 2·window for outputs",
    ),
    ModelSpec(
        name="pv-dm-attn",
        composition="attention",
        documents=True,
        window=10,
        shared_by=4,
        hidden="Σ aᵢ Wᵢ + a D",
        gradient="`exact`: aᵢ g; `word2vec`: n aᵢ g",
        source="this project, after Ling et al. 2015",
        advice="documents; learns which words the document predicts, and which their neighbours",
    ),
)

MODELS = tuple(spec.name for spec in SPECS)
# Models without documents.
WORD_MODELS = tuple(spec.name for spec in SPECS if not spec.documents)

# Type of the names of models.
ModelName = Literal[
    "cbow",
    "skipgram", "sg", "skip-gram",
    "ssg", "structgram", "structured-skipgram",
    "cwindow",
    "cbow-attn", "attention", "cbow-attention",
    "pv-dbow", "dbow",
    "pv-dm", "dm",
    "pv-dm-concat",
    "pv-dm-attn",
]  # fmt: skip

# Other names that people use for the models.
MODEL_ALIASES = {alias: spec.name for spec in SPECS for alias in spec.aliases}

# What attention logits can depend on: word and place, place alone, or word alone.
AttentionKind = Literal["full", "position", "word"]


VectorForm = Literal["input", "output", "both", "fitted"]
# Forms of a model's vectors, see `wordvec_ca.tables.published`: name -> description for people.
VECTOR_FORMS: dict[str, str] = {
    "input": "input rows, as word2vec publishes",
    "output": "output rows less their mean",
    "both": "principal components of input and output rows, as many as vector_size",
    "fitted": "both, and what n-grams that are fitted to it tell of each word; also for unknown words",
}


def spec_of(model: str) -> ModelSpec:
    """Return the entry of a model, by its name or an alias."""
    name = MODEL_ALIASES.get(model, model)
    for spec in SPECS:
        if spec.name == name:
            return spec
    raise ValueError(f"model is {model!r}; it must be one of {known_names(model, MODELS)}")


def table_of_models() -> str:
    """Return the models as a table in Markdown: how x is made, what is learnt, and when to choose each."""
    rows = [("`--model`", "x", "O", "step of W (g: gradient of x)", "source", "choose it for"), ("---",) * 6]
    rows += [
        (f"`{one.name}`", one.hidden, one.output_shape, one.gradient, one.source, one.advice) for one in SPECS
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def models_with(trait: str) -> tuple[str, ...]:
    """Return the names of the models for which an attribute of `ModelSpec` is true."""
    return tuple(spec.name for spec in SPECS if getattr(spec, trait))


def defaults_by_model(value: Callable[[ModelSpec], Any]) -> str:
    """Return the default of each model as text for people, the most common value first.

    Examples
    --------
    >>> defaults_by_model(lambda spec: spec.window)
    '5; 20 for cbow-attn; 10 for pv-dm-attn'
    """
    values = [(value(spec), spec.name) for spec in SPECS if value(spec) is not None]
    (common, _), *others = Counter(shown for shown, _ in values).most_common()
    parts = [str(common)]
    for other, _ in others:
        names = [name for shown, name in values if shown == other]
        parts.append(f"{other} for {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}")
    return "; ".join(parts)


def logit_columns(attention: str, places: int) -> int:
    """Return the number of attention logits of a word (columns of K): one a place, none, or one."""
    return {"full": places, "position": 0, "word": 1}[attention]
