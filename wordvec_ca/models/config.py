"""Checks the options of a run, and fills in every default."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import TextOptions
from wordvec_ca.errors import Option, OptionError, OptionWarning
from wordvec_ca.files import html_table
from wordvec_ca.machine import usable_cpus
from wordvec_ca.specs.models import MODEL_ALIASES, ModelSpec, VectorForm, models_with, spec_of
from wordvec_ca.specs.options import (
    MET_EACH_SIDE,
    MOST_SHARED,
    OPTIONS,
    PRESETS,
    TrainFields,
    check_together,
    options_set,
    with_parameters,
)


@dataclass(frozen=True, kw_only=True)
class TrainConfig(TrainFields):
    """The options of a run. Names and defaults are gensim's if gensim has the option.

    ``None`` means a default that depends on the model or the machine; in a `ResolvedConfig`, which is what a
    run records, every default is filled in.

    Raises
    ------
    OptionError
        An option is outside its limits. This is a ValueError; the message names the option, its limits and
        the given value.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", MODEL_ALIASES.get(self.model, self.model))
        super().__post_init__()
        if isinstance(self.field, list):  # JSON has no tuples
            object.__setattr__(self, "field", tuple(self.field))
        self.text_options()  # this checks tokenizer, field and encoding
        if self.min_count < 1:
            raise OptionError(Option("min_count"), f" is {self.min_count}; it must be 1 or more")
        if not self.negative and not self.hs:
            raise OptionError(
                Option("negative"),
                " is 0; it must be 1 or more unless there is hierarchical softmax, ",
                Option("hs"),
            )
        of_some_models = {"hs", "cbow_mean", "dbow_words", "dm_tag_count", "tag_field", "resamples"}
        given = options_set(self)
        for name in sorted(of_some_models & given):
            OPTIONS[name].check_model(self.model)
        if not self.negative and self.vectors not in (None, "input"):
            raise OptionError(
                Option("vectors"),
                f" is {self.vectors!r}; with ",
                Option("negative", 0),
                " there are no output rows of words: leave it out, or take ",
                Option("vectors", "input"),
            )
        if self.vectors == "fitted" and (self.subwords or self.resamples is not None):
            raise OptionError(
                Option("vectors"),
                " is 'fitted', which fits n-grams to one model without them: leave it out with ",
                Option("subwords"),
                " and ",
                Option("resamples"),
            )
        if self.window == "all" and (self.spec.knows_places or self.spec.documents):
            raise OptionError(
                Option("window"),
                " is 'all': lines have no order then, so it is for cbow and skipgram; give a number, or "
                "another model",
            )
        check_together(given, asked=("group_by",))
        if self.group_by is not None and self.order_by is not None and self.tokenizer != "whitespace":
            raise OptionError(
                Option("order_by"),
                f" makes sessions of items, whose names are not split into words; the tokenizer is "
                f"{self.tokenizer!r}: give ",
                Option("tokenizer", "whitespace"),
                ", as the defaults for items do",
            )
        if self.min_n > self.max_n:
            raise _above("min_n", self.min_n, "max_n", self.max_n)
        if (self.shared_by or 1) > 1 and self._negatives() == "exact":
            raise OptionError(
                Option("shared_by"),
                f" is {self.shared_by}, but each prediction of this {self.model} has its own "
                f"negatives: leave it out, or take one of {', '.join(models_with('shared_by'))} with ",
                Option("negatives", "shared"),
            )
        if self.shared_by == 1 and self._negatives() == "shared":
            raise OptionError(
                Option("shared_by"),
                f" is 1; it must be 2 to {MOST_SHARED}, or ",
                Option("negatives", "exact"),
            )
        if self.alpha is not None and self.min_alpha > self.alpha > 0:
            raise _above("min_alpha", self.min_alpha, "alpha", self.alpha)

    @classmethod
    def for_items(cls, **options: Any) -> Self:
        """Return the configuration of ``cawv train --for items``, changed by the given options."""
        return cls(**{**PRESETS["items"], **options})

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: options that differ from the defaults of the model."""
        default = TrainConfig(model=self.model)
        rows: list[tuple[str, object]] = [("model", self.model)]
        rows += [
            (field.name, value)
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != getattr(default, field.name)
        ]
        return html_table("TrainConfig; all other options have their defaults", ("option", "value"), rows)

    @property
    def spec(self) -> ModelSpec:
        """Specification of the model."""
        return spec_of(self.model)

    @property
    def reach(self) -> int:
        """Number of context words on each side. If ``window`` is all, they are those of a line in random
        order.
        """
        return MET_EACH_SIDE if self.window == "all" else self.window or self.spec.window

    @property
    def learns_words(self) -> bool:
        """Whether vectors of words are trained. They are not if only documents predict words."""
        return not self.spec.pairs_documents or self.dbow_words

    def widths(self) -> int:
        """Return how many times longer than an input row an output row is."""
        return self.spec.widths(self.reach, self.dm_tag_count)

    def text_options(self) -> TextOptions:
        """Return the options of reading the text."""
        names = {field.name for field in dataclasses.fields(TextOptions)} & set(OPTIONS)
        given = {name: getattr(self, name) for name in names}
        return TextOptions(documents=self.spec.documents, **given)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict for JSON, in the order of the help."""
        return {name: getattr(self, name) for name in OPTIONS if name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Make a configuration from ``as_dict``'s result.

        The number of workers is limited to what this machine allows, since the model may come from a larger
        one.

        Raises
        ------
        ValueError
            A field that has a value is unknown to this version.
        """
        known = cls.__dataclass_fields__
        # an option that only another version has, and that was not set, did nothing in the run
        fields = {name: value for name, value in fields.items() if name in known or value is not None}
        if unknown := sorted(set(fields) - set(known)):
            raise ValueError(
                f"unknown options {', '.join(unknown)}; this version knows {', '.join(sorted(known))}"
            )
        workers, limits = fields.get("workers"), OPTIONS["workers"].limits
        if isinstance(workers, int) and limits and workers > limits[1]:
            fields = {**fields, "workers": limits[1]}
        return cls(**fields)

    def _negatives(self) -> str:
        return "exact" if self.spec.shared_by is None else self.negatives or "shared"


# Largest number of rows whose sum is trained at the rate of one: with 21 rows, twice this rate diverges,
# which replicas have on short texts.
SUMMED_ROWS = 12


@dataclass(frozen=True, kw_only=True)
class ResolvedConfig(TrainConfig):
    """A configuration in which every default that depends on the model or the machine is filled in.

    Made by ``of``. On a cluster ``workers`` is None if each node has as many threads as processors.
    """

    window: int | Literal["all"]
    shrink_windows: bool
    alpha: float
    attention_alpha: float
    negatives: Literal["exact", "shared"]
    vectors: VectorForm

    @classmethod
    def of(cls, config: TrainConfig, *, on_cluster: bool = False) -> ResolvedConfig:
        """Return a configuration with its defaults filled in; on a cluster each node fills in ``workers``."""
        if isinstance(config, ResolvedConfig):
            return config
        given = {name: value for name, value in config.as_dict().items() if value is not None}
        alpha = config.spec.default_alpha(config.cbow_update, config.cbow_mean)
        usual = {
            "window": config.spec.window,
            "shrink_windows": not config.spec.knows_places and config.window != "all",
            "alpha": alpha,
            "attention_alpha": given.get("alpha", alpha),
            "workers": None if on_cluster else usable_cpus(),
            # With n-grams, both has not been measured enough to be a default: see decision 025.
            "vectors": "input" if config.subwords or config.spec.documents or not config.negative else "both",
        }
        resolved = cls(**{**usual, **given, "negatives": config._negatives()})
        if config.cbow_mean or config.alpha is not None:
            return resolved
        # The step of a sum of n rows is n times one row's: at word2vec's rate, 100 rows diverge.
        rows = (
            SUMMED_ROWS / 4 if config.subwords else SUMMED_ROWS
        )  # with n-grams, 6 rows diverge in one thread
        return dataclasses.replace(resolved, alpha=alpha * min(1.0, rows / resolved.contexts()))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Do the same as in `TrainConfig`; a record without an option that decided what was trained is
        refused.
        """
        # Only the fields above: their defaults depend on the model or on other options, so another version
        # may fill in another value. An option without which a run was made is at its default in that run.
        if missing := sorted(set(ResolvedConfig.__annotations__) - set(fields)):
            raise ValueError(f"the record has no {', '.join(missing)}: another version wrote it")
        return super().from_dict(fields)

    @property
    def threads(self) -> int:
        """Number of threads that train on this machine."""
        return self.workers or usable_cpus()

    def sharing(self) -> int:
        """Return how many predictions share a draw of negatives, provided that the text is long enough."""
        alone = self.negatives == "exact" or (self.spec.pairwise and not self.negative)
        return 1 if alone else self.shared_by or self.spec.shared_by or 1

    def contexts(self) -> int:
        """Return the mean number of context words of a target in the middle of a line."""
        return self.reach + 1 if self.shrink_windows else 2 * self.reach

    def alpha_warning(self) -> OptionWarning | None:
        """Return a warning if the learning rate is one that suits word2vec's larger step, else None."""
        exact = self.spec.averages and self.cbow_update == "exact" and self.cbow_mean
        if not (exact and self.contexts() > 3 and 0 < self.alpha <= 0.05):
            return None
        return OptionWarning(
            Option("alpha"),
            f" is {self.alpha:g}: that is a rate for word2vec's step; the exact step of {self.model} is as "
            "many times smaller as the window has words, and needs about 0.2. Leave it out, or add ",
            Option("cbow_update", "word2vec"),
        )

    def typed(self, *, also: Collection[str] = ()) -> dict[str, Any]:
        """Return the options that produce this configuration: model, workers and options with other values
        than their defaults.
        """
        usual = ResolvedConfig.of(TrainConfig(model=self.model))
        return {
            name: value
            for name, value in self.as_dict().items()
            if value is not None
            and self.model in OPTIONS[name].models
            and (name in ("model", "workers", *also) or value != getattr(usual, name))
        }


def _above(low: str, least: float, high: str, most: float) -> OptionError:
    return OptionError(
        Option(low), f" is {least:g}, above ", Option(high), f", {most:g}: lower it or raise ", Option(high)
    )


def check_type(config: object) -> None:
    """Raise a TypeError if this is not a ``TrainConfig`` (but, most likely, a dictionary)."""
    if not isinstance(config, TrainConfig):
        raise TypeError(f"config is {config!r}; give a TrainConfig, as TrainConfig(epochs=3)")


TrainConfig.__doc__ = with_parameters(TrainConfig)


def keep_probabilities(counts: NDArray[Any], sample: float, total: int | None = None) -> NDArray[np.float64]:
    """Return the probability with which sub-sampling keeps a token of each word."""
    # sqrt(t / f) + t / f with the share f of the word in the text and t = ``sample``, as in word2vec.c and
    # gensim (Mikolov et al. 2013, section 2.3, print another formula). This is the only place of it.
    if sample <= 0:
        return np.ones(len(counts))
    ratio = (
        sample * (counts.sum() if total is None else total) / np.maximum(counts, 1)
    )  # of a word given by hand, 0
    kept: NDArray[np.float64] = np.minimum(np.sqrt(ratio) + ratio, 1.0)
    return kept
