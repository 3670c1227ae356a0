"""A file of settings for ``cawv train``: TOML, one line for each option, named as on the command line.

::

    corpus = ["wiki.txt.xz"]
    model = "cbow-attn"
    vector-size = 200

The command line has precedence over environment variables, and these have precedence over the file.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.options import option
from wordvec_ca.cli.paths import INPUT
from wordvec_ca.errors import did_you_mean
from wordvec_ca.showable import showable_name, showable_record
from wordvec_ca.specs.options import OPTIONS, PRESETS

if TYPE_CHECKING:
    from wordvec_ca.models import ResolvedConfig


def read_settings(path: str, command: click.Command) -> dict[str, Any]:
    """Return the values in a settings file, by the parameters of the command."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.runs import BASE_SETTING

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise DataError(f"cannot read the settings {path!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"the settings {path!r} are not TOML: {error}") from error
    params = {param.name: param for param in command.params if param.name not in (None, "config")}
    short = {opt.lstrip("-"): param for param in params.values() for opt in param.opts}
    values = {}
    base = table.pop(BASE_SETTING, None)
    if base is not None:  # no option: it belongs to the continue-from beside it
        click.get_current_context().meta[BASE_SETTING] = base
    for key, value in table.items():
        param = params.get(key.replace("-", "_")) or short.get(key)
        if param is None or param.name is None:
            known = [str(name).replace("_", "-") for name in params]
            raise DataError(
                f"the settings {path!r} have {key!r}, which is not an option.{did_you_mean(key, known)}"
            )
        values[param.name] = _value(path, key, value, param)
    return values


def _value(path: str, key: str, value: Any, param: click.Parameter) -> Any:
    """Convert a value to the form that it has on a command line."""
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


def settings_in(error: click.ClickException) -> str:
    """Return the settings file that contains the option named by an error; '' if none does."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.params.get("config") if context is not None else None
    if context is None or path is None:
        return ""
    there = click.core.ParameterSource.DEFAULT_MAP
    words = set(error.format_message().replace("'", " ").split())
    for param in context.command.params:
        if context.get_parameter_source(param.name or "") is there and words & set(param.opts):
            return f". It is set in the settings {path!r}"
    return ""


def _use(context: click.Context, param: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        context.default_map = {**(context.default_map or {}), **read_settings(path, context.command)}
    return path


def _use_preset(context: click.Context, param: click.Parameter, name: str | None) -> str | None:
    if name is not None:
        context.default_map = {**PRESETS[name], **(context.default_map or {})}
    return name


config_option = option("config", type=INPUT, is_eager=True, callback=_use)
preset_option = option("preset", is_eager=True, callback=_use_preset)


def given_settings(corpus: tuple[str, ...], config: ResolvedConfig, given: set[str]) -> dict[str, Any]:
    """Return the settings that repeat a run; ``given`` has the names of the options that the user gave."""
    from wordvec_ca.files import absolute_name

    names = [absolute_name(name) for name in corpus]
    settings: dict[str, Any] = {} if "-" in names else {"corpus": names}
    settings |= config.typed(also=OPTIONS if "continue_from" in given else given)
    for name, value in click.get_current_context().params.items():
        if name in given and OPTIONS[name].kept and value != "-" and name not in config.__dataclass_fields__:
            settings[name] = absolute_name(value) if OPTIONS[name].names_file else value
            if settings[name] == "-":
                del settings[name]
    return showable_record({name.replace("_", "-"): value for name, value in settings.items()}, showable_name)
