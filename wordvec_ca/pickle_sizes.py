"""What a pickle asks for, found without running it: no length and no index may go beyond its size.

An unpickler makes room before it reads: ten bytes can ask it for a memo of 32 GB. Here every length and every
memo index of a pickle is compared with the number of its bytes. Opcodes: ``pickletools``.
"""

from __future__ import annotations

import mmap
import pickletools
import re
from pathlib import Path

from wordvec_ca.errors import DataError

_SIZED = {
    pickletools.TAKEN_FROM_ARGUMENT1: (1, False),
    pickletools.TAKEN_FROM_ARGUMENT4: (4, True),
    pickletools.TAKEN_FROM_ARGUMENT4U: (4, False),
    pickletools.TAKEN_FROM_ARGUMENT8U: (8, False),
}

_SHORT = 48


def _opcodes() -> tuple[re.Pattern[bytes], dict[int, tuple[int, bool]]]:
    """Return a pattern for a run of opcodes that ask for nothing, and the width of the others' lengths."""
    plain: dict[int, list[bytes]] = {}
    lines: dict[int, list[bytes]] = {1: [], 2: []}
    sized: dict[int, tuple[int, bool]] = {}
    for opcode in pickletools.opcodes:
        code = opcode.code.encode("latin1")
        if opcode.name in ("STOP", "PUT", "LONG_BINPUT", "FRAME"):
            continue
        if opcode.arg is None:
            plain.setdefault(0, []).append(code)
        elif opcode.arg.n in _SIZED:
            sized[code[0]] = _SIZED[opcode.arg.n]
        elif opcode.arg.n == pickletools.UP_TO_NEWLINE:
            lines[1 + (opcode.name in ("GLOBAL", "INST"))].append(code)
        else:
            plain.setdefault(opcode.arg.n, []).append(code)

    def any_of(codes: list[bytes]) -> bytes:
        return b"[" + b"".join(map(re.escape, codes)) + b"]"

    runs = [any_of(codes) + b".{%d}" % width for width, codes in plain.items()]
    # short strings, the bulk of an index, need no turn of the loop in Python
    for code, width in ((b"\x8c", 1), (b"X", 4)):
        short = b"|".join(re.escape(n.to_bytes(width, "little")) + b".{%d}" % n for n in range(1, _SHORT))
        runs.append(code + b"(?:" + short + b")")
    runs += [any_of(codes) + rb"(?:[^\n]*\n){%d}" % count for count, codes in lines.items()]
    return re.compile(b"(?:" + b"|".join(runs) + b")*+", re.DOTALL), sized


_RUN, _LENGTHS = _opcodes()
_STOP, _PUT, _LONG_BINPUT, _FRAME = b".pr\x95"


def check_sizes(path: Path) -> None:
    """Look through a pickle for lengths and memo indexes beyond its size.

    Takes about a second for a million words. A pickle that is cut off or has unknown opcodes is left to the
    unpickler, which comes no further either.

    Raises
    ------
    DataError
        There is one; the message says where.
    """
    with open(path, "rb") as stream:
        if not stream.read(1):
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _check(data, path)


def _check(data: mmap.mmap, path: Path) -> None:
    size, at = len(data), 0
    while True:
        run = _RUN.match(data, at)
        assert run is not None, "the empty run matches everywhere"
        at = run.end()
        code = data[at] if at < size else _STOP
        after = at + 1
        if code == _LONG_BINPUT:
            asked, after = int.from_bytes(data[after : after + 4], "little"), after + 4
        elif code == _FRAME:
            asked, after = int.from_bytes(data[after : after + 8], "little"), after + 8
        elif code == _PUT:
            end = data.find(b"\n", after)
            if end < 0:
                return
            digits = data[after:end]
            asked, after = (int(digits) if digits.isdigit() and len(digits) < 20 else size), end + 1
        elif code in _LENGTHS:
            width, signed = _LENGTHS[code]
            asked = int.from_bytes(data[after : after + width], "little", signed=signed)
            after += width + max(asked, 0)
        else:
            return
        if asked >= size:
            raise DataError(
                f"{path}: at byte {at} this pickle asks for room for {asked:,} bytes or entries, and it has "
                f"{size:,} bytes in all; it is damaged, or made to exhaust memory"
            )
        at = after
