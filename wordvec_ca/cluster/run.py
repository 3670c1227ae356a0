"""Training on a cluster, from a text to a saved model: what a user calls."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from wordvec_ca.cluster.connection import check_cluster_address
from wordvec_ca.cluster.driver import Driver, FinishedRun
from wordvec_ca.cluster.lock import Lock, LockLost
from wordvec_ca.cluster.request import COUNTED, ClusterOptions, ClusterRequest, clear, parse_patience
from wordvec_ca.cluster.shards import shards_of
from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError, Option, OptionError, OutputExistsError
from wordvec_ca.files import Storage, absolute_name, check_output
from wordvec_ca.formats import MODEL_FILES
from wordvec_ca.models import Callback, ResolvedConfig, TrainConfig, check_type
from wordvec_ca.runs import run_folder
from wordvec_ca.showable import showable_name
from wordvec_ca.text import find_files
from wordvec_ca.training import DEFAULT_INTERVAL, Checkpoints, parse_interval


def train_on_cluster(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: TrainConfig | None = None,
    options: ClusterOptions | None = None,
    *,
    output: str | os.PathLike[str],
    overwrite: bool = False,
    callbacks: Sequence[Callback] = (),
    notice: Callable[[str], None] | None = None,
    valid: str | os.PathLike[str] | None = None,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    checkpoint_every: str = DEFAULT_INTERVAL,
    command: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> FinishedRun:
    """Train a model on the nodes of a Ray cluster.

    Parameters
    ----------
    corpus : path, URL, or list of them
        The text, as for ``encode_corpus``; every node must know the files by these names.
    config : TrainConfig, optional
        Options; ``workers`` are the threads of a replica, by default the processors of a node. With one each
        the result is reproducible bit for bit, whichever nodes there are and die.
    options : ClusterOptions, optional
        Which cluster, how many nodes, where checkpoints go; by default two nodes on this machine.
    output : path
        Directory on this machine to save the model to.
    overwrite : bool, default False
        Replace the output if it exists, and drop an unfinished run of that name.
    callbacks : sequence of callable
        Each receives a ``Progress`` about once a second; a true result ends the run.
    notice : callable, optional
        Receives a line about each node that comes, is slow or dies; by default a warning.
    valid : path or URL, optional
        Held-out text.
    vocab : Vocab or path, optional
        The words; by default they are counted.
    cache_dir : path, optional
        Directory for the encoded text on each node; by default the system's directory for temporary files.
    checkpoint_every : str, default "10m"
        As in ``train``.
    command, settings : str and mapping, optional
        The command that was typed and the settings that repeat it, for the record of the model.

    Returns
    -------
    FinishedRun

    Raises
    ------
    DataError
        The corpus cannot be used, there is no cluster, all nodes are lost, another driver works on the run,
        or training diverged.
    ValueError
        An option is outside its limits.
    OutputExistsError
        The output, or an unfinished run of that name, exists.

    Notes
    -----
    If Ray dies on this machine or stops answering, the process ends with exit code 1 and a message, since
    Ray's calls cannot be interrupted. ``resume_on_cluster`` continues from the last checkpoint.
    """
    options = options or ClusterOptions()
    if config is not None:
        check_type(config)
    config = ResolvedConfig.of(config or TrainConfig(), on_cluster=True)
    if config.spec.documents:
        raise OptionError(
            Option("cluster"),
            f" is not for {config.model}: its document vectors must be on one machine's disk",
        )
    if config.resamples is not None:
        raise OptionError(
            Option("resamples"),
            " is for one machine: train without a cluster, or leave this option out",
        )
    if warning := config.alpha_warning():
        warnings.warn(warning, stacklevel=3)
    parse_interval(checkpoint_every)
    target = os.path.abspath(output)
    storage = options.checkpoint_dir or os.fspath(run_folder(target))
    try:
        check_output(output, overwrite=overwrite, files=MODEL_FILES)
    except OutputExistsError:
        _check_no_unfinished_run(Storage(storage))
        raise
    given = [corpus] if isinstance(corpus, str | os.PathLike) else list(corpus)
    files = [absolute_name(name) for name in find_files(given)]
    if "-" in files:
        raise DataError("standard input (-) can be read only once, by one machine: give files or URLs")
    request = ClusterRequest(
        config=config,
        files=tuple(files),
        valid=tuple(absolute_name(name) for name in find_files([valid])) if valid is not None else (),
        shards=tuple(shards_of(files, options.nodes, config.seed)),
        output=target,
        storage=Storage(storage).place,
        cluster=options.cluster,
        nodes=options.nodes,
        overwrite=overwrite,
        cache_dir=None if cache_dir is None else os.path.abspath(cache_dir),
        checkpoint_every=checkpoint_every,
        patience=options.patience,
        storage_patience=parse_patience(options.storage_patience),
        command=command,
        settings=settings,
    )
    words = Vocab.load(vocab) if isinstance(vocab, str | os.PathLike) else vocab
    with _locked(request, notice, resumes=request.overwrite) as lock:
        _clear_old_run(request)
        return _kept(request, lambda: Driver(request, callbacks, lock, notice).run(words), new=True)


def resume_on_cluster(
    place: str | os.PathLike[str],
    *,
    cluster: str | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    callbacks: Sequence[Callback] = (),
    notice: Callable[[str], None] | None = None,
) -> FinishedRun:
    """Continue a run whose driver has died or was stopped, from its last checkpoint.

    Parameters
    ----------
    place : path or URL
        The run's output, its folder ``OUTPUT.run``, or the place of its checkpoints.
    cluster
        As in `ClusterOptions`; by default as the run began. Its nodes may be others, and more or fewer.
    output : path, optional
        Directory to save the model to, if the run is resumed on another machine.
    overwrite : bool, default False
        Replace the output if it exists and is not of this run.
    callbacks, notice
        As in ``train_on_cluster``.

    Returns
    -------
    FinishedRun

    Raises
    ------
    DataError
        There is no such run, another driver works on it, or its text has changed.
    ValueError
        ``cluster`` is outside its limits.
    OutputExistsError
        The output exists, and is of another run.
    """
    if cluster is not None:
        check_cluster_address(cluster)
    request = ClusterRequest.read(place)
    target = request.output if output is None else os.path.abspath(output)
    # what was allowed is to replace the other one
    allowed = request.overwrite and target == request.output
    request = replace(request, cluster=cluster or request.cluster, output=target, overwrite=allowed)
    overwrite = overwrite or request.overwrite or bool(request.saved_record())
    check_output(request.output, overwrite=overwrite, files=MODEL_FILES)
    request = replace(request, overwrite=overwrite)
    with _locked(request, notice, resumes=True) as lock:
        if request.is_saved():  # the driver died while it removed the files of the run
            request.clear()
            return FinishedRun(request.output, request.saved_record())
        driver = Driver(request, callbacks, lock, notice)
        return _kept(request, lambda: driver.run(None, resumed=True), new=False)


@contextmanager
def _locked(
    request: ClusterRequest, notice: Callable[[str], None] | None, *, resumes: bool
) -> Iterator[Lock]:
    """Hold the locks of the checkpoints and of the output; another run may share one of the two."""
    with ExitStack() as stack:
        locks = [
            stack.enter_context(Lock(storage, takes_over=resumes, notice=notice or warnings.warn))
            for storage in request.places()
        ]
        yield locks[0]


def _kept(request: ClusterRequest, run: Callable[[], FinishedRun], *, new: bool) -> FinishedRun:
    """Run; after an error remove the files of a new run, or say how to continue if some work is done."""
    try:
        return run()
    except LockLost:  # what is there now belongs to the other
        raise
    except BaseException:
        storage = Storage(request.storage)
        with suppress(DataError):  # the storage may be what failed
            if Checkpoints(storage).names() or COUNTED in storage.names():
                shown = showable_name(storage.place)
                warnings.warn(
                    f"the work so far is kept in {shown!r}: cawv train --resume {shown} continues it",
                    stacklevel=4,
                )
            elif new:
                request.clear()
        raise


def _check_no_unfinished_run(storage: Storage) -> None:
    """Raise an OutputExistsError that says how to continue if there are checkpoints."""
    if Checkpoints(storage).names():
        place = showable_name(storage.place)
        raise OutputExistsError(
            f"{place!r} holds an unfinished run: cawv train --resume {place} continues it; ",
            Option("overwrite", True),
            " drops it and starts again",
        )


def _clear_old_run(request: ClusterRequest) -> None:
    """Clear the storage of an earlier run, unless that would lose work."""
    for storage in request.places():
        if not request.overwrite:
            _check_no_unfinished_run(storage)
        elif Checkpoints(storage).names():
            warnings.warn(f"the unfinished run in {showable_name(storage.place)!r} is dropped", stacklevel=3)
    for storage in request.places():
        clear(storage)
