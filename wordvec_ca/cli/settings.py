"""A file of settings for ``cawv train``: TOML, one line for each option, named as on the command line.

::

    corpus = ["wiki.txt.xz"]
    model = "cbow-attn"
    vector-size = 200

The command line has precedence over variables of the environment, and these over the file.
"""

from __future__ import annotations

import tomllib
from typing import Any

import click

from wordvec_ca.cli.options import nearest
from wordvec_ca.cli.paths import INPUT

NOT_KEPT = {"overwrite", "output", "config", "resume", "accept_changes", "dry_run", "log_json", "save_vocab"}
"""Options that say what becomes of a run, not what the run is: they are not in the settings of a run."""

NAMES_OF_FILES = ("corpus", "valid", "read_vocab", "phrases", "continue_from", "init_vectors", "cache_dir")


def read_settings(path: str, command: click.Command) -> dict[str, Any]:
    """Return the values of a settings file, by the names of the command's parameters.

    Raises
    ------
    DataError
        The file cannot be read, is no TOML, or names an option that the command does not have.
    """
    from wordvec_ca.errors import DataError

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise DataError(f"cannot read the settings {path!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"the settings {path!r} are not TOML: {error}") from error
    params = {param.name: param for param in command.params if param.name not in (None, "config")}
    values = {}
    for key, value in table.items():
        param = params.get(key.replace("-", "_"))
        if param is None or param.name is None:
            known = [str(name).replace("_", "-") for name in params]
            raise DataError(f"the settings {path!r} have {key!r}, which is no option.{nearest(key, known)}")
        values[param.name] = _value(path, key, value, param)
    return values


def _value(path: str, key: str, value: Any, param: click.Parameter) -> Any:
    """Return a value as a command line would give it."""
    from wordvec_ca.errors import DataError

    if param.nargs == -1 or getattr(param, "multiple", False):
        value = [value] if isinstance(value, str) else value
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return value
        raise DataError(f"the settings {path!r}: {key} is {value!r:.80}; it must be a list of strings")
    flag = getattr(param, "is_flag", False)
    if isinstance(value, bool) and flag:
        return value
    if isinstance(value, str | int | float) and not isinstance(value, bool) and not flag:
        return str(value)
    kind = "true or false" if flag else "a string or a number"
    raise DataError(f"the settings {path!r}: {key} is {value!r:.80}; it must be {kind}")


def _use(context: click.Context, param: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        context.default_map = {**(context.default_map or {}), **read_settings(path, context.command)}
    return path


config_option = click.option(
    "--config",
    type=INPUT,
    metavar="FILE",
    is_eager=True,
    callback=_use,
    help="Take options, and CORPUS, from this file; a run leaves its own as run.toml in its model "
    "directory.  [default: none]",
)


def given_settings(context: click.Context, config: Any, foreign: set[str]) -> dict[str, Any]:
    """Return the settings that repeat a run: what was given, and what depends on the machine.

    Parameters
    ----------
    context : click.Context
        Of ``cawv train``.
    config : TrainConfig
        The options of the run, resolved.
    foreign : set of str
        Options that the model does not have.
    """
    default = click.core.ParameterSource.DEFAULT
    settings: dict[str, Any] = {}
    for param in context.command.params:
        name = param.name or ""
        left_out = name in NOT_KEPT | foreign or context.get_parameter_source(name) is default
        value = getattr(config, name, context.params.get(name))
        if not left_out and value is not None and name not in ("progress", "quiet"):
            settings[name] = value
    settings["workers"] = config.workers
    for name in NAMES_OF_FILES:
        if name in settings:
            settings[name] = _absolute(settings[name])
    if "-" in settings.get("corpus", ()):
        del settings["corpus"]
    return {name.replace("_", "-"): value for name, value in settings.items()}


def _absolute(names: Any) -> Any:
    from wordvec_ca.files import absolute_name

    if isinstance(names, str):
        return absolute_name(names)
    return [_absolute(name) for name in names]
