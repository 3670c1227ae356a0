"""The options of training, in one table.

These fields determine the options of ``cawv train`` with their help, the limits and the documentation of
``TrainConfig`` and ``TextOptions``, the settings of a run, and what may change when a run is resumed, trained
further or put on a cluster. To add an option, add a field here; CONTRIBUTING.md has an example. In help,
``{name}`` is the option of that name, spelled as the reader types it.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, get_args, get_origin, get_type_hints

from wordvec_ca.errors import Option, OptionError, known_names
from wordvec_ca.specs.models import (
    MODELS,
    AttentionKind,
    ModelName,
    VectorForm,
    defaults_by_model,
    models_with,
)

# Largest number of predictions that may share a draw; a larger number is probably a typing error.
MOST_SHARED = 64

# Largest number of threads per processor; a larger number is probably a typing error.
MAX_WORKERS_PER_CPU = 32

# Number of items on each side of an item if ``window`` is all.
MET_EACH_SIDE = 5

# Default model for items. It predicts each item from every other one, which suits short sequences.
FOR_ITEMS: ModelName = "skipgram"

# Default options for items, chosen on one made-up shop and tested on another (docs/evidence, made-up-shop).
PRESETS: dict[str, dict[str, Any]] = {
    "items": {
        "model": FOR_ITEMS,
        "tokenizer": "whitespace",
        "lowercase": False,
        "min_count": 2,
        "sample": 0.0,
        "ns_exponent": 0.0,
        "shrink_windows": False,
        "alpha": 0.1,
        "epochs": 30,
        "order_by": "as-read",
    }
}

N_CPUS = os.cpu_count() or 1

INHERITED: Any = object()


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """An option of training."""

    # Heading under which the help of ``cawv train`` lists the option.
    group: str
    # None if the default depends on other settings; ``usual`` describes it.
    default: Any
    # Description of the option.
    help: str
    # Additional text in the Python documentation.
    more: str = ""
    # Description of the default None.
    usual: str = "none"
    # name, kind: Name and type of the field, the type without ``| None``.
    name: str = ""
    kind: str = ""
    # Further flags besides ``--name``.
    flags: tuple[str, ...] = ()
    # The flag that switches the option off, if it is not ``--no-name``.
    off: str = ""
    # The least and the largest value.
    limits: tuple[float, float] | None = None
    # The allowed values, for options whose values are words.
    choices: tuple[str, ...] = ()
    # The reason for the limits.
    why: str = ""
    # What the help shows in place of a value.
    metavar: str | None = None
    # Attribute of ``ModelSpec`` that is true for models with this option; None if all have it.
    trait: str | None = None
    # Other options; without one of them, this one has no effect.
    needs: tuple[str, ...] = ()
    # Options that cannot be given with this one, in either order.
    excludes: tuple[str, ...] = ()
    # The reason for ``excludes``, if the names do not tell it.
    because: str = ""
    # Whether the settings of a run contain the option, because it affects the run itself and not only the
    # use of the result.
    kept: bool = True
    # When a run is resumed, the option must be the same; may change; may change, but not on a cluster; or
    # cannot be given.
    resume: Literal["same", "change", "change alone", "no"] = "same"
    # Whether runs on a cluster have the option.
    on_cluster: bool = True
    # Value when a model is trained further, unless the user gives one; by default the old value.
    continued: Any = INHERITED
    # Options whose change, when a model is trained further, resets this option to its default.
    renewed_by: tuple[str, ...] = ()
    # Whether the option determines the shape or meaning of the parameters, so that it cannot change when a
    # model is trained further: in all models that have it, in models with places, or in models with
    # n-grams.
    shapes: Literal["", "always", "places", "n-grams"] = ""

    @property
    def is_flag(self) -> bool:
        """Whether the option is off by default and has no flag that switches it off."""
        return self.usual == "off"

    @property
    def switch(self) -> tuple[str, str]:
        """The flags that set the option and that switch it off."""
        on, off = switch_of(self.name)
        return on, self.off or off

    @property
    def names_file(self) -> bool:
        """Whether the value is the name of a file or folder, which settings store as an absolute path."""
        return self.metavar in ("FILE", "DIR", "MODEL")

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have the option."""
        return MODELS if self.trait is None else models_with(self.trait)

    def checked(self, value: Any) -> Any:
        """Return a value after checking its limits; NumPy's numbers become Python's, which JSON can store."""
        if (value is None and self.default is None) or (self.limits and value in self.choices):
            return value
        allowed = (False, True) if self.kind == "bool" else self.choices
        if allowed and not self.limits and value not in allowed:
            raise OptionError(
                Option(self.name), f" is {value!r}; it must be one of {known_names(value, allowed)}"
            )
        if self.limits is None:
            return value
        (low, high), whole = self.limits, self.kind == "int"
        fits = not isinstance(value, bool) and isinstance(value, Integral if whole else Real)
        if not fits or not low <= value <= high:
            wanted = f"a {'whole ' * whole}number from {low:,} to {high:,}" + self.why
            wanted += "".join(f", or {word}" for word in self.choices)
            raise OptionError(Option(self.name), f" is {value!r}; it must be {wanted}")
        return int(value) if isinstance(value, Integral) else float(value)

    def check_model(self, model: str) -> None:
        """Raise an OptionError if a model does not have the option."""
        if model not in self.models:
            text = f" is for {', '.join(self.models)}, not for {model}: leave it out"
            raise OptionError(Option(self.name), text)

    def documented(self) -> str:
        """Return the numpydoc entry of the option for a docstring."""
        words = "{" + ", ".join(map(repr, self.choices)) + "}"
        kind = words if self.choices and not self.limits else self.kind
        if self.limits:
            kind += ", {:,} to {:,}".format(*self.limits) + f", or {words}" * bool(self.choices)
        head = f"{self.name} : {kind}" + (
            ", optional" if self.default is None else f", default {self.default!r}"
        )
        usual = "" if self.default is not None else f" By default {self.usual}."
        text = _spelled(self.help + usual + self.more, lambda name: f"``{name}``")
        return "\n    ".join([head, *textwrap.wrap(text, 104)])

    def help_text(self) -> str:
        """Return the option's help on the command line."""
        default = f"  [default: {self.usual}]" if self.default is None or self.is_flag else ""
        return _spelled(self.help + default, lambda name: spelled_as_flag(Option(name)))


# Flags of the options for reading and writing vectors that only one command has.
OF_EXPORT = {"duplicates": "--keep-first", "errors": "--errors {}", "unwritable": "--skip-unwritable"}


def spelled_as_flag(option: Option) -> str:
    """Return an option as users type it: --alpha, --alpha 0.2, --hs, --no-hs."""
    name, value = option
    if name in OF_EXPORT:
        return "cawv export " + OF_EXPORT[name].format(value)
    on, off = OPTIONS[name].switch if name in OPTIONS else switch_of(name)
    if value is None or isinstance(value, bool):
        return off if value is False else on
    return f"{on} {value}"


def switch_of(name: str) -> tuple[str, str]:
    """Return the flags that set an option and that switch it off."""
    return "--" + name.replace("_", "-"), "--no-" + name.replace("_", "-")


def _spelled(text: str, spell: Any) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: spell(found[1]), text)


def option(group: str, default: Any, help: str, more: str = "", **facts: Any) -> Any:  # noqa: A002
    """Return a dataclass field for an option; the arguments are attributes of `OptionSpec`."""
    spec = OptionSpec(group=group, default=default, help=help, more=more and " " + more, **facts)
    return field(default=default, metadata={"spec": spec})


# The headings of the help, in their order.
GROUPS = (
    "Options that everyone needs",
    "Text and words",
    "Learning",
    "Attention, for --model cbow-attn",
    "N-grams: vectors for rare and unknown words",
    "Many cores: replicas of the parameters",
    "Long runs, and training further",
    "Many machines",
    "Settings, progress and planning",
)

# fmt: off
_usual, _text, _learning, _attention, _ngrams, _cores, _long, _cluster, _progress = (
    partial(option, group) for group in GROUPS
)


class Options:
    """Base class of options; checks that they are within their limits."""

    def __post_init__(self) -> None:
        """Check the limits of each option."""
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]
            if name in OPTIONS:
                object.__setattr__(self, name, OPTIONS[name].checked(getattr(self, name)))


@dataclass(frozen=True, kw_only=True)
class TextFields(Options):
    """Options of reading a text."""

    min_count: int = _usual(5, "Drop rarer words.", "They go before windows are formed.", limits=(0, 2**53))
    tokenizer: str = _text("words",
        "Split words, numbers and punctuation; at white space only; or where a segmenter says.",
        "Token lists are not split.",
        metavar="words|whitespace|icu|jieba|MODULE:FUNCTION", shapes="always")
    lowercase: bool = _text(True, "Map text to lower case.", "Token lists are not.", shapes="always")
    normalize: Literal["none", "nfc", "nfkc"] = _text("none",
        "Bring text into Unicode's normal form NFC, é as one character, not e and an accent, or NFKC, which "
        "also writes ligatures and wide letters as usual.",
        "Otherwise the spellings are different words.")
    field: str | tuple[str, ...] | None = _text(None,
        "The text is records (JSON lines, CSV, TSV, Parquet, Arrow); read this field of each; a.b is the "
        "field b of an object a.  May be given several times.",
        "Python mappings are records, too.", usual="plain text", metavar="NAME",
        continued=None)
    encoding: str | None = _text(None, "Of the text: cp1252, gb18030, utf-16 ...", usual="UTF-8",
        metavar="NAME")
    max_final_vocab: int | None = _text(None, "Keep at most this many words.", "This raises {min_count}.",
        usual="no limit", limits=(1, 2**31 - 1))
    count_memory: int | None = _text(None, "Words and counts that take more memory go to disk.",
        "The result does not change.", usual="1/4 of free memory, at most 1024", limits=(1, 1 << 24),
        metavar="MIB", resume="change alone", continued=None)


@dataclass(frozen=True, kw_only=True)
class TrainFields(TextFields):
    """Options of the model and of its training."""

    model: ModelName = _usual("cbow", "Which model.",  # noqa: RUF009
        choices=MODELS, shapes="always")
    vector_size: int = _usual(100, "Dimensions of a vector.", flags=("--size", "--dim", "-d"),
        limits=(1, 100_000), shapes="always")
    window: int | Literal["all"] | None = _usual(None,
        "Context words on each side; or all: lines are baskets, and each pair of a basket counts once.",
        f"In longer baskets each item is paired with at most {2 * MET_EACH_SIDE} random others.",
        flags=("-w",), usual=defaults_by_model(lambda spec: spec.window), limits=(1, 10_000),
        shapes="places", metavar="N|all")
    epochs: int = _usual(5, "Passes over the text.", flags=("--iter",), limits=(1, 1_000_000))
    workers: int | None = _usual(None, "Threads; 1 is reproducible bit for bit.", flags=("--threads",),
        usual="one per processor", limits=(1, MAX_WORKERS_PER_CPU * N_CPUS),
        why=f" (this machine has {N_CPUS} processors)", resume="change alone", continued=None)
    seed: int = _usual(1, "Seed for all random choices.",
        "Of initialisation, windows, sub-sampling and negatives.", limits=(0, 2**63 - 1))
    resamples: int | None = _usual(None,
        "Train this many models, each on lines (or, with {group_by}, documents) sampled from the corpus, and "
        "publish their mean: nn, analogy, attention, eval and compare then show how sure they are; 10 is "
        "a good choice.",
        "Each has a seed of its own.", usual="one model",
        limits=(2, 999), metavar="K", on_cluster=False, continued=None, trait="has_lines",
        excludes=("continue_from", "init_vectors"),
        because="models that begin with the same vectors have too much in common for intervals")
    group_by: str | None = _text(None,
        "Items: the field of a log (with {field}, the item's) that names the session or basket of an event. "
        "With {resamples}, sample whole documents, not lines. What a document is: blank-lines between "
        "documents, files, lines:N, or the name of a field of records (with {field}) that is the same for "
        "all of one.",
        "In Python the corpus may also be ``Documents``.", usual="each line", metavar="WAY",
        on_cluster=False, continued=None, needs=("resamples", "order_by"), excludes=("no_cache",),
        because="where documents begin is stored with the encoded text")
    order_by: str | None = _text(None,
        "Items: the field with the time of an event (a number or a date), by which those of a session "
        "({group_by}) are sorted; or as-read.", usual="no sessions", metavar="NAME", needs=("group_by",),
        on_cluster=False)
    test_last: str | None = _text(None,
        "Items: hold out the sessions that end in the last 1d (s, m, h, d, w) of the log, or the latest 10%, "
        "and evaluate on them after training.", usual="train on all", metavar="TIME|SHARE",
        needs=("group_by",), on_cluster=False, continued=None)
    vectors: VectorForm | None = _usual(None,  # noqa: RUF009
        "Publish input rows, output rows less their mean, principal components of both, or these with "
        "n-grams that are fitted to them; cawv publish changes it later.",
        usual="both; input with {subwords}, with {negative} 0 and for documents",
        resume="change alone")
    tag_field: str | None = _text(None,
        "pv-…: the field of a record that holds the tag of its document, or a list of tags.",
        "Tags are strings or whole numbers; several documents may share one.",
        usual="the number of the document", metavar="NAME", trait="documents", continued=None)
    phrases: str | None = _text(None, "Join these, from cawv phrases: new_york.", metavar="FILE")
    alpha: float | None = _learning(None, "Learning rate at the start.",
        "The exact step of {cbow_update} has a higher one.", flags=("--lr",),
        usual=f"{defaults_by_model(lambda spec: spec.default_alpha('exact'))}; with {{cbow_update}} word2vec "
        f"or a sum of rows {defaults_by_model(lambda spec: spec.alpha if spec.averages else None)}, less "
        "for a sum of more than 12, with {subwords} 3",
        limits=(0, 100), resume="change alone", renewed_by=("cbow_update", "cbow_mean"))
    min_alpha: float = _learning(1e-4, "Learning rate at the end.",
        "It falls linearly with the position in the text.", limits=(0, 100), resume="change alone")
    sample: float = _learning(1e-3,
        "Sub-sample words that make up more than this share of the text; 0: none.", limits=(0, 1))
    negative: int = _learning(5, "Negatives per prediction; 0, none, with {hs}.", limits=(0, 1_000))
    hs: bool = _learning(False,
        "Hierarchical softmax, in addition to negative sampling unless {negative} is 0; not for ssg.",
        trait="has_tree")
    negatives: Literal["exact", "shared"] | None = _learning(None,
        "Own negatives for each prediction, or some shared by predictions from far apart.",
        "Own ones are slower and no better.",
        usual=defaults_by_model(lambda spec: "shared" if spec.shared_by else "exact"),
        trait="shared_by")
    shared_by: int | None = _learning(None, "Predictions that share negatives.",
        "With more, training is hardly faster, and a little worse on small vocabularies.",
        usual=f"{defaults_by_model(lambda spec: spec.shared_by)}; at most one for each 128,000 words",
        limits=(1, MOST_SHARED), trait="shared_by", renewed_by=("model", "negatives"))
    ns_exponent: float = _learning(0.75, "Negatives are drawn in proportion to count ** this.",
        limits=(-10, 10))
    shrink_windows: bool | None = _learning(None,
        "Draw each window's size from 1 to {window}.",
        usual=defaults_by_model(lambda spec: "no" if spec.knows_places else "yes"))
    cbow_update: Literal["exact", "word2vec"] = _learning("exact",
        "cbow, cbow-attn: move context rows by their gradient, or by n times that, as gensim does.",
        "n is the number of words in the window; ``word2vec`` is the one to choose with the learning rates "
        "of word2vec.c and gensim (Irsoy et al. 2021).",
        trait="averages")
    cbow_mean: bool = _learning(True, "cbow: predict from the mean of the context words, or from their sum.",
        off="--cbow-sum", trait="sums")
    dbow_words: bool = _learning(False, "pv-dbow: train the vectors of words too, as skipgram does.",
        trait="pairs_documents")
    dm_tag_count: int = _learning(1, "pv-dm-concat: tags of a document that are put beside the words.",
        limits=(1, 1_000), trait="joins_documents", shapes="always")
    backend: Literal["cython", "numba"] = _learning("cython", "Implementation of the training loop.",
        on_cluster=False)
    attention: AttentionKind = _attention("full",  # noqa: RUF009
        "cbow-attn: logits by word and place, by place, or by word.", trait="attends", shapes="always")
    attention_alpha: float | None = _attention(None, "cbow-attn: learning rate of the logits.",
        usual="as {alpha}", limits=(0, 100), trait="attends", resume="change alone",
        renewed_by=("cbow_update", "cbow_mean"))
    attention_warmup: float = _attention(0.1, "cbow-attn: share of the run before the logits learn.",
        "Without it attention can lock onto what is easy to learn first and never leave.",
        limits=(0, 1), trait="attends", continued=0.0)
    attention_clip: float = _attention(10.0, "cbow-attn: read logits as if within +- this.", limits=(0.1, 80),
        trait="attends")
    subwords: bool = _ngrams(False, "Make words of their n-grams too: for rare, unknown and misspelt words.",
        shapes="n-grams")
    min_n: int = _ngrams(3, "Characters of an n-gram, at least.", limits=(1, 100), shapes="n-grams",
        needs=("subwords",))
    max_n: int = _ngrams(6, "Characters of an n-gram, at most.",
        "``<`` and ``>`` mark where a word begins and ends.", limits=(1, 100), shapes="n-grams",
        needs=("subwords",))
    ngram_min_count: int = _ngrams(5, "Leave out rarer n-grams.", "With {buckets} all are there.",
        limits=(1, 2**53), needs=("subwords",))
    buckets: int | None = _ngrams(None, "N-grams share rows by hash, as in fastText (2000000).",
        usual="each has its own", limits=(1, 2**31 - 1), shapes="n-grams",
        needs=("subwords",))
    replicas: int | None = _cores(None,
        "Copies of the parameters, for equal parts of the threads, that merge many times a run. With one "
        "thread each, reproducible bit for bit.", usual="one for 8 threads, as memory allows",
        limits=(1, 1024))
    merges: int | None = _cores(None, "Merges of replicas in a run.",
        usual="200; 600 for more than 4 of cbow-attn", limits=(1, 1_000_000))
    merge_rate: float | None = _cores(None, "By what replicas multiply the learning rates.",
        usual="1.5, and 2 where a replica trains at most 5,000 tokens between merges", limits=(0.01, 100))
    merge_rule: Literal["saturating", "mean", "sum"] = _cores("saturating",
        "How replicas merge: rare rows by their sum and frequent ones by their mean, or all by one.")
    anchored: bool = _long(False,
        "{continue_from}: move the words of MODEL only by the share of their occurrences that are new, so "
        "that neighbours stay from day to day.",
        "The rows of a word go that part of the way from where they were to where training took them; words "
        "that the new text does not have stay. Not with {subwords}. It is an option of one run: who trains "
        "the new model further, gives it again; a resumed run keeps it.", needs=("continue_from",),
        excludes=("subwords",), because="rows of n-grams belong to many words, new and old",
        on_cluster=False, continued=False)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Further options of ``cawv train``: output files, the start of a run, and its display."""

    output: str | None = _usual(None, "Model directory.", flags=("-o",),
        usual="CORPUS.MODEL in the working directory", metavar="DIR", kept=False, resume="change")
    overwrite: bool = _usual(False, "Replace the model directory if it exists.", usual="off", kept=False,
        resume="change")
    preset: Literal["items"] | None = _usual(None,
        "Other defaults, for sequences of items: "
        + " ".join(
            switch_of(name)[1] if value is False else f"{{{name}}} {value}"
            for name, value in PRESETS["items"].items()
        ) + ".",
        flags=("--for",), usual="those for text", kept=False, resume="no")
    read_vocab: str | None = _text(None, "Use these words; {min_count} filters them only if you pass it.",
        usual="count", metavar="FILE")
    save_vocab: str | None = _text(None, "Also write the vocabulary here.", usual="only in the model",
        metavar="FILE", kept=False, resume="change")
    valid: str | None = _text(None, "Held-out text: print its loss after each epoch.", metavar="FILE",
        trait="has_lines")
    checkpoint_every: str = _long("10m",
        "Write a checkpoint after this time (30s, 10m, 2h) or text (5M), or never.", metavar="TIME|TOKENS",
        resume="change alone")
    resume: str | None = _long(None,
        "Continue the run whose {output} was DIR, with its options; only progress options and "
        "{checkpoint_every} may change, and on a cluster also where it runs.", usual="begin a run",
        metavar="DIR", kept=False, resume="change")
    accept_changes: bool = _long(False,
        "{resume} although the corpus's files, the instruction set or the draws of negatives have changed.",
        usual="off", needs=("resume",), kept=False, resume="change alone")
    continue_from: str | None = _long(None,
        "Train this model, or fastText .bin, further: its options, words and parameters, and the new words "
        "of CORPUS.", usual="begin with random vectors", metavar="MODEL", resume="no", on_cluster=False,
        excludes=("init_vectors", "read_vocab"), because="that model has words and vectors")
    init_vectors: str | None = _long(None,
        "Begin with these vectors (any format that cawv reads) for the words that FILE has.", usual="random",
        metavar="FILE", resume="no", on_cluster=False, excludes=("subwords",),
        because="n-grams make the vectors of words; a fastText .bin or a model with n-grams can be continued")
    cache_dir: str | None = _long(None, "Where the encoded text goes.",
        usual="OUTPUT.run; if kept, OUTPUT.cache", metavar="DIR", resume="no", excludes=("no_cache",))
    keep_cache: bool = _long(False, "Keep the encoded text and use it again if nothing changed.", resume="no",
        on_cluster=False, excludes=("no_cache",))
    no_cache: bool = _long(False, "Store no encoded text: read the text again in every epoch.", usual="off",
        resume="no", on_cluster=False, trait="has_lines")
    cluster: str | None = _cluster(None,
        "Train on the nodes of a Ray cluster: some on this machine, the cluster that it belongs to, or that "
        "of this head.", usual="this machine alone", metavar="local|auto|HOST:PORT", resume="change")
    nodes: int = _cluster(2, "{cluster}: how many replicas of the parameters, and at most so many nodes.",
        limits=(1, 1024), needs=("cluster",), resume="no")
    checkpoint_dir: str | None = _cluster(None, "{cluster}: where checkpoints go, for all nodes to see.",
        usual="OUTPUT.run", metavar="DIR|URL", needs=("cluster",))
    storage_patience: str = _cluster("30m",
        "{cluster}: for how long the text and the checkpoints may be out of reach (90s, 30m, 2h) before the "
        "run ends; meanwhile it trains on what the nodes hold.", metavar="TIME", needs=("cluster",))
    config: str | None = _progress(None,
        "Take options, and CORPUS, from this file; a run leaves its own as run.toml in its model directory.",
        metavar="FILE", kept=False, resume="no")
    progress: Literal["auto", "bar", "lines", "none"] = _progress("auto",
        "How to show progress; auto: a bar on a terminal, else lines.", kept=False, resume="change")
    quiet: bool = _progress(False, "Print nothing but the name of the model directory.", flags=("-q",),
        usual="off", kept=False, resume="change")
    log_json: str | None = _progress(None, "Append a JSON record per second and epoch.", metavar="FILE",
        kept=False, resume="change")
    dry_run: bool = _progress(False, "Read the text, print what the run would need, and stop.", usual="off",
        kept=False, resume="no")

# fmt: on


def _facts_of(owner: type) -> Iterator[OptionSpec]:
    """Yield the options of a class, with the facts that follow from the types of its fields."""
    types = get_type_hints(owner)
    for one in fields(owner):  # type: ignore[arg-type]
        spec, kind = one.metadata["spec"], str(one.type).removesuffix(" | None")
        kind = kind.partition(" | Literal")[0]  # the option is a number or a word
        names = [
            name
            for part in (types[one.name], *get_args(types[one.name]))
            if get_origin(part) is Literal
            for name in get_args(part)
        ]
        choices = spec.choices or tuple(names)
        yield replace(
            spec, name=one.name, kind="str" if choices and not spec.limits else kind, choices=choices
        )


# All options by their names, in the order of the help.
OPTIONS: dict[str, OptionSpec] = {
    spec.name: spec
    for group in GROUPS
    for owner in (RunOptions, TrainFields)
    for spec in _facts_of(owner)
    if spec.group == group
}


def options_set(*owners: object) -> set[str]:
    """Return the names of the options that have other values than their defaults in some objects."""
    return {
        name
        for owner in owners
        for name, spec in OPTIONS.items()
        if (value := getattr(owner, name, None)) is not None
        # other values are texts in memory, whose comparison may be an array
        and (not isinstance(value, str | int | float | tuple) or value != spec.default)
    }


def check_together(given: Collection[str], *, asked: Collection[str] = ()) -> None:
    """Raise an OptionError if options that were given exclude each other, or if an option that was asked for
    lacks what it needs.
    """
    # What a preset or a variable of the environment sets for all runs may be idle in one, so it is not
    # asked for.
    for name in (name for name in OPTIONS if name in given):
        spec = OPTIONS[name]
        if "cluster" in given and not spec.on_cluster:
            raise OptionError(
                Option(name), " does not go with ", Option("cluster"), ": leave one of them out"
            )
        for other in spec.excludes:
            if other in given:
                because = f" ({spec.because})" if spec.because else ""
                end = f" exclude each other{because}: leave one of them out"
                raise OptionError(Option(name), " and ", Option(other), end)
        if name in asked and spec.needs and not set(spec.needs) & set(given):
            *others, last = (piece for other in spec.needs for piece in (" or ", Option(other)))
            raise OptionError(Option(name), " goes with ", *others[1:], last, ": give both, or neither")


def meant_option(name: str) -> str | None:
    """Return the parameter of training whose name, or flag, is most similar to ``name``."""
    names = {
        flag.lstrip("-").replace("-", "_"): spec.name for spec in OPTIONS.values() for flag in spec.flags
    }
    names |= {name: name for name in OPTIONS}
    close = difflib.get_close_matches(name, names, 1, cutoff=0.7)
    return names[close[0]] if close else None


def with_parameters(owner: Any) -> str:
    """Return the docstring of a class of options with a section on its parameters, before ``Raises``."""
    entries = [OPTIONS[name].documented() for name in owner.__dataclass_fields__ if name in OPTIONS]
    before, raises, after = inspect.cleandoc(owner.__doc__).partition("Raises\n")
    return f"{before}Parameters\n----------\n" + "\n".join(entries) + f"\n\n{raises}{after}"
