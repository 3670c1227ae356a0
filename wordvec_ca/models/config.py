"""What is trained and how: the options of a run, their defaults and their limits."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from wordvec_ca.corpus import TextOptions
from wordvec_ca.machine import usable_cpus
from wordvec_ca.model_specs import ATTENTION_KINDS, MODEL_ALIASES, MODELS, ModelSpec, models_with, spec_of
from wordvec_ca.vectors import Part, parse_parts, written_parts

MOST_SHARED = 64
"""More predictions than this that share a draw are taken for a typing error."""

CBOW_UPDATES = ("exact", "word2vec")
NEGATIVES = ("exact", "shared")
BACKENDS = ("cython", "numba")

MERGE_RULES = ("saturating", "mean", "sum")
MAX_REPLICAS = 1024
MAX_RESAMPLES = 999

MAX_WORKERS_PER_CPU = 32
"""More threads than this per processor are taken for a typing error."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The options of a run; names and defaults are gensim's where gensim has them.

    ``None`` stands for a default that depends on the model or the machine; the ``resolved``
    configuration, which is what gets recorded, has none left.

    Parameters
    ----------
    model : {"cbow", "skipgram", "ssg", "cwindow", "cbow-attn"}
        Which model (docs/models.md).
    vector_size : int, default 100
        Dimensions of a vector.
    window : int, optional
        Context words on each side; 5, for cbow-attn 20.
    shrink_windows : bool, optional
        Draw each window's size uniformly from 1 to ``window``; true for cbow and skipgram, false
        for the models that know positions, and with ``parts``.
    negative : int, default 5
        Negatives per prediction; 0 for no negative sampling, with ``hs`` only.
    hs : bool, default False
        Hierarchical softmax, beside negative sampling unless ``negative`` is 0; not for ssg (docs/models.md).
    ns_exponent : float, default 0.75
        Negatives are drawn with probability proportional to count ** ns_exponent.
    sample : float, default 1e-3
        Words more frequent than this share of the text are sub-sampled; 0 keeps all.
    alpha : float, optional
        Learning rate at the start; 0.2 with the exact step of cbow_update, so for cbow and cbow-attn, 0.025
        for ssg, 0.05 for the others (docs/decisions/).
    min_alpha : float, default 1e-4
        Learning rate at the end; it falls linearly with the position in the text.
    epochs : int, default 5
        Passes over the text.
    workers : int, optional
        Threads; by default one per usable processor. One worker is reproducible bit for bit.
    replicas : int, optional
        Copies of the parameters, each trained by an equal part of the threads, that merge many times a run
        (docs/decisions/); by default one for 8 threads, fewer if the memory has no room for them. As many as
        ``workers``: reproducible bit for bit.
    merges : int, optional
        Merges of the replicas in a run; by default 200, for more than 4 of cbow-attn 600.
    merge_rate : float, optional
        By what several replicas multiply the learning rates; by default 1.5, and 2 where a replica trains at
        most 5,000 tokens between merges.
    merge_rule : {"saturating", "mean", "sum"}
        How replicas merge: what each has learnt of a row is summed if the row is rare and averaged if it is
        frequent; or one of both for all rows.
    seed : int, default 1
        Of initialisation, windows, sub-sampling and negatives.
    resamples : int, optional
        Train so many models, each on a bootstrap sample of the lines and with a seed of its own, and publish
        their mean, with what intervals of neighbours need (docs/how-to/how-sure-is-a-neighbour.md). By
        default one model of all lines.
    min_count : int, default 5
        Rarer words are dropped before windows are formed.
    max_final_vocab : int, optional
        Keep at most this many words, by raising ``min_count``.
    cbow_update : {"exact", "word2vec"}
        For cbow and cbow-attn: how far context rows move. ``exact`` is the gradient (Irsoy et al. 2021);
        ``word2vec`` is n times that, n the words in the window, as in word2vec.c and gensim, for whose
        learning rates it is the one to choose (docs/decisions/).
    cbow_mean : bool, default True
        For cbow: predict from the mean of the context words; else from their sum.
    parts : str, optional
        For cbow and cbow-attn: make each part of the vector of the words in a ring of places of its own, and
        with attention logits of its own. ``"near:2,far"``: half of the dimensions of the two nearest places
        on each side, half of all others; see ``wordvec_ca.vectors.parse_parts``. By default one part.
    attention : {"full", "position", "word"}
        For cbow-attn: logits of word and place (K and s), of the place alone (s), or one logit per
        word without place.
    attention_alpha : float, optional
        Learning rate of the attention logits at the start; by default that of the vectors.
    attention_warmup : float, default 0.1
        Share of the run in which the logits stay 0, that is, the model is plain CBOW. Without it
        attention can lock onto what is easy to learn first and never leave (docs/decisions/).
    attention_clip : float, default 10
        Logits are read as if within plus or minus this.
    negatives : {"exact", "shared"}, optional
        ``shared``, the default where there is a choice, that is, not for ssg and cwindow, lets predictions
        from places far apart in the text share a draw; ``exact`` draws for each prediction anew, which is
        slower and no better (docs/decisions/).
    shared_by : int, optional
        How many predictions share a draw; by default 4, for skipgram 16, and fewer on a short text: one for
        each 128,000 words. With more, training is hardly faster, and a little worse on small vocabularies.
    subwords : bool, default False
        Words are made of their n-grams as well: better vectors for rare words, and some for words that were
        never seen (docs/models.md).
    min_n, max_n : int, default 3 and 6
        Characters of an n-gram; ``<`` and ``>`` mark where a word begins and ends.
    buckets : int, optional
        As in fastText, n-grams share rows by their hash modulo so many; by default each has its own.
    ngram_min_count : int, default 5
        N-grams that occur less often in the text are left out, unless there are ``buckets``.
    backend : {"cython", "numba"}
        Which implementation of the training loop.
    tokenizer : {"words", "whitespace", "icu", "jieba"} or "module:function"
        How text is split (docs/tokenising.md).
    lowercase : bool, default True
        Fold case.
    field : str or tuple of str, optional
        The corpus is records (JSON lines, CSV, TSV, Parquet, Arrow, Python mappings), and these fields of
        each are the text (docs/corpora.md).
    encoding : str, optional
        Of text, JSON lines, CSV and TSV: any that Python knows; by default UTF-8.
    phrases : str, optional
        File of phrases that become one token each, as ``cawv phrases`` writes it.
    count_memory : int, optional
        MiB that words and counts may take while they are counted; beyond that they go to disk. By default a
        quarter of what is free, at most 1024.

    Raises
    ------
    ValueError
        If an option is outside its limits; the message names it, its limits and what was given.
    """

    model: str = "cbow"
    vector_size: int = 100
    window: int | None = None
    shrink_windows: bool | None = None
    negative: int = 5
    hs: bool = False
    ns_exponent: float = 0.75
    sample: float = 1e-3
    alpha: float | None = None
    min_alpha: float = 1e-4
    epochs: int = 5
    workers: int | None = None
    replicas: int | None = None
    merges: int | None = None
    merge_rate: float | None = None
    merge_rule: str = "saturating"
    seed: int = 1
    resamples: int | None = None
    min_count: int = 5
    max_final_vocab: int | None = None
    cbow_update: str = "exact"
    cbow_mean: bool = True
    parts: str | None = None
    attention: str = "full"
    attention_alpha: float | None = None
    attention_warmup: float = 0.1
    attention_clip: float = 10.0
    negatives: str | None = None
    shared_by: int | None = None
    subwords: bool = False
    min_n: int = 3
    max_n: int = 6
    buckets: int | None = None
    ngram_min_count: int = 5
    backend: str = "cython"
    tokenizer: str = "words"
    lowercase: bool = True
    field: str | tuple[str, ...] | None = None
    encoding: str | None = None
    phrases: str | None = None
    count_memory: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", MODEL_ALIASES.get(self.model, self.model))
        self._one_of("model", MODELS)
        self._within("vector_size", 1, 100_000, whole=True)
        self._within("window", 1, 10_000, whole=True)
        self._one_of("hs", (False, True))
        self._within(
            "negative", 0 if self.hs else 1, 1_000, whole=True, why="0 with hs, hierarchical softmax, only"
        )
        self._within("ns_exponent", -10, 10)
        self._within("sample", 0, 1)
        self._within("alpha", 0, 100)
        self._within("min_alpha", 0, 100)
        self._within("epochs", 1, 1_000_000, whole=True)
        cpus = os.cpu_count() or 1
        self._within(
            "workers", 1, MAX_WORKERS_PER_CPU * cpus, whole=True, why=f"this machine has {cpus} processors"
        )
        self._within("replicas", 1, MAX_REPLICAS, whole=True)
        self._within("merges", 1, 1_000_000, whole=True)
        self._within("merge_rate", 0.01, 100)
        self._one_of("merge_rule", MERGE_RULES)
        self._within("seed", 0, 2**63 - 1, whole=True)
        self._within("resamples", 2, MAX_RESAMPLES, whole=True)
        self._within("min_count", 1, 2**53, whole=True)
        self._within("max_final_vocab", 1, 2**31 - 1, whole=True)
        self._one_of("cbow_update", CBOW_UPDATES)
        self._one_of("cbow_mean", (False, True))
        if self.parts is not None:
            if not self.spec.averages:
                raise ValueError(
                    f"parts is {self.parts!r}, but only {' and '.join(models_with('averages'))} make vectors "
                    f"in parts, not {self.model}: leave it out"
                )
            self.rings()
        self._one_of("attention", ATTENTION_KINDS)
        self._within("attention_alpha", 0, 100)
        self._within("attention_warmup", 0, 1)
        self._within("attention_clip", 0.1, 80)
        self._one_of("negatives", NEGATIVES)
        self._within("shared_by", 1, MOST_SHARED, whole=True)
        self._one_of("subwords", (False, True))
        self._within("min_n", 1, 100, whole=True)
        self._within("max_n", 1, 100, whole=True)
        self._within("buckets", 1, 2**31 - 1, whole=True)
        self._within("ngram_min_count", 1, 2**53, whole=True)
        if self.hs and not self.spec.has_tree:
            raise ValueError(
                f"hs is True, but {self.model} has output rows for each place and would need as many trees: "
                f"take one of {', '.join(models_with('has_tree'))}, or negative sampling alone"
            )
        if not self.cbow_mean and not self.spec.sums:
            raise ValueError(
                f"cbow_mean is False; it is for {', '.join(models_with('sums'))}, not {self.model}"
            )
        if self.min_n > self.max_n:
            raise ValueError(f"min_n is {self.min_n}, above max_n, {self.max_n}: lower it or raise max_n")
        self._one_of("backend", BACKENDS)
        self._within("count_memory", 1, 1 << 24, whole=True)
        self._one_of("lowercase", (False, True))
        self._one_of("shrink_windows", (False, True))
        if isinstance(self.field, list):  # as JSON has it
            object.__setattr__(self, "field", tuple(self.field))
        self.text_options()  # which checks tokenizer, field and encoding
        if (self.shared_by or 1) > 1 and self._negatives() == "exact":
            raise ValueError(
                f"shared_by is {self.shared_by}, but each prediction of this {self.model} has its own "
                f"negatives: leave it out, or take one of {', '.join(models_with('shared_by'))} with "
                "negatives 'shared'"
            )
        if self.shared_by == 1 and self._negatives() == "shared":
            raise ValueError(f"shared_by is 1; it must be 2 to {MOST_SHARED}, or negatives 'exact'")
        if self.alpha is not None and self.min_alpha > self.alpha > 0:
            raise ValueError(
                f"min_alpha is {self.min_alpha:g}, above alpha, {self.alpha:g}: lower it or raise alpha"
            )

    def _one_of(self, name: str, allowed: tuple[object, ...]) -> None:
        value = getattr(self, name)
        if value is None and TrainConfig.__dataclass_fields__[name].default is None:
            return
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(str, allowed))}")

    def _within(self, name: str, low: float, high: float, *, whole: bool = False, why: str = "") -> None:
        value = getattr(self, name)
        if value is None and TrainConfig.__dataclass_fields__[name].default is None:
            return
        kind = "a whole number" if whole else "a number"
        fits = not isinstance(value, bool) and isinstance(value, Integral if whole else Real)
        if not fits or not low <= value <= high:
            reason = f" ({why})" if why else ""
            raise ValueError(f"{name} is {value!r}; it must be {kind} from {low:g} to {high:g}{reason}")
        # numpy's numbers are as good, but JSON has no place for them
        object.__setattr__(self, name, int(value) if isinstance(value, Integral) else float(value))

    @property
    def spec(self) -> ModelSpec:
        """What the model is."""
        return spec_of(self.model)

    def resolved(self) -> TrainConfig:
        """Return the same configuration with every default that depends on something filled in."""
        spec = self.spec
        alpha = spec.default_alpha(self.cbow_update) if self.alpha is None else self.alpha
        return dataclasses.replace(
            self,
            window=self.window or spec.window,
            shrink_windows=self._shrinks() if self.shrink_windows is None else self.shrink_windows,
            parts=None if self.parts is None else written_parts(self.rings()),
            alpha=alpha,
            workers=self.workers or usable_cpus(),
            attention_alpha=alpha if self.attention_alpha is None else self.attention_alpha,
            negatives=self._negatives(),
        )

    def rings(self) -> tuple[Part, ...]:
        """Return the parts of the vector and their places; one without a name if there are no ``parts``."""
        return parse_parts(self.parts, self.window or self.spec.window, self.vector_size)

    def _shrinks(self) -> bool:
        return not self.spec.knows_places and self.parts is None

    def text_options(self) -> TextOptions:
        """Return how a text is read."""
        names = [field.name for field in dataclasses.fields(TextOptions)]
        return TextOptions(**{name: getattr(self, name) for name in names if hasattr(self, name)})

    def sharing(self) -> int:
        """Return how many predictions share a draw of negatives, if the text is long enough for it."""
        alone = self._negatives() == "exact" or (self.spec.pairwise and not self.negative)
        return 1 if alone else self.shared_by or self.spec.shared_by or 1

    def contexts(self) -> int:
        """Return the context words of a target, on average, in the middle of a line."""
        config = self.resolved()
        assert config.window is not None
        return config.window + 1 if config.shrink_windows else 2 * config.window

    def doubt(self) -> str | None:
        """Return a warning for who brings a rate that is usual for the larger step of word2vec, else None."""
        exact = self.spec.averages and self.cbow_update == "exact"
        if not (exact and self.contexts() > 3 and 0 < (self.alpha or 0) <= 0.05):
            return None
        return (
            f"alpha is {self.alpha:g}: that is a rate for word2vec's step; the exact step of {self.model} is "
            "as many times smaller as the window has words, and wants about 0.2. Leave --alpha out, or add "
            "--cbow-update word2vec"
        )

    def _negatives(self) -> str:
        if self.spec.shared_by is None:
            return "exact"
        return self.negatives or "shared"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that JSON can hold."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TrainConfig:
        """Make a configuration from ``as_dict``'s result.

        More workers than this machine allows are as many as it allows: a model may come from a larger one.

        Raises
        ------
        ValueError
            If there is a field that this version does not know.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown:
            raise ValueError(
                f"unknown options {', '.join(unknown)}; this version knows {', '.join(sorted(known))}"
            )
        workers, most = fields.get("workers"), MAX_WORKERS_PER_CPU * (os.cpu_count() or 1)
        if isinstance(workers, int) and workers > most:
            fields = {**fields, "workers": most}
        return cls(**fields)


def check_type(config: object) -> None:
    """Raise a TypeError if this is no ``TrainConfig``: a dictionary, most likely."""
    if not isinstance(config, TrainConfig):
        raise TypeError(f"config is {config!r}; give a TrainConfig, as TrainConfig(epochs=3)")
